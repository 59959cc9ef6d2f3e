/** Acts as a person does: opens the dialog of an action, fills its form in, sends it and takes it back. */

import type { Locator, Page, Request } from "playwright-core";
import { expect } from "vitest";
import { waitUntil } from "../support/waiting.js";

/** A list that is read anew can move a button away between press and release: then a person presses again. */
const PRESSED_AGAIN_MS = 10_000;

/** Presses Retry, and waits until this is shown. The page may ask again by itself meanwhile, and take the button away. */
export async function retry(page: Page, shown: Locator): Promise<void> {
  await Promise.any([page.getByRole("button", { name: "Retry" }).click(), shown.waitFor()]);
  await shown.waitFor();
}

/** Opens the dialog of an action. */
export async function open(page: Page, action: string, title: string): Promise<Locator> {
  const button = page.getByRole("button", { name: action, exact: true }).first();
  const dialog = page.getByRole("dialog", { name: title });
  await button.click();
  const opens = dialog.waitFor({ timeout: PRESSED_AGAIN_MS });
  const isOpen = await opens.then(
    () => true,
    () => false,
  );
  if (!isOpen) await button.click();
  await dialog.waitFor();
  return dialog;
}

/** Sends the form of a dialog, which closes it. */
export async function send(dialog: Locator, button: string): Promise<void> {
  await dialog.getByRole("button", { name: button, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Takes the last action back, and waits until the page says so. */
export async function undo(page: Page, said: string): Promise<void> {
  const notices = page.getByRole("region", { name: "What was done" });
  await notices.getByRole("button", { name: "Undo" }).last().click();
  await notices.getByText(said).waitFor();
}

/** The text of the field of a dialog that has this label. */
export async function replaceText(dialog: Locator, label: string, text: string): Promise<void> {
  const field = dialog.getByLabel(label, { exact: true });
  await field.waitFor();
  await field.fill(text);
  expect(await field.inputValue()).toBe(text);
}

/** A page counts as complete when it has asked nothing for so long. */
const QUIET_MS = 400;

/** Counts the requests of a page that are not answered yet. */
export class Requests {
  #open = 0;
  #lastAt = 0;

  constructor(page: Page) {
    const count = (step: number) => (request: Request) => {
      // Streams of changes have no end.
      if (new URL(request.url()).pathname.endsWith("/changes")) return;
      this.#open += step;
      this.#lastAt = performance.now();
    };
    page.on("request", count(1));
    page.on("requestfinished", count(-1));
    page.on("requestfailed", count(-1));
  }

  /** Waits until the page has asked for what it shows. */
  async quiet(): Promise<void> {
    this.#lastAt = performance.now();
    await waitUntil(
      () => this.#open <= 0 && performance.now() - this.#lastAt > QUIET_MS,
      "the page to be complete",
    );
  }
}

/** All texts of a page that stay. */
export async function places(page: Page): Promise<string> {
  return await page.evaluate(() =>
    [
      ...Object.values(sessionStorage),
      ...Object.values(localStorage),
      location.href,
      document.cookie,
      document.documentElement.outerHTML,
      ...Array.from(document.querySelectorAll("input, textarea"), (it) =>
        it instanceof HTMLInputElement || it instanceof HTMLTextAreaElement ? it.value : "",
      ),
    ].join("\n"),
  );
}
