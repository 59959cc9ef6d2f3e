/**
 * Counts the bytes on the wire: a TCP proxy in a process of its own. Its argument is the target, an HTTP address or the path of
 * a unix socket. It prints the port it listens on; for every line it reads it prints the bytes that went up to the target and
 * those that came down. It ends with its standard input.
 */

import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";

const target = process.argv[2] ?? "";
const url = target.startsWith("/") ? undefined : new URL(target);
const bytes = { up: 0, down: 0 };

const server = createServer((client) => {
  const upstream = url ? connect(Number(url.port), url.hostname) : connect(target);
  for (const socket of [client, upstream]) socket.setNoDelay(true).on("error", () => {});
  client.on("data", (part) => {
    bytes.up += part.length;
  });
  upstream.on("data", (part) => {
    bytes.down += part.length;
  });
  client.pipe(upstream);
  upstream.pipe(client);
});
server.listen(0, "127.0.0.1", () => {
  console.log((server.address() as { port: number }).port);
});

for await (const _ of createInterface({ input: process.stdin })) {
  console.log(bytes.up, bytes.down);
}
process.exit();
