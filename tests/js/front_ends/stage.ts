/** A front end that is built from its public source, served on this machine, and opened in Chromium. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Browser } from "../support/chromium.js";
import { freePort, Server } from "../support/server.js";
import { UI_SOURCES } from "../support/settings.js";
import { waitUntil } from "../support/waiting.js";

const run = promisify(execFile);
const OUTPUT_BYTES_MAX = 1 << 26;
/** Builds ask Google for their font, and there may be no network. */
const FONT = `module.exports = { "https://fonts.googleapis.com/css2?family=Inter:wght@100..900&display=swap":
  "@font-face { font-family: 'Inter'; font-style: normal; font-weight: 100 900; src: local('Inter'); }" };`;

class FrontEnd {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  /** Serves the one in the folder of this name; it is built where nobody did so before. */
  static async serve(name: string): Promise<FrontEnd> {
    const cwd = join(UI_SOURCES ?? "", name);
    const font = join(mkdtempSync(join(tmpdir(), "tk-font-")), "font.cjs");
    writeFileSync(font, FONT);
    const mocked = { NEXT_FONT_GOOGLE_MOCKED_RESPONSES: font, NEXT_TELEMETRY_DISABLED: "1" };
    const options = {
      cwd,
      env: { ...process.env, ...mocked },
      maxBuffer: OUTPUT_BYTES_MAX,
    };
    if (!existsSync(join(cwd, "node_modules"))) {
      await run(
        "npm",
        ["install", "--legacy-peer-deps", "--ignore-scripts", "--no-audit"],
        options,
      );
    }
    if (!existsSync(join(cwd, ".next", "BUILD_ID"))) await run("npx", ["next", "build"], options);
    const port = String(await freePort());
    const next = join(cwd, "node_modules", "next", "dist", "bin", "next");
    const command = [next, "start", "-H", "127.0.0.1", "-p", port];
    const served = spawn(process.execPath, command, { ...options, stdio: "ignore" });
    const url = `http://127.0.0.1:${port}`;
    await waitUntil(
      async () => (await fetch(url).catch(() => undefined))?.ok,
      `${name} to be served`,
    );
    return new FrontEnd(url, served);
  }

  stop(): void {
    this.#process.kill("SIGKILL");
  }
}

/** A front end in Chromium, and the server whose threads it shows. The graph is called `agent`. */
export class Stage {
  readonly server: Server;
  readonly #ui: FrontEnd;
  readonly #browser: Browser;

  private constructor(ui: FrontEnd, server: Server, browser: Browser) {
    this.#ui = ui;
    this.server = server;
    this.#browser = browser;
  }

  /** `options` are those of the server. */
  static async open(name: string, options: string[] = []): Promise<Stage> {
    const ui = await FrontEnd.serve(name);
    const all = ["--cors-origin", ui.url, "--default-graph-id", "agent", ...options];
    return new Stage(ui, await new Server(undefined, all).start(), await Browser.open());
  }

  /** The page of a path, with the errors of its console. `stored` is in its local storage from the start. */
  async page(path: string, stored: Record<string, string> = {}) {
    const opened = await this.#browser.page();
    // Some ask for it when they are opened, too.
    await opened.page.route("https://fonts.googleapis.com/**", (it) => it.fulfill({ body: "" }));
    await opened.page.addInitScript((all) => {
      for (const [name, value] of Object.entries(all)) localStorage.setItem(name, value);
    }, stored);
    await opened.page.goto(`${this.#ui.url}${path}`);
    return opened;
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.server.remove();
    this.#ui.stop();
  }
}
