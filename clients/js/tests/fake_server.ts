/**
 * A server behind a `fetch` of its own: it keeps what it is sent just enough to answer, knows values by their names, and does
 * what a test tells it to do wrong. What a real one does with checkpoints is tested against the real one.
 */

import { createHash } from "node:crypto";
import { packed, unpacked } from "../src/wire/packing.js";
import type { Schemas } from "../src/wire/schemas.js";

/** One thing that goes wrong, with one request. */
export interface Fault {
  status?: number;
  code?: string;
  problem?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** The connection breaks: before the server did anything, or after it did. */
  lost?: "before" | "after";
  /** Nobody listens. */
  refused?: boolean;
  /** No answer ever. */
  hangs?: boolean;
  /** Another answer than ours. */
  raw?: { type: string; body: Uint8Array | string };
}

export interface Seen {
  url: string;
  path: string;
  signal: AbortSignal | null | undefined;
  headers: Headers;
  body: Record<string, unknown>;
}

export class FakeServer {
  readonly seen: Seen[] = [];
  faults: Fault[] = [];
  /** Values by name, as a server remembers them; clear it and the server was started anew. */
  readonly values = new Map<string, Uint8Array>();
  /** For each value of 512 bytes or more that arrived: whether as a difference. */
  arrivedShort: boolean[] = [];
  /** Channels of writes that are refused. */
  refused = new Set<string>();
  answers = new Map<string, (body: Record<string, unknown>) => unknown>();
  /** Parts by their names; so many commits, and reads of a part, find that theirs are gone. */
  readonly parts = new Map<string, { index: number; data: Uint8Array }>();
  lostPuts = 0;
  lostGets = 0;
  /** Values of the last commit that came in parts, whole again. */
  readonly joined = new Map<string, Uint8Array>();
  /** When set, commits wait for it. */
  gate: Promise<void> | undefined;

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const path = new URL(String(input)).pathname;
    const body = init?.body ? (unpacked(init.body as Uint8Array) as Record<string, unknown>) : {};
    const { headers, signal } = init ?? {};
    this.seen.push({ url: String(input), path, signal, headers: new Headers(headers), body });
    const fault = this.faults.shift();
    if (fault?.lost === "before") throw brokenConnection();
    if (fault?.refused) throw refusedConnection();
    if (fault?.hangs) return await aborted(init?.signal ?? undefined);
    if (fault?.raw) return answered(200, fault.raw.body, { "content-type": fault.raw.type });
    if (fault?.status) return problem(fault.status, fault.code, fault);
    const isJson = new Headers(headers).get("accept") === "application/json";
    const answer = await this.#answer(path, body, isJson);
    if (fault?.lost === "after") throw brokenConnection();
    return answer;
  };

  /** The bodies of the commits, oldest first. */
  commits(): Schemas["CommitOp"][][] {
    const commits = this.seen.filter((it) => it.path.endsWith("/commit"));
    return commits.map((it) => it.body["ops"] as Schemas["CommitOp"][]);
  }

  async #answer(path: string, body: Record<string, unknown>, isJson: boolean): Promise<Response> {
    const custom = this.answers.get(path);
    if (custom && isJson) return Response.json(custom(body));
    if (custom) return answered(200, packed(custom(body)), MSGPACK);
    if (path.endsWith("/parts/put")) return this.#put(body as unknown as PutPart);
    if (path.endsWith("/parts/get")) return this.#get(body["name"] as Uint8Array);
    if (!path.endsWith("/commit")) return answered(200, packed({}), MSGPACK);
    await this.gate;
    const arrived: Uint8Array[] = [];
    for (const entry of (body["ops"] as Schemas["CommitOp"][]).flatMap(entriesOf)) {
      if (this.refused.has(entry.channel)) {
        return problem(422, "invalid", { problem: { field: "writes.channel", limit: 7 } });
      }
      if (entry.data && "parts" in entry.data) {
        const value = this.#join(entry.data);
        if (!value) return problem(409, "parts_missing", {});
        this.joined.set(entry.channel, value);
        continue;
      }
      const whole = this.#whole(entry.data);
      if (!whole) return problem(409, "resend_whole", {});
      if (whole.length < 512) continue;
      arrived.push(whole);
      this.arrivedShort.push(!(entry.data instanceof Uint8Array));
    }
    for (const value of arrived) this.values.set(nameOf(value), value);
    return answered(200, packed({ generation: "g" }), MSGPACK);
  }

  /** An answer in the form of the wire: a value in parts that are not of the size in which clients put them. */
  cut(value: Uint8Array): InParts {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < value.length; at += READ_PART_BYTES) {
      const data = value.subarray(at, at + READ_PART_BYTES);
      const name = Buffer.from(`read ${nameOf(data)}`);
      this.parts.set(name.toString("hex"), { index: -1, data });
      parts.push(new Uint8Array(name));
    }
    return { parts, length: value.length };
  }

  #put({ index, data }: PutPart): Response {
    const name = Buffer.from(`part ${index} ${nameOf(data)}`);
    this.parts.set(name.toString("hex"), { index, data: data.slice() });
    return answered(200, packed({ name }), MSGPACK);
  }

  #get(name: Uint8Array): Response {
    const part = this.parts.get(Buffer.from(name).toString("hex"));
    if (this.lostGets > 0 || !part) {
      this.lostGets -= 1;
      return problem(409, "parts_missing", {});
    }
    return answered(200, packed({ data: part.data }), MSGPACK);
  }

  #join({ parts, length }: InParts): Uint8Array | undefined {
    if (this.lostPuts > 0) {
      this.lostPuts -= 1;
      this.parts.clear();
    }
    const found = parts.map((name) => this.parts.get(Buffer.from(name).toString("hex")));
    for (const [at, part] of found.entries()) {
      if (!part) return undefined;
      const isLast = at === found.length - 1;
      if (part.index !== at || (!isLast && part.data.length !== 2 << 20)) throw new Error("wrong");
    }
    const value = new Uint8Array(Buffer.concat(found.flatMap((part) => part?.data ?? [])));
    if (value.length !== length) throw new Error("another length");
    return value;
  }

  #whole(data: Exclude<Schemas["DataIn"], InParts> | null | undefined): Uint8Array | undefined {
    if (!data) return new Uint8Array(0);
    if (data instanceof Uint8Array) return data;
    const base = this.values.get(Buffer.from(data.base).toString("hex"));
    if (!base) return undefined;
    const parts = data.ops.map((op) => {
      if ("insert" in op) return op.insert;
      const [offset = 0, length = 0] = op.copy;
      return base.subarray(offset, offset + length);
    });
    return new Uint8Array(Buffer.concat(parts));
  }
}

const READ_PART_BYTES = 3 << 20;

type InParts = Schemas["ValueInParts"];

interface PutPart {
  index: number;
  data: Uint8Array;
}

const MSGPACK = { "content-type": "application/msgpack" };

export function nameOf(value: Uint8Array): string {
  return createHash("sha256").update(value).digest("hex");
}

function entriesOf(
  op: Schemas["CommitOp"],
): { channel: string; data?: Schemas["DataIn"] | null }[] {
  if ("writes" in op) return op.writes.writes;
  return [...op.checkpoint.values, ...(op.checkpoint.carried ?? [])];
}

function answered(status: number, body: Uint8Array | string, headers: Record<string, string>) {
  return new Response(body as BodyInit, { status, headers });
}

function problem(status: number, code: string | undefined, fault: Fault): Response {
  const body = {
    title: "wrong",
    detail: "it went wrong",
    code,
    request_id: "r1",
    ...fault.problem,
  };
  const headers = { "content-type": "application/problem+json", ...fault.headers };
  return answered(status, JSON.stringify(body), headers);
}

function brokenConnection(): TypeError {
  return new TypeError("fetch failed", { cause: new Error("other side closed") });
}

function refusedConnection(): TypeError {
  const reason = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  return new TypeError("fetch failed", { cause: reason });
}

/** Never answers; ends when the request is given up. */
export function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}
