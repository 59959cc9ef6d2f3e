/** What is sent again, when, and what a caller gets when nothing helps: faults put into the connection. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as errors from "../src/errors.js";
import { Client } from "../src/index.js";
import { ThreadkeepSaver } from "../src/langgraph/index.js";
import { aborted, FakeServer, type Fault } from "./fake_server.js";

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

/** Runs a call through all its waits; how long they took together, and how it came out. */
async function outcome(work: () => Promise<unknown>): Promise<{ ms: number; error: unknown }> {
  const begun = Date.now();
  const settled = work().then(
    () => undefined,
    (error: unknown) => error,
  );
  let error: unknown = vi;
  void settled.then((it) => {
    error = it;
  });
  while (error === vi) await vi.advanceTimersByTimeAsync(100);
  return { ms: Date.now() - begun, error };
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

  it("gives up after its attempts", async () => {
    server.faults = Array.from({ length: 9 }, () => ({ lost: "before" }) as const);
    const { error } = await write();
    expect(error).toBeInstanceOf(errors.TransportError);
    expect(String(error)).toContain("other side closed");
    expect(server.seen).toHaveLength(4);
  });

  it("waits as long as the server says", async () => {
    server.faults = [{ status: 503, code: "unavailable", headers: { "retry-after": "7" } }];
    const { error, ms } = await write();
    expect(error).toBeUndefined();
    expect(ms).toBeGreaterThanOrEqual(7_000);
    expect(ms).toBeLessThan(8_000);
  });

  it("without an answer is not sent again while it may still run", async () => {
    server.faults = [{ hangs: true }];
    const { error, ms } = await write({ requestTimeoutMs: 20_000 });
    expect(error).toBeUndefined();
    // The server may begin it within its budget, half of the time-out, and then has 5 s.
    expect(server.seen[0]?.headers.get("threadkeep-budget-ms")).toBe("10000");
    expect(ms).toBeGreaterThanOrEqual(20_000);
    server.faults = [{ status: 504 }];
    const late = await write({ requestTimeoutMs: 20_000 });
    expect(late.error).toBeUndefined();
    expect(late.ms).toBeGreaterThanOrEqual(14_900);
  });

  it("times out as a typed error", async () => {
    server.faults = [{ hangs: true }];
    const { error } = await write({ attempts: 1, requestTimeoutMs: 1_000 });
    expect(error).toBeInstanceOf(errors.TransportError);
    expect(String(error)).toContain("no answer in time");
  });
});

describe("a large body", () => {
  it.each<[string, (client: Client) => Promise<unknown>]>([
    ["of bytes", (client) => client.files.putContent(["a"], "/a", new Uint8Array(3_000_000))],
    ["of a blob", (client) => client.snapshots.putArchive("w", new Blob([new Uint8Array(3e6)]))],
    ["of a call", (client) => client.files.write(["a"], "/a", "x".repeat(3_000_000))],
  ])("%s has a second more for each megabyte", async (_, send) => {
    const fetch: typeof globalThis.fetch = (_, init) => aborted(init?.signal ?? undefined);
    const client = new Client({ url: "http://x", fetch, attempts: 1, requestTimeoutMs: 2_000 });
    const { error, ms } = await outcome(() => send(client));
    expect(String(error)).toContain("no answer in time");
    expect(ms).toBeGreaterThanOrEqual(5_000);
    expect(ms).toBeLessThan(5_200);
  });
});

describe("a read", () => {
  it("without an answer is sent again soon", async () => {
    server.faults = [{ hangs: true }];
    server.answers.set("/v1/checkpoints/get", () => ({ chain: [], history_channels: [] }));
    const { error, ms } = await outcome(() => saver({ requestTimeoutMs: 1_000 }).getTuple(config));
    expect(error).toBeUndefined();
    expect(ms).toBeLessThan(2_000);
  });

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

describe("options", () => {
  it("that could never work are refused by name", () => {
    for (const url of [
      "",
      "ftp://x",
      "http://a b",
      "http://x?y=1",
      "http://user:pw@x",
      "nonsense",
    ]) {
      if (url === "") continue;
      expect(() => new ThreadkeepSaver({ url })).toThrow(/url must be/);
    }
    expect(() => new ThreadkeepSaver({ apiKey: "tk_\n" })).toThrow(errors.InvalidError);
    expect(() => new ThreadkeepSaver({ attempts: 0 })).toThrow(errors.InvalidError);
    expect(() => new ThreadkeepSaver({ requestTimeoutMs: 0 })).toThrow(errors.InvalidError);
  });

  it("come from the environment, and the key is shown nowhere", async () => {
    vi.stubEnv("THREADKEEP_API_KEY", "tk_secret");
    vi.stubEnv("THREADKEEP_URL", "http://elsewhere/");
    const paths: string[] = [];
    const asked = new ThreadkeepSaver({
      fetch: (input, init) => {
        paths.push(String(input));
        return server.fetch(input, init);
      },
    });
    vi.unstubAllEnvs();
    await asked.deleteThread("t");
    expect(paths).toEqual(["http://elsewhere/v1/threads/delete"]);
    expect(server.seen[0]?.headers.get("authorization")).toBe("Bearer tk_secret");
    const { inspect } = await import("node:util");
    expect(inspect(asked, { depth: 9, showHidden: true })).not.toContain("tk_secret");
    expect(JSON.stringify(asked)).toBe('"[ThreadkeepSaver]"');
  });
});
