/** A person who has no mouse. */

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

/** More than any page has places for the focus. */
const TABS_MAX = 150;

interface Noting {
  pointed?: number;
}

export class Keys {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Counts what a pointer does in a page, from its first script on. */
  static async watch(page: Page): Promise<void> {
    await page.addInitScript(() => {
      const noting = window as Noting;
      noting.pointed = 0;
      for (const event of ["pointerdown", "pointermove", "touchstart"]) {
        document.addEventListener(
          event,
          () => {
            noting.pointed = (noting.pointed ?? 0) + 1;
          },
          { capture: true },
        );
      }
    });
  }

  /** Presses keys one after the other. */
  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
  }

  /** Goes with Tab to what this finds. */
  async tabTo(found: Locator): Promise<void> {
    await found.first().waitFor();
    const focused = found.and(this.page.locator(":focus"));
    for (let at = 0; (await focused.count()) === 0; at += 1) {
      if (at >= TABS_MAX) throw new Error(`no key leads to ${found}`);
      await this.page.keyboard.press("Tab");
    }
  }

  async open(found: Locator): Promise<void> {
    await this.tabTo(found);
    await this.page.keyboard.press("Enter");
  }

  link(name: string): Locator {
    return this.page.getByRole("link", { name, exact: true });
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  /** Goes to the field with this label, and writes its text anew. */
  async fill(label: string, text: string): Promise<void> {
    const field = this.page.getByRole("dialog").getByLabel(label, { exact: true });
    await this.tabTo(field);
    await this.page.keyboard.press("Control+a");
    await this.page.keyboard.type(text);
    expect(await field.inputValue()).toBe(text);
  }

  /** Opens an action of the page by the palette. Returns its dialog. */
  async action(name: string, title: string): Promise<Locator> {
    await this.page.keyboard.press("Control+k");
    await this.page.getByRole("dialog", { name: "Go to" }).waitFor();
    await this.type(name);
    // An action is offered when what it is done to was read. Its name begins with a capital; a place has what was typed.
    const chosen = this.page.getByRole("option", { selected: true });
    await chosen.filter({ hasText: /^[A-Z]/ }).waitFor();
    await this.page.keyboard.press("Enter");
    const dialog = this.page.getByRole("dialog", { name: title });
    await dialog.waitFor();
    return dialog;
  }

  /** Sends the form of a dialog, which closes it. */
  async send(dialog: Locator, button: string): Promise<void> {
    await this.open(dialog.getByRole("button", { name: button, exact: true }));
    await dialog.waitFor({ state: "detached" });
  }

  async undo(said: string): Promise<void> {
    const notices = this.page.getByRole("region", { name: "What was done" });
    await this.open(notices.getByRole("button", { name: "Undo" }));
    await notices.getByText(said).waitFor();
  }

  async heading(name: string): Promise<void> {
    await this.page.getByRole("heading", { name, level: 1, exact: true }).waitFor();
  }

  /** No pointer was used. */
  async expectAlone(): Promise<void> {
    expect(await this.page.evaluate(() => (window as Noting).pointed)).toBe(0);
  }
}
