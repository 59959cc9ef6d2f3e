/** The feed of changes over a server that breaks off, falls silent, forgets and ends: events, requests and errors. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import {
  Client,
  NotGrantedError,
  PositionGoneError,
  ProtocolError,
  TokenRevokedError,
  TransportError,
} from "../src/index.js";

/** One answer: pieces of a stream, after which it breaks (default), ends, or stays silent; or a problem. */
interface Fate {
  pieces?: (string | Uint8Array)[];
  last?: "breaks" | "ends" | "silence";
  problem?: [status: number, code: string];
  mediaType?: string;
}

const CHANGE = { namespace: ["n"], key: "k", version: 3, kind: "put" };

let fates: Fate[];
let asked: URL[];
let ended: number;

beforeEach(() => {
  [fates, asked, ended] = [[], [], 0];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

const fetch: typeof globalThis.fetch = async (input, init) => {
  asked.push(new URL(String(input)));
  const fate = fates.shift() ?? { problem: [503, "unavailable"] };
  if (fate.problem) {
    const [status, code] = fate.problem;
    const headers = { "content-type": "application/problem+json" };
    return new Response(JSON.stringify({ code, detail: "no" }), { status, headers });
  }
  const headers = { "content-type": fate.mediaType ?? "text/event-stream" };
  return new Response(bodyOf(fate, init?.signal ?? undefined), { headers });
};

function bodyOf({ pieces = [], last = "breaks" }: Fate, signal: AbortSignal | undefined) {
  const left = [...pieces];
  return new ReadableStream<Uint8Array>({
    start(controller) {
      signal?.addEventListener("abort", () => {
        ended += 1;
        controller.error(signal.reason);
      });
    },
    pull(controller) {
      const piece = left.shift();
      if (piece instanceof Uint8Array) controller.enqueue(piece);
      else if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      else if (last === "ends") controller.close();
      else if (last === "breaks") controller.error(new TypeError("terminated"));
      else return new Promise(() => {});
      return undefined;
    },
  });
}

function event(id: string, name: string, data: object = {}): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function changesOf(options: object = {}) {
  return new Client({ url: "http://server", fetch }).store.changes(["n", "ü"], options);
}

function threadsOf(options: object = {}) {
  return new Client({ url: "http://server", fetch }).threads.changes(options);
}

/** The next event, with the time that it takes passing at once. */
async function next<Change>(
  changes: AsyncIterator<Change, undefined>,
): Promise<Change | undefined> {
  const outcome = changes.next().then(
    ({ value }) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.runAllTimersAsync();
  const told = await outcome;
  if ("error" in told) throw told.error;
  return told.value;
}

const silent = { last: "silence" } as const;

it("events are read in whatever pieces they come, and comments are none", async () => {
  const change = { ...CHANGE, key: "ü€" };
  const text = `: hello\r\n\r\n${event("p1", "ready")}${event("p2", "change", change)}`;
  const pieces = Array.from(new TextEncoder().encode(text), (byte) => Uint8Array.of(byte));
  fates = [{ pieces: [...pieces, ": still here\nid: p3\n\n", event("p4", "resync")], ...silent }];
  const changes = changesOf({ exact: true });
  expect(asked).toEqual([]);
  expect(await next(changes)).toEqual({ type: "ready", position: "p1" });
  expect(await next(changes)).toEqual({ type: "change", position: "p2", ...change });
  expect(await next(changes)).toEqual({ type: "resync", position: "p4" });
  expect(asked.map((it) => it.pathname + it.search)).toEqual([
    "/v1/store/changes?ns=n&ns=%C3%BC&exact=true",
  ]);
});

it("a lost connection is opened behind the last position, also of an event that tells nothing", async () => {
  fates = [
    { pieces: [event("p1", "ready"), event("p2", "change", CHANGE), "id: p3\n\n"] },
    { problem: [503, "overloaded"] },
    { pieces: [event("p3", "ready"), event("p5", "change", CHANGE)], last: "ends" },
    { pieces: [event("p5", "ready")], ...silent },
  ];
  const changes = changesOf();
  const told = [];
  for (let n = 0; n < 5; n += 1) told.push((await next(changes))?.position);
  expect(told).toEqual(["p1", "p2", "p3", "p5", "p5"]);
  expect(asked.map((it) => it.searchParams.get("after"))).toEqual([null, "p3", "p3", "p5"]);
  expect(changes.position).toBe("p5");
});

it("a server that stops is asked again, a silent one after 45 seconds", async () => {
  fates = [
    { pieces: [event("p1", "ready"), event("", "end", { code: "stopping" })], last: "ends" },
    { pieces: [event("p1", "ready")], ...silent },
    { pieces: [event("p1", "ready"), event("p2", "change", CHANGE)], ...silent },
  ];
  const changes = changesOf();
  expect((await next(changes))?.type).toBe("ready");
  expect((await next(changes))?.type).toBe("ready");
  const waiting = changes.next();
  await vi.advanceTimersByTimeAsync(44_000);
  expect(asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(asked).toHaveLength(3);
  expect((await waiting).value).toEqual({ type: "ready", position: "p1" });
  expect(ended).toBeGreaterThanOrEqual(1);
});

it("a follower that was away for too long begins anew, and lists again", async () => {
  fates = [
    { pieces: [event("p1", "ready")] },
    { problem: [410, "position_gone"] },
    { pieces: [event("q1", "ready")], ...silent },
  ];
  const changes = changesOf({ after: "p0" });
  expect(await next(changes)).toEqual({ type: "ready", position: "p1" });
  expect(await next(changes)).toEqual({ type: "resync", position: undefined });
  expect(await next(changes)).toEqual({ type: "ready", position: "q1" });
  expect(asked.map((it) => it.searchParams.get("after"))).toEqual(["p0", "p1", null]);
});

it("a position that never led on is an error, and the feed is done", async () => {
  fates = [{ problem: [410, "position_gone"] }];
  const changes = changesOf({ after: "p0" });
  await expect(next(changes)).rejects.toBeInstanceOf(PositionGoneError);
  expect(await next(changes)).toBeUndefined();
  expect(asked).toHaveLength(1);
});

it.each([
  ["token_revoked", TokenRevokedError],
  ["not_granted", NotGrantedError],
])("an end with %s is thrown", async (code, kind) => {
  fates = [{ pieces: [event("p1", "ready"), event("", "end", { code })], ...silent }];
  const changes = changesOf();
  await next(changes);
  await expect(next(changes)).rejects.toBeInstanceOf(kind);
  expect(await next(changes)).toBeUndefined();
  expect(ended).toBe(1);
});

it("a server that stays away is given up after the time of a call, in growing steps", async () => {
  fates = [{ pieces: [event("p1", "ready")] }];
  const changes = changesOf({ timeoutMs: 10_000 });
  await next(changes);
  const begun = Date.now();
  await expect(next(changes)).rejects.toMatchObject({ code: "unavailable" });
  expect(Date.now() - begun).toBeGreaterThan(8_000);
  expect(asked.length).toBeLessThan(25);
});

it("streams that break at once are asked for ever more slowly", async () => {
  fates = Array.from({ length: 20 }, () => ({ pieces: [event("p1", "ready")] }));
  const changes = changesOf();
  const times: number[] = [];
  for (let n = 0; n < 12; n += 1) {
    await next(changes);
    times.push(Date.now());
  }
  expect((times[11] ?? 0) - (times[5] ?? 0)).toBeGreaterThan(6 * 450);
});

it("an answer that is no event stream is an error of the protocol", async () => {
  fates = [{ pieces: ["<html>"], mediaType: "text/html", ...silent }];
  await expect(next(changesOf())).rejects.toBeInstanceOf(ProtocolError);
  fates = [{ pieces: [event("p1", "change", { ...CHANGE, version: "3" })], ...silent }];
  await expect(next(changesOf())).rejects.toBeInstanceOf(ProtocolError);
  fates = [{ pieces: ["id: p1\nevent: change\ndata: {\n\n"], ...silent }];
  await expect(next(changesOf())).rejects.toBeInstanceOf(ProtocolError);
  fates = [{ pieces: ["x".repeat((1 << 20) + 1)], ...silent }];
  await expect(next(changesOf())).rejects.toThrow(/does not end/);
});

it("a connection that fails for good is thrown at once", async () => {
  const cause = Object.assign(new Error("no TLS"), { code: "CERT_HAS_EXPIRED" });
  const failing = async () => {
    asked.push(new URL("http://server"));
    throw new TypeError("fetch failed", { cause });
  };
  const changes = new Client({ url: "http://server", fetch: failing }).store.changes();
  await expect(next(changes)).rejects.toBeInstanceOf(TransportError);
  expect(asked).toHaveLength(1);
});

it("threads that change are told with their status, and kinds of later servers are passed over", async () => {
  const update = { thread_id: "t ü", generation: "g", kind: "update" };
  const at = { updated_at: "2026-01-31T12:00:00.000001Z" };
  fates = [
    {
      pieces: [
        event("p1", "ready"),
        event("p2", "change", { ...update, ...at }),
        event("p3", "change", { ...update, ...at, kind: "another" }),
        event("p4", "change", { ...update, ...at, status: "interrupted" }),
        event("p5", "change", { ...update, ...at, kind: "delete" }),
      ],
    },
    { problem: [410, "position_gone"] },
    { pieces: [event("p6", "ready")], ...silent },
  ];
  const changes = threadsOf({ ids: ["t ü", "u"], prefix: "t", after: "p0" });
  const told = [];
  for (let n = 0; n < 6; n += 1) told.push(await next(changes));
  const change = { type: "change", threadId: "t ü", generation: "g", kind: "update" };
  const updatedAt = new Date("2026-01-31T12:00:00.000Z");
  expect(told).toEqual([
    { type: "ready", position: "p1" },
    { ...change, position: "p2", updatedAt, status: undefined },
    { ...change, position: "p4", updatedAt, status: "interrupted" },
    { ...change, position: "p5", updatedAt, kind: "delete", status: undefined },
    { type: "resync", position: undefined },
    { type: "ready", position: "p6" },
  ]);
  expect(asked.map((it) => it.pathname + it.search)).toEqual([
    "/v1/threads/changes?id=t+%C3%BC&id=u&prefix=t&after=p0",
    "/v1/threads/changes?id=t+%C3%BC&id=u&prefix=t&after=p5",
    "/v1/threads/changes?id=t+%C3%BC&id=u&prefix=t",
  ]);
});
