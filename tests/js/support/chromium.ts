/** The Chromium that tests/setup/chromium.sh installs, each time as somebody who has never opened it before. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { PATIENCE_MS } from "./settings.js";

/** Debian's: never a browser that the package would fetch. */
const EXECUTABLE = "/usr/bin/chromium";
/** Nothing that a browser does by itself reaches for a network. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export class Browser {
  readonly context: BrowserContext;
  readonly #folder: string;

  private constructor(context: BrowserContext, folder: string) {
    this.context = context;
    this.#folder = folder;
  }

  /** `flags`: more arguments of the program. */
  static async open(flags: readonly string[] = []): Promise<Browser> {
    const folder = mkdtempSync(join(tmpdir(), "tk-chromium-"));
    const context = await chromium.launchPersistentContext(folder, {
      executablePath: EXECUTABLE,
      headless: true,
      args: [...FLAGS, ...flags],
      chromiumSandbox: false,
      acceptDownloads: true,
      timeout: PATIENCE_MS,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    return new Browser(context, folder);
  }

  /** A new page, with the errors of its console. */
  async page(): Promise<{ page: Page; errors: string[] }> {
    const page = await this.context.newPage();
    const errors: string[] = [];
    page.on("console", (it) => {
      if (it.type() === "error") errors.push(it.text());
    });
    page.on("pageerror", (it) => errors.push(String(it)));
    return { page, errors };
  }

  async close(): Promise<void> {
    await this.context.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
