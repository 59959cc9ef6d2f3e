/** An HTTP proxy before a server that lists every request, so that a test can count them. */

import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export class RequestLog {
  /** Method and path without the query, in the order of arrival. */
  readonly requests: string[] = [];
  readonly #server: Server;

  private constructor(target: URL) {
    this.#server = createServer((asked, answer) => {
      this.requests.push(`${asked.method} ${asked.url?.split("?")[0]}`);
      forward(target, asked, answer);
    });
  }

  static async before(target: string): Promise<RequestLog> {
    const log = new RequestLog(new URL(target));
    await new Promise<void>((resolve) => log.#server.listen(0, "127.0.0.1", resolve));
    return log;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

function forward({ hostname, port }: URL, asked: IncomingMessage, answer: ServerResponse): void {
  const { method, url: path, headers } = asked;
  const sent = request({ hostname, port, method, path, headers }, (given) => {
    answer.writeHead(given.statusCode ?? 502, given.headers);
    // A stream without events has begun, too.
    answer.flushHeaders();
    given.on("error", () => answer.destroy()).pipe(answer);
  });
  sent.on("error", () => answer.destroy());
  answer.on("close", () => sent.destroy());
  asked.pipe(sent);
}
