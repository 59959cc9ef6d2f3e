/** A server, its console, and a Chromium that notes everything that a page should not do. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import { Browser } from "../support/chromium.js";
import { Server } from "../support/server.js";

interface Noting {
  violations?: string[];
}

export class Stage {
  readonly server: Server;
  readonly browser: Browser;
  /** The page, with its slash. */
  readonly url: string;
  /** Requests to any other place than the console's origin. */
  readonly elsewhere: string[] = [];

  private constructor(server: Server, browser: Browser) {
    this.server = server;
    this.browser = browser;
    this.url = `${server.url}/console/`;
  }

  /** `options`: more arguments of the server. Without a database URL, it is on SQLite. */
  static async open(options: string[] = [], port?: number, databaseUrl?: string): Promise<Stage> {
    const server = await new Server(databaseUrl, options, port).start();
    return new Stage(server, await Browser.open());
  }

  /** A new page at an address of the console; `before` it is loaded. `errors` are those of its console. */
  async page(
    address = "#/",
    size = { width: 1_280, height: 900 },
    before: (page: Page) => Promise<void> | void = () => {},
  ) {
    const opened = await this.browser.page();
    const { page } = opened;
    await page.setViewportSize(size);
    await page.addInitScript(() => {
      const noting = window as Noting;
      noting.violations = [];
      document.addEventListener("securitypolicyviolation", (event) => {
        noting.violations?.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    const { origin } = new URL(this.url);
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !url.startsWith("blob:")) this.elsewhere.push(url);
    });
    await before(page);
    await page.goto(this.url + address);
    return opened;
  }

  /** Goes to another address of the same page. */
  async go(page: Page, address: string): Promise<void> {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, address);
  }

  /** Nothing broke the policy, failed, or went elsewhere. */
  async expectQuiet({ page, errors }: { page: Page; errors: string[] }): Promise<void> {
    expect(await page.evaluate(() => (window as Noting).violations)).toEqual([]);
    expect(errors).toEqual([]);
    expect(this.elsewhere).toEqual([]);
  }

  async closePages(): Promise<void> {
    // The first one stays: without any a browser ends.
    for (const page of this.browser.context.pages().slice(1)) await page.close();
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.server.remove();
  }
}
