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
    const answer = await this.#answer(path, body);
    if (fault?.lost === "after") throw brokenConnection();
    return answer;
  };

  /** The bodies of the commits, oldest first. */
  commits(): Schemas["CommitOp"][][] {
    const commits = this.seen.filter((it) => it.path.endsWith("/commit"));
    return commits.map((it) => it.body["ops"] as Schemas["CommitOp"][]);
  }

  async #answer(path: string, body: Record<string, unknown>): Promise<Response> {
    const custom = this.answers.get(path);
    if (custom) return answered(200, packed(custom(body)), MSGPACK);
    if (!path.endsWith("/commit")) return answered(200, packed({}), MSGPACK);
    await this.gate;
    const arrived: Uint8Array[] = [];
    for (const entry of (body["ops"] as Schemas["CommitOp"][]).flatMap(entriesOf)) {
      if (this.refused.has(entry.channel)) {
        return problem(422, "invalid", { problem: { field: "writes.channel", limit: 7 } });
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

  #whole(data: Schemas["DataIn"] | null | undefined): Uint8Array | undefined {
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
