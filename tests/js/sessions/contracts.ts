/**
 * The 14 contracts of session stores that the Claude Agent SDK publishes for Python, in TypeScript, and two more that it says in
 * words. Every store that is made must be empty: the keys are the same each time.
 */

import { foldSessionSummary, type SessionStore } from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, it } from "vitest";

type Store = Required<SessionStore>;
type Entry = Parameters<SessionStore["append"]>[1][number];

const KEY = { projectKey: "proj", sessionId: "sess" };
const SUB = { ...KEY, subpath: "subagents/agent-1" };

function entry(uuid: string, more: Record<string, unknown> = {}): Entry {
  return { type: "x", uuid, ...more };
}

/** A line of a user's, as it is summed up. */
function said(uuid: string, content: string): Entry {
  const message = { role: "user", content };
  return { type: "user", uuid, timestamp: "2026-01-01T00:00:00.000Z", message };
}

/** Describes the contracts. `emptyIsNull`: the store tells a transcript without entries from one that never was. */
export function sessionStoreContracts(
  makeStore: () => Store | Promise<Store>,
  { emptyIsNull = true }: { emptyIsNull?: boolean } = {},
): void {
  transcripts(makeStore, emptyIsNull);
  lists(makeStore);
  deletions(makeStore);
  summaries(makeStore);
}

function transcripts(makeStore: () => Store | Promise<Store>, emptyIsNull: boolean): void {
  describe("transcripts", () => {
    it("1: come back as they were appended, in order", async () => {
      const store = await makeStore();
      const nested = entry("b", { n: 1.5, deep: { list: [1, null, "ü", { a: [] }] }, no: null });
      const entries = [entry("a"), nested, { type: "without", text: "a uuid" }];
      await store.append(KEY, entries);
      expect(await store.load(KEY)).toEqual(entries);
    });

    it("2: are null when unknown, also below a known session", async () => {
      const store = await makeStore();
      expect(await store.load(KEY)).toBeNull();
      await store.append(KEY, [entry("a")]);
      expect(await store.load({ ...KEY, subpath: "nope" })).toBeNull();
    });

    it("3: grow in the order of the calls", async () => {
      const store = await makeStore();
      await store.append(KEY, [entry("z"), entry("a")]);
      await store.append(KEY, [entry("m")]);
      await store.append(KEY, [entry("b"), entry("y")]);
      expect((await store.load(KEY))?.map((it) => it.uuid)).toEqual(["z", "a", "m", "b", "y"]);
    });

    it("4: stay as they are when nothing is appended", async () => {
      const store = await makeStore();
      await store.append(KEY, [entry("a")]);
      await store.append(KEY, []);
      expect(await store.load(KEY)).toEqual([entry("a")]);
    });

    it("5: below a session are apart from it", async () => {
      const store = await makeStore();
      await store.append(KEY, [entry("main")]);
      await store.append(SUB, [entry("sub")]);
      expect(await store.load(KEY)).toEqual([entry("main")]);
      expect(await store.load(SUB)).toEqual([entry("sub")]);
    });

    it("6: of projects are apart", async () => {
      const store = await makeStore();
      await store.append({ ...KEY, projectKey: "A" }, [entry("a")]);
      await store.append({ ...KEY, projectKey: "B" }, [entry("b")]);
      expect(await store.load({ ...KEY, projectKey: "A" })).toEqual([entry("a")]);
      expect(await store.load({ ...KEY, projectKey: "B" })).toEqual([entry("b")]);
      expect(await store.listSessions("A")).toHaveLength(1);
      expect(await store.listSessions("B")).toHaveLength(1);
    });

    if (!emptyIsNull) return;

    it("of nothing at all are null", async () => {
      const store = await makeStore();
      await store.append(KEY, []);
      await store.append(SUB, []);
      expect(await store.load(KEY)).toBeNull();
      expect(await store.load(SUB)).toBeNull();
      expect(await store.listSessions("proj")).toEqual([]);
      expect(await store.listSubkeys(KEY)).toEqual([]);
    });
  });
}

function lists(makeStore: () => Store | Promise<Store>): void {
  describe("lists", () => {
    it("7: name the sessions of a project and when they were stored", async () => {
      const store = await makeStore();
      await store.append({ ...KEY, sessionId: "a" }, [entry("1")]);
      await store.append({ ...KEY, sessionId: "b" }, [entry("1")]);
      await store.append({ ...KEY, projectKey: "other", sessionId: "c" }, [entry("1")]);
      const found = await store.listSessions("proj");
      expect(found.map((it) => it.sessionId).sort()).toEqual(["a", "b"]);
      for (const { mtime } of found) {
        expect(Number.isInteger(mtime)).toBe(true);
        expect(mtime).toBeGreaterThan(1e12);
      }
      expect(await store.listSessions("unseen")).toEqual([]);
    });

    it("8: do not name what is below a session", async () => {
      const store = await makeStore();
      await store.append(KEY, [entry("1")]);
      await store.append(SUB, [entry("2")]);
      expect((await store.listSessions("proj")).map((it) => it.sessionId)).toEqual(["sess"]);
    });

    it("leave out a session that has nothing but what is below it", async () => {
      const store = await makeStore();
      await store.append({ ...SUB, sessionId: "only" }, [entry("1")]);
      expect(await store.listSessions("proj")).toEqual([]);
      expect(await store.listSubkeys({ ...KEY, sessionId: "only" })).toEqual([SUB.subpath]);
    });

    it("12: name what is below a session", async () => {
      const store = await makeStore();
      await store.append(KEY, [entry("1")]);
      await store.append(SUB, [entry("2")]);
      await store.append({ ...KEY, subpath: "subagents/agent-2" }, [entry("3")]);
      await store.append({ ...SUB, sessionId: "another" }, [entry("4")]);
      const found = await store.listSubkeys(KEY);
      expect(found.sort()).toEqual(["subagents/agent-1", "subagents/agent-2"]);
    });

    it("13: of what is below do not name the session itself", async () => {
      const store = await makeStore();
      await store.append(KEY, [entry("1")]);
      expect(await store.listSubkeys(KEY)).toEqual([]);
      expect(await store.listSubkeys({ ...KEY, sessionId: "unseen" })).toEqual([]);
    });
  });
}

function deletions(makeStore: () => Store | Promise<Store>): void {
  describe("deletions", () => {
    it("9: of what was never written are no error", async () => {
      const store = await makeStore();
      await store.delete(KEY);
      await store.delete(SUB);
      expect(await store.load(KEY)).toBeNull();
    });

    it("10: take what is below along, and nothing beside", async () => {
      const store = await makeStore();
      const [sibling, foreign] = [
        { ...KEY, sessionId: "sess2" },
        { ...KEY, projectKey: "proj2" },
      ];
      for (const key of [KEY, SUB, sibling, foreign]) await store.append(key, [entry("1")]);
      await store.delete(KEY);
      expect(await store.load(KEY)).toBeNull();
      expect(await store.load(SUB)).toBeNull();
      expect(await store.listSubkeys(KEY)).toEqual([]);
      expect(await store.load(sibling)).toEqual([entry("1")]);
      expect(await store.load(foreign)).toEqual([entry("1")]);
      expect((await store.listSessions("proj")).map((it) => it.sessionId)).toEqual(["sess2"]);
    });

    it("11: of one below leave the rest", async () => {
      const store = await makeStore();
      const other = { ...KEY, subpath: "subagents/agent-2" };
      for (const key of [KEY, SUB, other]) await store.append(key, [entry("1")]);
      await store.delete(SUB);
      expect(await store.load(SUB)).toBeNull();
      expect(await store.load(KEY)).toEqual([entry("1")]);
      expect(await store.listSubkeys(KEY)).toEqual([other.subpath]);
    });
  });
}

function summaries(makeStore: () => Store | Promise<Store>): void {
  describe("summaries", () => {
    it("14: are what the SDK folds, and as new as the list", async () => {
      const store = await makeStore();
      const [first, second] = [[said("1", "hello")], [said("2", "again"), entry("3")]];
      await store.append(KEY, first);
      await store.append(KEY, second);
      const [found, ...more] = await store.listSessionSummaries("proj");
      expect(more).toEqual([]);
      const once = foldSessionSummary(undefined, KEY, first);
      expect(found?.data).toEqual(foldSessionSummary(once, KEY, second).data);
      expect(found?.sessionId).toBe("sess");
      const [listed] = await store.listSessions("proj");
      expect(found?.mtime).toBeGreaterThanOrEqual(listed?.mtime ?? Number.NaN);
      await store.append(SUB, [said("4", "of a subagent")]);
      expect((await store.listSessionSummaries("proj"))[0]?.data).toEqual(found?.data);
      expect(await store.listSessionSummaries("unseen")).toEqual([]);
      await store.delete(KEY);
      expect(await store.listSessionSummaries("proj")).toEqual([]);
    });
  });
}
