/** The store's requests and answers, with a server that does as it is told. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InvalidError, ProtocolError, TransportError, VersionConflictError } from "../src/index.js";
import { ThreadkeepStore } from "../src/langgraph/index.js";
import { FakeServer } from "./fake_server.js";
import { ONE_ATTEMPT, stopTheClock } from "./one_attempt.js";

stopTheClock();

const BATCH = "/v1/store/batch";
const ITEM = {
  namespace: ["n"],
  key: "k",
  version: 5,
  created_at: "2026-01-31T12:00:00.123456Z",
  updated_at: "2026-01-31T13:00:00.5Z",
  size_bytes: 7,
  value: new TextEncoder().encode('{"a":1}'),
  later: true,
};

let server: FakeServer;
let store: ThreadkeepStore;

beforeEach(() => {
  server = new FakeServer();
  store = new ThreadkeepStore({ url: "http://server", apiKey: "tk_secret", fetch: server.fetch });
});
afterEach(() => vi.useRealTimers());

function answers(...results: unknown[]): void {
  server.answers.set(BATCH, () => ({ results }));
}

const sent = () => server.seen.map(({ body }) => body);

describe("requests", () => {
  it("with changes have a key, the same in every attempt, and those without have none", async () => {
    vi.useFakeTimers();
    answers({ version: 7 });
    server.faults = [{ lost: "after" }, { status: 503, code: "overloaded" }];
    const put = store.putVersioned(["n"], "k", { a: 1 }, { ifVersion: 6 });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await put).toBe(7);
    const keys = server.seen.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys).toHaveLength(3);
    expect(keys[0]).toBeTruthy();
    expect(new Set(keys).size).toBe(1);
    expect(server.seen[2]?.body).toEqual(server.seen[0]?.body);
    answers({ version: 8 });
    const again = store.put(["n"], "k", { a: 1 });
    await vi.advanceTimersByTimeAsync(1);
    await again;
    expect(server.seen[3]?.headers.get("idempotency-key")).not.toBe(keys[0]);
    answers({});
    const get = store.get(["n"], "k");
    await vi.advanceTimersByTimeAsync(1);
    expect(await get).toBeNull();
    expect(server.seen[4]?.headers.get("idempotency-key")).toBeNull();
  });

  it("say what was asked for, and nothing else", async () => {
    answers({ items: [] });
    await store.search(["a", "b"]);
    await store.search([], {
      filter: { a: 1 },
      limit: 5,
      offset: 2,
      query: "ignored without a mode",
      exact: true,
      sortBy: "key",
      after: "cursor",
      select: ["a"],
      values: false,
      refreshTtl: false,
    });
    await store.search([], { mode: "text", query: "tea" });
    answers({ namespaces: [] });
    await store.listNamespaces({ prefix: ["a", "*"], suffix: ["b"], maxDepth: 2 });
    const plain = { prefix: [], limit: 10, offset: 0, refresh_ttl: true };
    expect(sent().map((body) => (body["ops"] as unknown[])[0])).toEqual([
      { search: { ...plain, prefix: ["a", "b"] } },
      {
        search: {
          ...{ prefix: [], limit: 5, offset: 2, refresh_ttl: false },
          filter: new TextEncoder().encode('{"a":1}'),
          ...{ exact: true, sort: "key", cursor: "cursor", select: ["a"], values: false },
        },
      },
      { search: { ...plain, mode: "text", query: "tea" } },
      {
        list_namespaces: {
          limit: 100,
          offset: 0,
          max_depth: 2,
          conditions: [
            { match: "prefix", path: ["a", "*"] },
            { match: "suffix", path: ["b"] },
          ],
        },
      },
    ]);
  });

  it("that are refused as a whole are repeated for each caller alone", async () => {
    server.answers.set(BATCH, (body) => {
      const ops = body["ops"] as { get?: { key: string } }[];
      const results = ops.map((op) => (op.get ? {} : { version: 1 }));
      return { results };
    });
    server.faults = [{ status: 422, code: "invalid" }, {}, { status: 422, code: "invalid" }];
    const outcomes = await Promise.allSettled([
      store.get(["n"], "a"),
      store.get(["n"], "b"),
      store.put(["n"], "c", {}),
    ]);
    expect(server.seen).toHaveLength(4);
    expect(outcomes.filter((it) => it.status === "rejected")).toHaveLength(1);
    expect(sent().map(({ atomic }) => atomic)).toEqual([false, false, false, false]);
  });

  it("that come to nothing are an error for all who waited, each an own outcome", async () => {
    const impatient = new ThreadkeepStore({ ...ONE_ATTEMPT, fetch: server.fetch, url: "http://s" });
    server.faults = [{ lost: "before" }];
    const outcomes = await Promise.allSettled([impatient.get(["n"], "a"), impatient.count([])]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(TransportError) });
    }
    answers({ count: 3 });
    expect(await impatient.count([])).toBe(3);
  });
});

describe("answers", () => {
  it("become items with dates", async () => {
    answers({ item: ITEM });
    expect(await store.get(["n"], "k")).toEqual({
      namespace: ["n"],
      key: "k",
      value: { a: 1 },
      version: 5,
      sizeBytes: 7,
      createdAt: new Date("2026-01-31T12:00:00.123Z"),
      updatedAt: new Date("2026-01-31T13:00:00.500Z"),
    });
    const key = new TextEncoder().encode('"\\ud800"');
    answers({ items: [{ ...ITEM, key, value: undefined }] });
    expect((await store.search([]))[0]).toMatchObject({ key: "\ud800", value: {} });
  });

  it.each([
    ["no results", {}],
    ["too few", { results: [] }],
    ["no map", { results: [1] }],
    ["an item without a version", { results: [{ item: { ...ITEM, version: undefined } }] }],
    ["an item without a time", { results: [{ item: { ...ITEM, updated_at: "soon" } }] }],
    ["another key", { results: [{ item: { ...ITEM, key: 5 } }] }],
    ["a value that is no JSON", { results: [{ item: { ...ITEM, value: new Uint8Array([1]) } }] }],
    ["a list for a value", { results: [{ item: { ...ITEM, value: new Uint8Array([91, 93]) } }] }],
    ["an error that is none", { results: [{ error: 5 }] }],
  ])("with %s are an error of the protocol and never null", async (_, answer) => {
    server.answers.set(BATCH, () => answer);
    await expect(store.get(["n"], "k")).rejects.toBeInstanceOf(ProtocolError);
  });

  it("with an error of one operation throw that", async () => {
    const error = { status: 409, code: "version_conflict", detail: "stale", current_version: 9 };
    answers({ error });
    const refused = store.put(["n"], "k", {}, undefined, { ifVersion: 1 });
    await expect(refused).rejects.toBeInstanceOf(VersionConflictError);
    await expect(refused).rejects.toMatchObject({ currentVersion: 9, detail: "stale" });
    answers({ error: { status: 422, code: "invalid", detail: "no", field: "filter", limit: 3 } });
    await expect(store.search([])).rejects.toMatchObject({
      name: InvalidError.name,
      field: "filter",
      limit: 3,
    });
  });
});

it("the key is shown nowhere", async () => {
  const { inspect } = await import("node:util");
  expect(inspect(store, { depth: 9, showHidden: true })).not.toContain("tk_secret");
  expect(JSON.stringify(store)).toBe('"[ThreadkeepStore http://server]"');
});
