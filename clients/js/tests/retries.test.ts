/** Faults in the connection: the client sends some requests again, and throws a typed error where nothing helps. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ThreadkeepBackend } from "../src/deepagents/index.js";
import * as errors from "../src/errors.js";
import { Client } from "../src/index.js";
import { ThreadkeepSaver, ThreadkeepStore } from "../src/langgraph/index.js";
import { aborted, FakeServer, type Fault } from "./fake_server.js";
import { outcome } from "./outcomes.js";

const config = { configurable: { thread_id: "t", checkpoint_id: "c" } };

let server: FakeServer;

beforeEach(() => {
  server = new FakeServer();
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

function saver(options = {}): ThreadkeepSaver {
  return new ThreadkeepSaver({ url: "http://server", fetch: server.fetch, ...options });
}

function write(options = {}) {
  return outcome(() => saver(options).putWrites(config, [["a", 1]], "task"));
}

describe("a write", () => {
  it.each<[string, Fault]>([
    ["whose reply was lost", { lost: "after" }],
    ["whose request was lost", { lost: "before" }],
    ["that found the server busy", { status: 503, code: "overloaded" }],
    ["that was too soon", { status: 429, code: "too_many_requests" }],
    ["behind a proxy without a server", { status: 502 }],
  ])("%s is sent again, the same", async (_, fault) => {
    server.faults = [fault];
    const { error, ms } = await write();
    expect(error).toBeUndefined();
    expect(server.seen).toHaveLength(2);
    expect(server.seen[1]?.body).toEqual(server.seen[0]?.body);
    expect(ms).toBeLessThan(1_000);
  });

  it("is sent again until its time is over, and no longer", async () => {
    server.faults = Array.from({ length: 99 }, () => ({ lost: "before" }) as const);
    const { error, ms } = await write();
    expect(error).toBeInstanceOf(errors.TransportError);
    expect(String(error)).toContain("other side closed");
    expect(ms).toBeGreaterThan(28_000);
    expect(ms).toBeLessThanOrEqual(30_100);
    expect(server.seen.length).toBeGreaterThan(30);
  });

  it.each<[string, Fault]>([
    ["refuses connections", { refused: true }],
    ["says that it is about to go", { status: 503, code: "unavailable" }],
    ["is behind a proxy that finds none", { status: 502 }],
  ])("rides out ten seconds of a server that %s", async (_, fault) => {
    const back = Date.now() + 10_000;
    server.faults = Array.from({ length: 99 }, () => fault);
    const now = setInterval(() => {
      if (Date.now() >= back) server.faults = [];
    }, 50);
    const { error, ms } = await write();
    clearInterval(now);
    expect(error).toBeUndefined();
    expect(ms).toBeGreaterThanOrEqual(10_000);
    expect(ms).toBeLessThan(11_300);
  });

  it("waits as long as the server says", async () => {
    server.faults = [{ status: 503, code: "unavailable", headers: { "retry-after": "7" } }];
    const { error, ms } = await write();
    expect(error).toBeUndefined();
    expect(ms).toBeGreaterThanOrEqual(7_000);
    expect(ms).toBeLessThan(8_000);
  });

  it("that is told to wait for longer than it has fails at once", async () => {
    server.faults = [{ status: 503, code: "unavailable", headers: { "retry-after": "7" } }];
    const { error, ms } = await write({ timeoutMs: 5_000 });
    expect(error).toBeInstanceOf(errors.UnavailableError);
    expect(ms).toBeLessThan(200);
  });

  it("that a proxy gave up on is not sent again while it may still run", async () => {
    server.faults = [{ status: 504 }];
    const { error, ms } = await write({ timeoutMs: 20_000 });
    expect(error).toBeUndefined();
    // The server may begin it within its budget, half of the time, and then has 5 s.
    expect(server.seen[0]?.headers.get("threadkeep-budget-ms")).toBe("10000");
    expect(ms).toBeGreaterThanOrEqual(14_900);
    // What is left for the second one.
    expect(Number(server.seen[1]?.headers.get("threadkeep-budget-ms"))).toBeLessThan(2_600);
    server.faults = [{ status: 504 }];
    const late = await write({ timeoutMs: 8_000 });
    expect(late.error).toBeInstanceOf(errors.UnavailableError);
    expect(server.seen).toHaveLength(3);
  });

  it("without an answer ends with its time, as an error that says so and names the address", async () => {
    server.faults = [{ hangs: true }];
    const { error, ms } = await write({ apiKey: "tk_secret" });
    expect(error).toBeInstanceOf(errors.TransportError);
    expect(String(error)).toContain("no answer from http://server in time");
    expect(String(error)).not.toContain("tk_secret");
    expect(server.seen).toHaveLength(1);
    expect(ms).toBeGreaterThanOrEqual(30_000);
    expect(ms).toBeLessThan(30_200);
  });

  it("has the time that the call says, or an object made for it", async () => {
    const view = saver().withOptions({ timeoutMs: 2_000 });
    const client = new Client({ url: "http://server", fetch: server.fetch });
    const store = new ThreadkeepStore({ url: "http://server", fetch: server.fetch });
    const backend = new ThreadkeepBackend({
      url: "http://server",
      fetch: server.fetch,
      namespace: ["n"],
    });
    for (const work of [
      () => view.putWrites(config, [["a", 1]], "task"),
      () => view.getTuple(config),
      () => saver().prune(["t"], { timeoutMs: 2_000 }),
      () => store.get(["n"], "k", { timeoutMs: 2_000 }),
      () => store.withOptions({ timeoutMs: 2_000 }).put(["n"], "k", {}),
      () => client.files.ls(["n"], "/", { timeoutMs: 2_000 }),
      () => client.withOptions({ timeoutMs: 2_000 }).getThread("t"),
      () => client.listThreads({ timeoutMs: 2_000 }),
      async () => {
        const { error } = await backend.withOptions({ timeoutMs: 2_000 }).ls("/");
        throw new Error(error);
      },
    ]) {
      server.faults = [{ hangs: true }];
      const { error, ms } = await outcome(work);
      expect(String(error)).toContain("no answer from http://server in time");
      expect(ms).toBeGreaterThanOrEqual(2_000);
      expect(ms).toBeLessThan(2_300);
    }
    expect(server.seen.map(({ url }) => url).join()).not.toContain("timeoutMs");
  });
});

describe("a large body", () => {
  it.each<[string, (client: Client) => Promise<unknown>]>([
    ["of bytes", (client) => client.files.putContent(["a"], "/a", new Uint8Array(3_000_000))],
    ["of a blob", (client) => client.snapshots.putArchive("w", new Blob([new Uint8Array(3e6)]))],
    ["of a call", (client) => client.files.write(["a"], "/a", "x".repeat(3_000_000))],
  ])("%s has a second more for each megabyte", async (_, send) => {
    const fetch: typeof globalThis.fetch = (_, init) => aborted(init?.signal ?? undefined);
    const client = new Client({ url: "http://x", fetch, timeoutMs: 2_000 });
    const { error, ms } = await outcome(() => send(client));
    expect(String(error)).toContain("no answer from http://x in time");
    expect(ms).toBeGreaterThanOrEqual(5_000);
    expect(ms).toBeLessThan(5_200);
  });
});

describe("a read", () => {
  it.each([
    ["an empty map", {}],
    ["no chain", { history_channels: [], checkpoint: null }],
    [
      "a checkpoint of another shape",
      { history_channels: [], chain: [], checkpoint: { values: 1 } },
    ],
    ["a list", []],
    ["a number", 7],
  ])("that is answered with %s is an error and never undefined", async (name, answer) => {
    server.answers.set("/v1/checkpoints/get", () => answer);
    const { error } = await outcome(() => saver().getTuple(config));
    // Without a checkpoint the chain is of no interest.
    if (name === "no chain") expect(error).toBeUndefined();
    else expect(error).toBeInstanceOf(errors.ProtocolError);
  });

  it("that is answered by something else is an error of the protocol", async () => {
    for (const raw of [
      { type: "text/html", body: "<html>hello</html>" },
      { type: "application/msgpack", body: new Uint8Array([0x81, 0xa1]) },
      { type: "application/json", body: "{}" },
    ]) {
      server.faults = [{ raw }];
      const { error } = await outcome(() => saver().getTuple(config));
      expect(error).toBeInstanceOf(errors.ProtocolError);
    }
  });
});

describe("a refusal", () => {
  it.each([
    [400, "malformed_body", errors.InvalidError],
    [401, "unauthorized", errors.UnauthorizedError],
    [401, "key_expired", errors.KeyExpiredError],
    [401, "token_expired", errors.TokenExpiredError],
    [401, "token_revoked", errors.TokenRevokedError],
    [403, "not_granted", errors.NotGrantedError],
    [403, "forbidden_host", errors.NotGrantedError],
    [404, "not_found", errors.NotFoundError],
    [409, "thread_restored", errors.ThreadRestoredError],
    [409, "lease_held", errors.LeaseHeldError],
    [409, "fence_stale", errors.FenceStaleError],
    [409, "thread_exists", errors.ThreadExistsError],
    [409, "thread_taken", errors.ThreadTakenError],
    [409, "namespace_exists", errors.NamespaceExistsError],
    [409, "session_exists", errors.SessionExistsError],
    [409, "version_conflict", errors.VersionConflictError],
    [409, "head_moved", errors.HeadMovedError],
    [409, "session_taken", errors.SessionTakenError],
    [404, "session_not_found", errors.SessionNotFoundError],
    [404, "document_not_found", errors.DocumentNotFoundError],
    [410, "key_destroyed", errors.KeyDestroyedError],
    [410, "position_gone", errors.PositionGoneError],
    [413, "quota_exceeded", errors.QuotaExceededError],
    [409, "of_a_later_server", errors.ConflictError],
    [413, "too_large", errors.TooLargeError],
    [422, "invalid", errors.InvalidError],
    [416, "range_not_satisfiable", errors.RangeNotSatisfiableError],
    [422, "search_needs_plaintext", errors.SearchNeedsPlaintextError],
    [500, "internal", errors.InternalError],
    [418, "of_a_later_server", errors.ProtocolError],
  ])("of %d %s is thrown at once, with all that is known", async (status, code, kind) => {
    server.faults = [{ status, code, problem: { field: "writes", limit: 9 } }];
    const { error, ms } = await write();
    expect(error).toBeInstanceOf(kind);
    expect(error).toBeInstanceOf(errors.ThreadkeepError);
    const about = {
      code,
      status,
      field: "writes",
      limit: 9,
      requestId: "r1",
      detail: "it went wrong",
    };
    expect(error).toMatchObject({ ...about, name: kind.name });
    expect(ms).toBeLessThan(200);
    expect(server.seen).toHaveLength(1);
  });
});

describe("a copy", () => {
  it("has a key of its own, the same in every attempt", async () => {
    server.faults = [{ lost: "after" }];
    const { error } = await outcome(() => saver().copyThread("a", "b"));
    expect(error).toBeUndefined();
    const [one, two] = server.seen.map((it) => it.headers.get("idempotency-key"));
    expect(one).toBeTruthy();
    expect(two).toBe(one);
  });
});
