/** A page of another origin that runs one script of the tests, for Chromium. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";

const HTML = `<!doctype html><link rel="icon" href="data:,"><body><script src="/page.js"></script>`;

export class ScriptPage {
  /** The origin of the page. */
  readonly url: string;
  readonly #server: Server;

  private constructor(url: string, server: Server) {
    this.url = url;
    this.#server = server;
  }

  /** Bundles the script and serves the page on a free port. */
  static async serve(entry: URL): Promise<ScriptPage> {
    const bundled = await build({
      entryPoints: [entry.pathname],
      bundle: true,
      format: "iife",
      platform: "browser",
      define: { "process.env.NODE_ENV": '"production"' },
      write: false,
      logLevel: "error",
    });
    const script = bundled.outputFiles[0]?.text ?? "";
    const server = createServer((request, response) => {
      const isScript = request.url?.endsWith(".js") === true;
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? script : HTML);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new ScriptPage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server);
  }

  close(): void {
    this.#server.close();
  }
}
