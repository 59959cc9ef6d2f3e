/** The order of a session store's requests, what it repeats and how, and its summaries when others write too. */

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { FoldSessionSummary } from "../src/claude/index.js";
import { ThreadkeepSessionStore } from "../src/claude/index.js";
import { FakeServer } from "./fake_server.js";
import { ONE_ATTEMPT, stopTheClock } from "./one_attempt.js";

stopTheClock();

const KEY = { projectKey: "p", sessionId: "s" };
const APPEND = "/v1/sessions/append";
let server: FakeServer;

beforeEach(() => {
  server = new FakeServer();
  server.answers.set(APPEND, () => ({ head: 1, appended: 1, document_version: 1 }));
});

function storeOf(options = {}): ThreadkeepSessionStore {
  return new ThreadkeepSessionStore({ url: "http://server", fetch: server.fetch, ...options });
}

function keys(): (string | null)[] {
  const appends = server.seen.filter(({ path }) => path === APPEND);
  return appends.map((it) => it.headers.get("idempotency-key"));
}

describe("an append", () => {
  it("waits for the one before it of the same transcript, and for no other", async () => {
    const store = storeOf();
    const order: string[] = [];
    server.answers.set(APPEND, ({ key }) => {
      order.push((key as string[])[1] as string);
      return { head: 1, appended: 1 };
    });
    server.faults = [{ status: 503, code: "overloaded" }];
    const slow = store.append(KEY, [{ type: "1" }]);
    const behind = store.append(KEY, [{ type: "2" }]);
    await store.append({ ...KEY, sessionId: "other" }, [{ type: "3" }]);
    await Promise.all([slow, behind]);
    expect(order).toEqual(["other", "s", "s"]);
    expect(server.seen.map(({ body }) => JSON.stringify(body["key"]))).toHaveLength(4);
  });

  it("goes on after one that failed", async () => {
    const store = storeOf({ ...ONE_ATTEMPT });
    server.faults = [{ status: 413, code: "too_large" }];
    const first = store.append(KEY, [{ type: "1" }]);
    const second = store.append(KEY, [{ type: "2" }]);
    await expect(first).rejects.toMatchObject({ code: "too_large" });
    await second;
  });

  it("given again after a failure is the same request", async () => {
    const store = storeOf({ ...ONE_ATTEMPT });
    const entries = [{ type: "no uuid" }];
    server.faults = [{ lost: "after" }, { lost: "after" }];
    await expect(store.append(KEY, entries)).rejects.toMatchObject({ code: "transport" });
    await expect(store.append(KEY, entries)).rejects.toMatchObject({ code: "transport" });
    await store.append(KEY, entries);
    await store.append(KEY, entries);
    const [first, second, third, another] = keys();
    expect([second, third]).toEqual([first, first]);
    expect(another).not.toBe(first);
  });

  it("of another transcript, or of a list that was changed, is another request", async () => {
    const store = storeOf({ ...ONE_ATTEMPT });
    const entries = [{ type: "no uuid" }];
    server.faults = [{ lost: "after" }];
    await expect(store.append(KEY, entries)).rejects.toThrow();
    await store.append({ ...KEY, sessionId: "other" }, entries);
    expect(keys()[1]).not.toBe(keys()[0]);
    server.faults = [{ lost: "after" }, { status: 422, code: "idempotency_mismatch" }];
    await expect(store.append(KEY, entries)).rejects.toThrow();
    entries.push({ type: "more" });
    await store.append(KEY, entries);
    expect(new Set(keys().slice(2)).size).toBe(2);
  });

  it("of more than a request takes is several, in order, and so is its repetition", async () => {
    const store = storeOf({ ...ONE_ATTEMPT });
    const text = "x".repeat(3_000_000);
    const entries = Array.from({ length: 7 }, (_, at) => ({ type: `${at}`, text }));
    // Something else answers, which is not asked again.
    server.faults = [{}, { raw: { type: "text/html", body: "" } }];
    await expect(store.append(KEY, entries)).rejects.toMatchObject({ code: "protocol" });
    await store.append(KEY, entries);
    const sizes = server.seen.map(({ body }) => (body["entries"] as unknown[]).length);
    expect(sizes).toEqual([2, 2, 2, 2, 2, 1]);
    const [first, second, third] = [0, 1, 4].map((at) => keys()[at]);
    expect(keys()).toEqual([first, second, first, second, third, keys()[5]]);
    expect(new Set(keys()).size).toBe(4);
  });

  it("of nothing asks nobody", async () => {
    await storeOf().append(KEY, []);
    expect(server.seen).toEqual([]);
  });

  it('takes an empty subpath for none, and an empty uuid too, as the SDK does with ""', async () => {
    await storeOf().append({ ...KEY, subpath: "" }, [{ type: "x", uuid: "" }]);
    const body = server.seen[0]?.body ?? {};
    expect(body).not.toHaveProperty("stream");
    expect((body["entries"] as object[])[0]).not.toHaveProperty("id");
  });

  it("has ended, whatever happens, before the SDK gives up on it", async () => {
    vi.useFakeTimers();
    const store = storeOf();
    server.faults = Array.from({ length: 9 }, () => ({ hangs: true }));
    const begun = Date.now();
    let ended: unknown;
    store.append(KEY, [{ type: "x" }]).catch((error: unknown) => {
      ended = error;
    });
    while (!ended) await vi.advanceTimersByTimeAsync(500);
    expect(Date.now() - begun).toBeLessThan(60_000);
    vi.useRealTimers();
  });
});

describe("a summary", () => {
  const fold: FoldSessionSummary = (previous, { sessionId }, entries) => {
    const types = (previous?.data["types"] as string[] | undefined) ?? [];
    return { sessionId, mtime: 0, data: { types: [...types, ...entries.map((it) => it.type)] } };
  };
  let stored: { content: string; version: number } | undefined;

  beforeEach(() => {
    stored = undefined;
    server.answers.set("/v1/sessions/documents/get", () => ({
      ...stored,
      updated_at_ms: 1,
      size: 1,
    }));
    server.answers.set(APPEND, ({ document }) => {
      const content = (document as { content: string }).content;
      stored = { content, version: (stored?.version ?? 0) + 1 };
      return { head: 1, appended: 1, document_version: stored.version };
    });
  });

  it("travels with the entries, and is read once", async () => {
    server.faults = [
      { status: 404, code: "document_not_found" },
      { status: 404, code: "session_not_found" },
    ];
    const store = storeOf({ foldSummary: fold });
    await store.append(KEY, [{ type: "a" }]);
    await store.append(KEY, [{ type: "b" }, { type: "c" }]);
    expect(server.seen.map(({ path }) => path)).toEqual([
      "/v1/sessions/documents/get",
      "/v1/sessions/load",
      APPEND,
      APPEND,
    ]);
    expect(stored?.content).toBe('{"types":["a","b","c"]}');
    const sent = server.seen.slice(2).map(({ body }) => [body["document"], body["if_head"]]);
    expect(sent).toMatchObject([
      [{ name: "summary", if_version: 0 }, 0],
      [{ if_version: 1 }, undefined],
    ]);
  });

  it("is folded again when somebody else was faster, as another request", async () => {
    stored = { content: '{"types":["x"]}', version: 5 };
    const store = storeOf({ foldSummary: fold });
    server.faults = [{}, { status: 409, code: "version_conflict" }];
    await store.append(KEY, [{ type: "a" }]);
    expect(stored?.content).toBe('{"types":["x","a"]}');
    expect(new Set(keys()).size).toBe(2);
  });

  it("that was remembered is read again when it is another one now", async () => {
    stored = { content: '{"types":["x"]}', version: 5 };
    const store = storeOf({ foldSummary: fold });
    await store.append(KEY, [{ type: "a" }]);
    stored = { content: '{"types":["of another writer"]}', version: 9 };
    server.faults = [{ status: 409, code: "version_conflict" }];
    await store.append(KEY, [{ type: "b" }]);
    expect(stored.content).toBe('{"types":["of another writer","b"]}');
  });

  it("is not changed by a fold whose entries did not arrive", async () => {
    const changing: FoldSessionSummary = (previous, { sessionId }, entries) => {
      const types = (previous?.data["types"] as string[] | undefined) ?? [];
      types.push(...entries.map((it) => it.type));
      return { sessionId, mtime: 0, data: { types } };
    };
    const store = storeOf({ foldSummary: changing, ...ONE_ATTEMPT });
    stored = { content: '{"types":["x"]}', version: 5 };
    await store.append(KEY, [{ type: "a" }]);
    server.faults = [{ lost: "before" }];
    await expect(store.append(KEY, [{ type: "b" }])).rejects.toThrow();
    await store.append(KEY, [{ type: "c" }]);
    expect(stored.content).toBe('{"types":["x","a","c"]}');
  });

  it("of a session without one is made of its transcript", async () => {
    const data = (type: string) => new TextEncoder().encode(JSON.stringify({ type }));
    const entries = [
      { seq: 1, at_ms: 1, data: data("a") },
      { seq: 2, at_ms: 1, data: data("b") },
    ];
    server.answers.set("/v1/sessions/load", () => ({ entries, head: 2, more: false }));
    server.faults = [{ status: 404, code: "document_not_found" }];
    const store = storeOf({ foldSummary: fold });
    await store.append(KEY, [{ type: "c" }]);
    expect(stored?.content).toBe('{"types":["a","b","c"]}');
    expect(server.seen.at(-1)?.body["if_head"]).toBe(2);
  });

  it("is no matter of what is below a session", async () => {
    const store = storeOf({ foldSummary: fold });
    server.answers.set(APPEND, () => ({ head: 1, appended: 1 }));
    await store.append({ ...KEY, subpath: "subagents/agent-1" }, [{ type: "a" }]);
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]?.body).not.toHaveProperty("document");
  });
});
