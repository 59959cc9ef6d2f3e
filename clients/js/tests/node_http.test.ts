/** Tests requests that Node.js sends by `node:http`, against a server of this process, and when it sends them by `fetch`. */

import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TransportError } from "../src/errors.js";
import { Client } from "../src/index.js";
import { ThreadkeepSaver } from "../src/langgraph/index.js";
import { packed, unpacked } from "../src/wire/packing.js";

const MSGPACK = { "content-type": "application/msgpack" };
const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
const CONFIG = { configurable: { thread_id: "t", checkpoint_id: "c" } };
const SOURCE = fileURLToPath(new URL("../src/langgraph/index.ts", import.meta.url));
const globals = globalThis as Record<symbol, unknown>;

interface Seen {
  request: IncomingMessage;
  body: Buffer;
}

let server: Server;
let url: string;
let seen: Seen[];
/** What the next requests get; then the usual answer. */
let answers: ((response: ServerResponse, request: IncomingMessage) => void)[];

beforeEach(async () => {
  [seen, answers] = [[], []];
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      seen.push({ request, body: Buffer.concat(parts) });
      const answer = answers.shift() ?? usual;
      answer(response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function usual(response: ServerResponse): void {
  response
    .writeHead(200, MSGPACK)
    .end(packed({ generation: "g", history_channels: [], checkpoint: null }));
}

function write(options = {}): Promise<void> {
  return new ThreadkeepSaver({ url, apiKey: "tk_1", ...options }).putWrites(
    CONFIG,
    [["a", 1]],
    "task",
  );
}

/** `fetch` tells that it is one; nobody else does. */
function isByFetch({ request }: Seen): boolean {
  return request.headers["sec-fetch-mode"] !== undefined;
}

describe("a request of plain HTTP", () => {
  it("goes by node:http, with the headers and the body of one by fetch", async () => {
    await write();
    await write({ fetch: globalThis.fetch });
    const [own, other] = seen as [Seen, Seen];
    expect(seen.map(isByFetch)).toEqual([false, true]);
    for (const name of ["accept", "content-type", "accept-encoding", "authorization", "host"]) {
      expect(own.request.headers[name], name).toBe(other.request.headers[name]);
    }
    expect(own.request.headers["content-length"]).toBe(String(own.body.length));
    expect(Number(own.request.headers["threadkeep-budget-ms"])).toBeGreaterThan(10_000);
    expect((unpacked(own.body) as { thread_id: string }).thread_id).toBe("t");
    expect([own.request.method, own.request.url]).toEqual(["POST", "/v1/checkpoints/commit"]);
  });

  it("keeps the prefix of the address, and any character of a query", async () => {
    await write({ url: `${url}/a%20b/` });
    expect(seen.pop()?.request.url).toBe("/a%20b/v1/checkpoints/commit");
    const client = new Client({ url: `${url}/a%20b/` });
    answers = [(response) => response.end("content")];
    await client.files.getContent(["n"], "/ä b.txt");
    expect(seen[0]?.request.url).toMatch(/^\/a%20b\/v1\/files\/content\?.*path=%2F%C3%A4\+b\.txt/);
  });

  it("uses a connection again, and one for each request at the same time", async () => {
    const saver = new ThreadkeepSaver({ url });
    for (const task of ["a", "b"]) await saver.putWrites(CONFIG, [["a", 1]], task);
    expect(seen[1]?.request.socket).toBe(seen[0]?.request.socket);
    const threads = ["t", "u", "v"].map((thread_id) => ({ configurable: { thread_id } }));
    await Promise.all(threads.map((config) => saver.getTuple(config)));
    expect(new Set(seen.slice(2).map(({ request }) => request.socket)).size).toBe(3);
  });

  it("that is lost, or whose answer is cut off, is sent again", async () => {
    const cutOff = (response: ServerResponse) => {
      response.writeHead(200, { ...MSGPACK, "content-length": 100 }).write("part");
      setTimeout(() => response.destroy(), 20);
    };
    answers = [(_, request) => request.socket.destroy(), cutOff];
    await write();
    expect(seen.map(isByFetch)).toEqual([false, false, false]);
    expect(seen[2]?.body).toEqual(seen[0]?.body);
  });

  it("ends with its call: at the deadline, and when the caller gives up", async () => {
    const [controller, reason] = [new AbortController(), new Error("no more")];
    const closed: Promise<unknown>[] = [];
    const hang = (_: ServerResponse, request: IncomingMessage) => {
      closed.push(new Promise((resolve) => request.socket.once("close", resolve)));
      if (closed.length === 2) controller.abort(reason);
    };
    answers = [hang, hang];
    await expect(write({ timeoutMs: 2_000 })).rejects.toThrow(/^no answer from .* in time/);
    await expect(write({ signal: controller.signal })).rejects.toBe(reason);
    expect(closed).toHaveLength(2);
    await Promise.all(closed);
  });

  it("to where nobody listens says so", async () => {
    await expect(write({ url: "http://127.0.0.1:9", timeoutMs: 50 })).rejects.toThrow(
      /^no server listens at http:\/\/127\.0\.0\.1:9 \(connection refused\)/,
    );
    await expect(write({ url: "http://127.0.0.1:9", timeoutMs: 50 })).rejects.toBeInstanceOf(
      TransportError,
    );
  });

  it("does not follow a redirect", async () => {
    answers = [(response) => response.writeHead(302, { location: "/elsewhere" }).end()];
    await expect(write()).rejects.toThrow(/gave a redirect/);
    expect(seen).toHaveLength(1);
  });
});

describe("an answer", () => {
  it.each([10, 1_000_000])("with a file of %d bytes has just these bytes", async (length) => {
    const content = new Uint8Array(length).map((_, at) => (at * 7) % 256);
    answers = [(response) => response.end(content)];
    const found = await new Client({ url }).files.getContent(["n"], "/a");
    expect(Object.getPrototypeOf(found)).toBe(Uint8Array.prototype);
    expect(found.buffer.byteLength).toBe(length);
    expect(Buffer.compare(found, content)).toBe(0);
  });

  it.each([10, 1_000_000])("of %d bytes may be packed", async (length) => {
    const content = new Uint8Array(length).map(() => Math.floor(Math.random() * 256));
    answers = [
      (response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(content)),
    ];
    const found = await new Client({ url }).files.getContent(["n"], "/a");
    expect(Object.getPrototypeOf(found)).toBe(Uint8Array.prototype);
    expect(Buffer.compare(found, content)).toBe(0);
  });

  it("packed in another way is not taken for a body", async () => {
    answers = Array.from({ length: 9 }, () => (response: ServerResponse) => {
      response.writeHead(200, { "content-encoding": "x" }).end("abc");
    });
    const client = new Client({ url, timeoutMs: 2_000 });
    await expect(client.files.getContent(["n"], "/a")).rejects.toThrow(/packed with x/);
  });
});

describe("fetch is asked", () => {
  it("where it was replaced, even later", async () => {
    const saver = new ThreadkeepSaver({ url });
    const { fetch } = globalThis;
    vi.stubGlobal("fetch", (input: string, init: RequestInit) => fetch(input, init));
    await saver.getTuple(CONFIG);
    vi.unstubAllGlobals();
    await saver.getTuple(CONFIG);
    expect(seen.map(isByFetch)).toEqual([true, false]);
  });

  it("where the dispatcher behind it was replaced or has options", async () => {
    await fetch(url);
    const own = globals[DISPATCHER] as object;
    const { constructor: Agent } = own as { constructor: new (options?: object) => object };
    class ProxyAgent extends Agent {}
    const dispatch = () => false;
    const composed = new Proxy(new Agent(), {
      get: (agent, name) => (name === "dispatch" ? dispatch : Reflect.get(agent, name)),
    });
    const saver = new ThreadkeepSaver({ url });
    seen = [];
    try {
      for (const dispatcher of [new Agent({ connect: { timeout: 9 } }), new ProxyAgent()]) {
        globals[DISPATCHER] = dispatcher;
        await saver.getTuple(CONFIG);
      }
      globals[DISPATCHER] = composed;
      await saver
        .withOptions({ timeoutMs: 50 })
        .getTuple(CONFIG)
        .catch(() => {});
      expect(seen.map(isByFetch)).toEqual([true, true]);
      globals[DISPATCHER] = new Agent();
      await saver.getTuple(CONFIG);
      expect(seen.map(isByFetch)).toEqual([true, true, false]);
    } finally {
      globals[DISPATCHER] = own;
    }
  });

  it("where Node.js takes the proxy of the environment", async () => {
    vi.stubEnv("NODE_USE_ENV_PROXY", "1");
    try {
      await write();
    } finally {
      vi.unstubAllEnvs();
    }
    expect(seen.map(isByFetch)).toEqual([true]);
  });
});

it("a connection that is not used keeps no program running", async () => {
  const program = `
    const { ThreadkeepSaver } = await import(${JSON.stringify(SOURCE)});
    await new ThreadkeepSaver({ url: ${JSON.stringify(url)} }).setup();
    console.log(process.uptime());
    process.on("exit", () => console.log(process.uptime()));`;
  const options = ["--import", "tsx", "--input-type", "module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  const [answered = 0, ended = 0] = stdout.trim().split("\n").map(Number);
  expect(ended - answered).toBeLessThan(2);
  expect(seen.map(isByFetch)).toEqual([false]);
});
