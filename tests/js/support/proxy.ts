/** A TCP proxy that counts bytes and can lose answers: the request arrives, its answer never does, or not all of it. */

import { connect, createServer, type Server, type Socket } from "node:net";

/** Stands before a server, named by host and port or by its unix socket. */
export class CountingProxy {
  /** What the clients sent and got, in bytes. */
  sent = 0;
  received = 0;
  lost = 0;
  cuts = 0;
  #toLose = 0;
  #toPass: number | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: { host: string; port: number } | { path: string }) {
    this.#server = createServer((client) => {
      const upstream = "path" in target ? connect(target.path) : connect(target);
      const end = () => {
        client.destroy();
        upstream.destroy();
      };
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.setNoDelay(true);
        socket.on("error", end).on("close", () => {
          this.#sockets.delete(socket);
          end();
        });
      }
      client.on("data", (part) => {
        this.sent += part.length;
        upstream.write(part);
      });
      upstream.on("data", (part) => {
        // The answer begins, so the server has done its work.
        if (this.#toLose > 0) {
          this.#toLose -= 1;
          this.lost += 1;
          end();
          return;
        }
        const passed = part.subarray(0, this.#toPass);
        this.received += passed.length;
        if (this.#toPass === undefined || passed.length < this.#toPass) {
          if (this.#toPass !== undefined) this.#toPass -= passed.length;
          client.write(passed);
          return;
        }
        this.#toPass = undefined;
        this.cuts += 1;
        client.write(passed, end);
      });
    });
  }

  static async before(target: string): Promise<CountingProxy> {
    const url = target.startsWith("/") ? undefined : new URL(target);
    const place = url ? { host: url.hostname, port: Number(url.port) } : { path: target };
    const proxy = new CountingProxy(place);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The next answers do not arrive. */
  lose(answers: number): void {
    this.#toLose = answers;
  }

  /** What arrives next breaks off after so many bytes. */
  cut(bytes: number): void {
    this.#toPass = bytes;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
