/** Keys, pages and transcripts of sessions, and what a snapshot sums up to. */

import fc from "fast-check";
import type { Identity, LoadOptions, SessionEntry, SessionPage } from "threadkeep";
import { describe, expect, it } from "vitest";
import { maySee } from "../src/api/grants.js";
import { rowsOf } from "../src/content/transcript.js";
import { jsonOfDocument } from "../src/nouns/sessions/document_json.js";
import {
  type EntriesPage,
  entriesPage,
  nextAsk,
  previousAsk,
} from "../src/nouns/sessions/entries.js";
import { keyOfText, keyText, sessionOfGrant } from "../src/nouns/sessions/session_key.js";
import { contentsText, sumsOf } from "../src/nouns/snapshots/contents.js";

function entry(seq: number, data: unknown): SessionEntry {
  return { seq, atMs: 0, data };
}

describe("a key as a text", () => {
  it("comes back", () => {
    const part = fc.oneof(fc.constantFrom("", "a/b", "%2F", "%", "\0", ".."), fc.string());
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (key) => {
        expect(keyOfText(keyText(key))).toEqual(key);
        expect(sessionOfGrant(`k:${keyText(key)}`)?.key ?? [""]).toEqual(key);
      }),
    );
  });

  it("is not what a grant of another form has", () => {
    expect(sessionOfGrant("claude:")).toBeUndefined();
    expect(sessionOfGrant("claude")).toBeUndefined();
    expect(sessionOfGrant(":a")).toBeUndefined();
  });
});

/** A stream as the server pages it. */
function loaderOf(seqs: readonly number[], pageMax = 10_000) {
  return async (asked: LoadOptions): Promise<SessionPage | undefined> => {
    const { afterSeq = 0, tail, limit = 10_000 } = asked;
    const head = seqs.at(-1) ?? 0;
    const max = Math.min(tail ?? limit, pageMax);
    const found = seqs.filter((seq) => seq > afterSeq);
    const taken = tail === undefined ? found.slice(0, max) : found.slice(-max);
    return {
      entries: taken.map((seq) => entry(seq, seq)),
      head,
      more: taken.length < found.length,
    };
  };
}

async function allPages(seqs: readonly number[], pageMax?: number): Promise<EntriesPage[]> {
  const load = loaderOf(seqs, pageMax);
  const pages = [await entriesPage(load, { at: "end" })];
  for (let rounds = 0; rounds < 100; rounds += 1) {
    const ask = previousAsk(pages[0] as EntriesPage);
    if (!ask) return pages;
    pages.unshift(await entriesPage(load, ask));
  }
  throw new Error("the beginning of the stream is not reached");
}

function numbersIn(pages: readonly EntriesPage[]): number[] {
  return pages.flatMap(({ entries }) => entries.map(({ seq }) => seq));
}

describe("pages of a stream", () => {
  it("begin with the newest entries and go back to the first", async () => {
    const seqs = Array.from({ length: 250 }, (_, at) => at + 1);
    const pages = await allPages(seqs);
    expect(pages.map(({ entries }) => entries.length)).toEqual([50, 100, 100]);
    expect(numbersIn(pages)).toEqual(seqs);
  });

  it("have each entry once, whatever gaps the numbers have", async () => {
    const gaps = fc.uniqueArray(fc.integer({ min: 1, max: 3_000 }), { maxLength: 400 });
    await fc.assert(
      fc.asyncProperty(gaps, fc.integer({ min: 1, max: 120 }), async (found, pageMax) => {
        const seqs = found.toSorted((one, other) => one - other);
        expect(numbersIn(await allPages(seqs, pageMax))).toEqual(seqs);
      }),
      { numRuns: 50 },
    );
  });

  it("go on behind the last one that is known", async () => {
    const first = await entriesPage(loaderOf([1, 2]), { at: "end" });
    expect([first.upTo, first.earlierThan]).toEqual([2, undefined]);
    const next = await entriesPage(loaderOf([1, 2, 5]), nextAsk(first));
    expect([numbersIn([next]), next.upTo]).toEqual([[5], 5]);
    const none = await entriesPage(async () => undefined, nextAsk(next));
    expect([numbersIn([none]), none.upTo]).toEqual([[], 5]);
  });
});

describe("a transcript of the Claude Agent SDK", () => {
  const use = { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } };
  const result = { type: "tool_result", tool_use_id: "t1", content: "a.txt", is_error: true };
  const lines = [
    entry(1, { type: "user", uuid: "u1", message: { role: "user", content: "List the files" } }),
    entry(2, {
      type: "assistant",
      message: { role: "assistant", content: [{ type: "text", text: "I look." }, use] },
    }),
    entry(3, { type: "user", message: { role: "user", content: [result] } }),
    entry(4, { type: "summary", summary: "Files" }),
  ];

  it("has calls with their results under them, and other entries in their place", () => {
    const rows = rowsOf(lines);
    expect(rows.map(({ key, shown }) => [key, shown?.message.role])).toEqual([
      ["1 0", "human"],
      ["2 0", "ai"],
      ["4", undefined],
    ]);
    const [call] = rows[1]?.shown?.calls ?? [];
    expect([call?.name, call?.args]).toEqual(["Bash", { command: "ls" }]);
    expect([call?.result?.isError, call?.result?.parts]).toEqual([
      true,
      [{ kind: "text", text: "a.txt" }],
    ]);
  });

  it("shows a result by itself where its call is not loaded", () => {
    const rows = rowsOf(lines.slice(2));
    expect(rows.map(({ key, shown }) => [key, shown?.message.role])).toEqual([
      ["3 0", "tool"],
      ["4", undefined],
    ]);
  });

  it("never fails, and has a row for each entry that is no result of a call", () => {
    const type = fc.constantFrom("user", "assistant", "tool_use", "tool_result", "text", 7, null);
    const block = fc.record({ type, id: fc.anything(), content: fc.anything() });
    const data = fc.oneof(
      fc.anything(),
      fc.record({
        type,
        message: fc.record({ content: fc.oneof(fc.anything(), fc.array(block)) }),
      }),
    );
    fc.assert(
      fc.property(fc.array(data), (list) => {
        const rows = rowsOf(list.map((one, at) => entry(at, one)));
        const keys = rows.map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
        expect(new Set(rows.map(({ seq }) => seq)).size).toBe(list.length);
      }),
    );
  });
});

it("a document is JSON where it is an object or a list", () => {
  expect(jsonOfDocument(' {"__proto__": 1}')).toEqual(JSON.parse('{"__proto__": 1}'));
  expect(jsonOfDocument("[1]")).toEqual([1]);
  for (const text of ["", "7", '"x"', "null", "[x](y)", "{a"])
    expect(jsonOfDocument(text)).toBeUndefined();
});

it("a section is hidden where no grant reads", () => {
  const grants = {
    sessions: [{ prefix: "claude:", actions: ["append" as const] }],
    snapshots: [{ owned: true, actions: ["read" as const] }],
  };
  const identity = { tenant: "acme", credential: "token", grants } as unknown as Identity;
  const seen = (["threads", "sessions", "snapshots"] as const).map((one) => maySee(identity, one));
  expect(seen).toEqual([false, false, true]);
  const reader = { ...identity, grants: { tenant: ["read"] } } as unknown as Identity;
  expect([maySee(reader, "threads"), maySee(reader, "sessions")]).toEqual([true, true]);
});

it("a snapshot is summed up by kind", () => {
  const thread = { threadId: "t", generation: undefined, history: "all" };
  const snapshot = {
    snapshotId: "s",
    createdAt: new Date(0),
    takenAt: new Date(0),
    labels: {},
    sizeBytes: 12,
    threads: [
      { ...thread, checkpoints: 2, sizeBytes: 5 },
      { ...thread, checkpoints: 1, sizeBytes: 4 },
    ],
    namespaces: [],
    sessions: [{ kind: "claude", key: ["a"], entries: 1, sizeBytes: 3 }],
  } as unknown as Parameters<typeof sumsOf>[0];
  expect(contentsText(snapshot)).toBe("2 threads, 1 session");
  expect(sumsOf(snapshot)).toEqual([
    { kind: "Threads", count: 2, holds: "3 checkpoints", sizeBytes: 9 },
    { kind: "Sessions", count: 1, holds: "1 entry", sizeBytes: 3 },
  ]);
});
