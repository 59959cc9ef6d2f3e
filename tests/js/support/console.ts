/** The console of a server: as the server has it, else `clients/console/dist` before the server, as one origin and with the same headers. */

import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { ROOT } from "./settings.js";

const DIST = join(ROOT, "clients", "console", "dist");
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types threadkeep-worker",
].join("; ");
const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".md": "text/plain; charset=utf-8",
};

export interface ConsolePlace {
  /** The page, with its slash. */
  url: string;
  stop: () => Promise<void>;
}

/** `prefix`: behind a proxy that serves everything below this path. */
export async function consoleOf(server: string, prefix = ""): Promise<ConsolePlace> {
  const own = await fetch(`${server}/console/`).catch(() => undefined);
  if (prefix === "" && own?.ok && own.headers.get("content-type")?.startsWith("text/html")) {
    return { url: `${server}/console/`, stop: async () => {} };
  }
  const front = createServer((asked, answer) => {
    const path = (asked.url ?? "").slice(prefix.length);
    if (path.startsWith("/console/")) void serve(path, answer);
    else pass(server, path, asked, answer);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const { port } = front.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${prefix}/console/`,
    stop: async () => {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}

async function serve(path: string, answer: ServerResponse): Promise<void> {
  const name = new URL(path, "http://x").pathname.slice("/console/".length) || "index.html";
  const type = TYPES[extname(name)];
  const body = type && (await readFile(join(DIST, name)).catch(() => undefined));
  if (!body) {
    answer.writeHead(404).end();
    return;
  }
  const cache = name === "index.html" ? "no-cache" : "public, max-age=31536000, immutable";
  answer.writeHead(200, { ...HEADERS, "content-type": type, "cache-control": cache }).end(body);
}

function pass(server: string, path: string, asked: IncomingMessage, answer: ServerResponse): void {
  const { host } = new URL(server);
  const headers = { ...asked.headers, host };
  // The server holds the origin of a page against its own address.
  if (headers.origin) headers.origin = server;
  const passed = request(`${server}${path}`, { method: asked.method, headers }, (found) => {
    answer.writeHead(found.statusCode ?? 502, found.headers);
    found.pipe(answer);
  });
  passed.on("error", () => answer.destroy());
  asked.pipe(passed);
}
