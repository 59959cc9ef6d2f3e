/** Bodies that are received as they arrive: whole or a typed error, also over connections that are lost. */

import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { httpStateStore } from "../src/computeragent/index.js";
import { Client, SnapshotNotFoundError, TransportError } from "../src/index.js";
import { packed } from "../src/wire/packing.js";

const TAR = Uint8Array.from({ length: 10_000 }, (_, at) => (at * 31) % 256);
const CHUNK = 100;
const ETAG = '"abc"';

/** What becomes of one request for the archive; without anything it is answered whole. */
interface Fate {
  status?: number;
  code?: string;
  /** The body breaks, or falls silent, after so many bytes; it may also end there as if that were all. */
  cut?: number;
  silent?: number;
  short?: number;
  etag?: string | null;
  /** Something on the way answers with the whole, whatever was asked for. */
  ignoresRange?: boolean;
  encoding?: string;
}

class Archive {
  fates: Fate[] = [];
  readonly asked: Headers[] = [];
  readonly signals: (AbortSignal | undefined)[] = [];

  readonly fetch: typeof globalThis.fetch = async (_, init) => {
    const headers = new Headers(init?.headers);
    this.asked.push(headers);
    this.signals.push(init?.signal ?? undefined);
    const fate = this.fates.shift() ?? {};
    if (fate.status !== undefined) return problem(fate.status, fate.code);
    const etag = fate.etag === undefined ? ETAG : fate.etag;
    const range = headers.get("range");
    const isPart = !fate.ignoresRange && range !== null && headers.get("if-range") === etag;
    const bytes = TAR.subarray(isPart ? Number(range.slice(6, -1)) : 0);
    const answer: Record<string, string> = { "content-length": String(bytes.length) };
    if (etag !== null) answer["etag"] = etag;
    if (fate.encoding !== undefined) answer["content-encoding"] = fate.encoding;
    const body = bodyOf(bytes, fate, init?.signal ?? undefined);
    return new Response(body, { status: isPart ? 206 : 200, headers: answer });
  };

  ranges(): (string | null)[] {
    return this.asked.map((headers) => headers.get("range"));
  }
}

function bodyOf(bytes: Uint8Array, fate: Fate, signal: AbortSignal | undefined) {
  const end = fate.cut ?? fate.silent ?? fate.short ?? bytes.length;
  let at = 0;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
    pull(controller) {
      if (at < end) {
        const to = Math.min(end, at + CHUNK);
        controller.enqueue(bytes.slice(at, to));
        at = to;
      } else if (fate.cut !== undefined) {
        controller.error(new TypeError("terminated", { cause: new Error("other side closed") }));
      } else if (fate.silent === undefined) {
        controller.close();
      } else {
        return new Promise(() => {});
      }
      return undefined;
    },
  });
}

function problem(status: number, code: string | undefined): Response {
  const body = JSON.stringify({ title: "wrong", detail: "it went wrong", code });
  return new Response(body, { status, headers: { "content-type": "application/problem+json" } });
}

let archive: Archive;

beforeEach(() => {
  archive = new Archive();
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

function client(options = {}): Client {
  return new Client({ url: "http://server", fetch: archive.fetch, ...options });
}

/** Runs a call through all its waits. */
async function through<Result>(work: Promise<Result>): Promise<Result> {
  let settled = false;
  const end = () => {
    settled = true;
  };
  work.then(end, end);
  while (!settled) await vi.advanceTimersByTimeAsync(100);
  return await work;
}

async function got(options = {}): Promise<Uint8Array> {
  const stream = await client(options).snapshots.getArchive("s");
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

describe("a body", () => {
  it("that breaks off is gone on with, of the same state", async () => {
    archive.fates = [{ cut: 1_000 }, { status: 503 }, { cut: 2_500 }, { cut: 0 }];
    expect(await through(got())).toEqual(TAR);
    const more = ["bytes=1000-", "bytes=1000-", "bytes=3500-", "bytes=3500-"];
    expect(archive.ranges()).toEqual([null, ...more]);
    const conditions = archive.asked.map((headers) => headers.get("if-range"));
    expect(conditions).toEqual([null, ...more.map(() => ETAG)]);
    expect(archive.asked[0]?.get("accept-encoding")).toBe("identity");
  });

  it("that falls silent is gone on with as well", async () => {
    archive.fates = [{ silent: 1_000 }, { silent: 500 }];
    expect(await through(got({ timeoutMs: 5_000 }))).toEqual(TAR);
    expect(archive.ranges()).toEqual([null, "bytes=1000-", "bytes=1500-"]);
    expect(archive.signals.map((signal) => signal?.aborted)).toEqual([true, true, false]);
  });

  it("that ends too early is not taken for all of it", async () => {
    archive.fates = [{ short: 1_000 }];
    expect(await through(got())).toEqual(TAR);
    expect(archive.ranges()).toEqual([null, "bytes=1000-"]);
  });

  it("that breaks behind its last byte is whole", async () => {
    archive.fates = [{ cut: TAR.length }];
    expect(await through(got())).toEqual(TAR);
    expect(archive.asked).toHaveLength(1);
  });

  it("that comes whole instead of its rest is read from where the first one ended", async () => {
    archive.fates = [{ cut: 1_050 }, { ignoresRange: true, cut: 500 }, { ignoresRange: true }];
    expect(await through(got())).toEqual(TAR);
    expect(archive.ranges()).toEqual([null, "bytes=1050-", "bytes=1050-"]);
  });

  it("of another state is no rest of the first one", async () => {
    archive.fates = [{ cut: 1_000 }, { etag: '"other"' }];
    await expect(through(got())).rejects.toThrow(/has changed since/);
    expect(archive.signals[1]?.aborted).toBe(true);
  });

  it.each<[string, Fate]>([
    ["without an ETag", { etag: null }],
    ["with a weak ETag", { etag: 'W/"abc"' }],
    ["that was packed on the way", { encoding: "gzip" }],
  ])("%s has no rest: to go on with it would be a guess", async (_, fate) => {
    archive.fates = [{ ...fate, cut: 1_000 }];
    await expect(through(got())).rejects.toThrow(TransportError);
    expect(archive.asked).toHaveLength(1);
    archive.fates = [{ ...fate, cut: 0 }];
    expect(await through(got())).toEqual(TAR);
  });

  it("that never comes is a typed error, when the time of a call is over", async () => {
    archive.fates = [{ cut: 1_000 }, ...Array.from({ length: 99 }, () => ({ cut: 0 }))];
    const begun = Date.now();
    const error = await through(got()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TransportError);
    expect(String(error)).toContain("other side closed");
    expect(Date.now() - begun).toBeGreaterThan(28_000);
    expect(Date.now() - begun).toBeLessThanOrEqual(30_100);
    archive.fates = Array.from({ length: 9 }, () => ({ silent: 0 }));
    await expect(through(got())).rejects.toThrow(/no answer from http:.* in time/);
    archive.fates = [{ cut: 1_000 }, { status: 404, code: "snapshot_not_found" }];
    await expect(through(got())).rejects.toThrow(SnapshotNotFoundError);
    archive.fates = [{ status: 404, code: "snapshot_not_found" }];
    await expect(client().snapshots.getArchive("s")).rejects.toThrow(SnapshotNotFoundError);
  });

  it("that nobody reads is not waited for, and is given up when it is cancelled", async () => {
    const stream = await client({ timeoutMs: 1_000 }).snapshots.getArchive("s");
    await vi.advanceTimersByTimeAsync(60_000);
    const reader = stream.getReader();
    expect((await reader.read()).value).toEqual(TAR.subarray(0, CHUNK));
    await reader.cancel();
    expect(archive.signals[0]?.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that is cancelled while the next attempt is waited for is not asked for again", async () => {
    archive.fates = [{ cut: CHUNK }];
    const reader = (await client().snapshots.getArchive("s")).getReader();
    await reader.read();
    const last = reader.read();
    await vi.advanceTimersByTimeAsync(1);
    await reader.cancel();
    await vi.runAllTimersAsync();
    expect((await last).done).toBe(true);
    expect(archive.asked).toHaveLength(1);
  });
});

describe("the working directory of a sandbox", () => {
  it("is loaded over a lost connection, and what never comes is a typed error", async () => {
    vi.useRealTimers();
    const snapshot = {
      snapshot_id: "s",
      created_at: "2026-01-31T12:00:00.000000Z",
      taken_at: "2026-01-31T12:00:00.000000Z",
      labels: { made_by: "computeragent" },
      document: new TextEncoder().encode(JSON.stringify({ record: { snapshotId: "s" } })),
      threads: [],
      namespaces: [],
      sessions: [],
      size_bytes: 1,
      archive: {
        workspace: "w",
        size_bytes: TAR.length,
        file_count: 1,
        sha256: "0".repeat(64),
        staged_at: "2026-01-31T12:00:00.000000Z",
      },
    };
    const fetch: typeof globalThis.fetch = async (input, init) => {
      if (String(input).includes("/archive")) return await archive.fetch(input, init);
      return new Response(packed(snapshot), { headers: { "content-type": "application/msgpack" } });
    };
    const store = httpStateStore({ url: "http://server" }, { fetch });
    archive.fates = [{ cut: 1_000 }];
    const loaded = await store.load("s");
    expect(new Uint8Array(gunzipSync(loaded?.workdirTar as Uint8Array))).toEqual(TAR);
    archive.fates = [{ cut: 1_000, etag: null }];
    await expect(store.load("s")).rejects.toThrow(TransportError);
  });
});
