/** A proxy before a server that serves everything below a prefix, and sends on what is behind it. */

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Proxy {
  /** With the prefix, without a slash at its end. */
  url: string;
  stop: () => Promise<void>;
}

export async function proxyOf(server: string, prefix: string): Promise<Proxy> {
  const front = createServer((asked, answer) => {
    if (asked.url?.startsWith(`${prefix}/`))
      pass(server, asked.url.slice(prefix.length), asked, answer);
    else answer.writeHead(404).end();
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const { port } = front.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${prefix}`,
    stop: async () => {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
    },
  };
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
