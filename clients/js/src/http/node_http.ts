/** Sends requests of plain HTTP by `node:http` where the runtime is Node.js, whose `fetch` takes five times its CPU. */

import { type Answer, mediaTypeOf } from "./outcome.js";
import { isProxied } from "./own_fetch.js";

/** As long as `fetch` keeps a connection that is not used. Servers and proxies keep them for longer. */
const IDLE_MS_MAX = 4_000;
/** Paths that an address has as they are. */
const PLAIN_PATH = /^\/[\w/-]*$/;
/** A body of more packed bytes is unpacked by another thread. */
const UNPACKED_HERE_MAX = 64 * 1024;

/** One request whose body is in memory, if it has one. */
export interface SentRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
}

/** One attempt under way: `abort` ends it. */
export interface Canceller {
  abort: () => void;
}

/** Sends a request. `onHead` hears how many bytes the answer's body has. */
export type Send = (
  request: SentRequest,
  canceller: Canceller,
  onHead: (bodyBytes: number) => void,
) => Promise<Answer>;

type OnError = (event: "error", listener: (error: Error) => void) => void;
interface Incoming {
  statusCode: number;
  headers: Record<string, string | undefined>;
  on: OnError & ((event: "data" | "end", listener: (part: Uint8Array) => void) => void);
}
interface Outgoing {
  on: OnError & ((event: "response", listener: (response: Incoming) => void) => void);
  end(body?: Uint8Array): void;
  destroy(error: Error): void;
}
interface Http {
  request(options: object): Outgoing;
  Agent: new (options: object) => object;
}
interface Zlib {
  gunzipSync(data: Uint8Array): Uint8Array;
  gunzip(data: Uint8Array, done: (error: Error | null, found: Uint8Array) => void): void;
}
interface Modules {
  http: Http;
  zlib: Zlib;
  /** Of all clients of the process, as there is one pool behind `fetch`. */
  agent: object;
}
interface Builtins {
  getBuiltinModule?: (name: string) => unknown;
}

/** How to reach this server without `fetch`; undefined where only that can. */
export function nodeSend(url: string): Send | undefined {
  const base = new URL(url);
  const modules = base.protocol === "http:" && !isProxied() ? modulesOf() : undefined;
  if (!modules) return undefined;
  const { http, zlib, agent } = modules;
  const host = base.hostname.replace(/^\[(.*)\]$/, "$1");
  const target = { agent, host, port: base.port || 80 };
  const prefix = base.pathname.replace(/\/$/, "");
  return async ({ path: given, method, headers, body }, canceller, onHead) => {
    const path = PLAIN_PATH.test(given) ? prefix + given : pathOf(url + given);
    const length = body || method !== "GET" ? { "content-length": body?.length ?? 0 } : undefined;
    const all = { "accept-encoding": "gzip", ...headers, ...length };
    const request = http.request({ ...target, path, method, headers: all });
    const [answer, packing] = await answerTo(request, body, canceller, onHead);
    if (packing === undefined || packing === "identity" || answer.body.length === 0) return answer;
    if (packing === "gzip") return { ...answer, body: await unpacked(zlib, answer.body) };
    throw new Error(`the answer is packed with ${packing}, which was not asked for`);
  };
}

let modules: Modules | undefined;

function modulesOf(): Modules | undefined {
  if (modules) return modules;
  const { process } = globalThis as { process?: Builtins };
  try {
    const http = process?.getBuiltinModule?.("node:http") as Http | undefined;
    const zlib = process?.getBuiltinModule?.("node:zlib") as Zlib | undefined;
    if (!http || !zlib) return undefined;
    const agent = new http.Agent({ keepAlive: true, timeout: IDLE_MS_MAX });
    modules = { http, zlib, agent };
  } catch {
    // A runtime that has the names and not what they mean.
  }
  return modules;
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** Sends the body and waits for the whole answer; with it, how that one is packed. */
function answerTo(
  request: Outgoing,
  body: Uint8Array | undefined,
  canceller: Canceller,
  onHead: (bodyBytes: number) => void,
): Promise<[Answer, packing: string | undefined]> {
  return new Promise((resolve, reject) => {
    canceller.abort = () => request.destroy(new Error("the request was cancelled"));
    request.on("error", reject);
    request.on("response", (response) => {
      const { statusCode: status, headers } = response;
      const parts: Uint8Array[] = [];
      onHead(Number(headers["content-length"]) || 0);
      response.on("data", (part) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const mediaType = mediaTypeOf(headers["content-type"]);
        const retryAfter = headers["retry-after"] ?? null;
        const answer = { status, mediaType, retryAfter, body: joined(parts) };
        resolve([answer, headers["content-encoding"]]);
      });
    });
    request.end(body);
  });
}

/** Bytes of their own, not views of what the connection read. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

async function unpacked(zlib: Zlib, body: Uint8Array): Promise<Uint8Array> {
  if (body.length <= UNPACKED_HERE_MAX) return new Uint8Array(zlib.gunzipSync(body));
  const { buffer, byteOffset, length } = await new Promise<Uint8Array>((resolve, reject) => {
    zlib.gunzip(body, (error, found) => (error ? reject(error) : resolve(found)));
  });
  return new Uint8Array(buffer, byteOffset, length);
}
