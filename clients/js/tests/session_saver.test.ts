/** A checkpointer over a log of entries: which of them count. What the published suite asks is tested with that suite. */

import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { beforeEach, describe, expect, it } from "vitest";
import type { SessionStoreEntry } from "../src/claude/index.js";
import { sessionStoreCheckpointer } from "../src/computeragent/index.js";
import { CodecError, InvalidError } from "../src/errors.js";

const AT = { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: "c1" } };
const THREAD = { configurable: { thread_id: "t" } };
let log: SessionStoreEntry[];
const store = {
  append: async (_: object, entries: SessionStoreEntry[]) => {
    log.push(...structuredClone(entries));
  },
  load: async () => structuredClone(log),
};
const saver = sessionStoreCheckpointer(store, { sessionId: "s" });

beforeEach(() => {
  log = [];
});

function checkpoint(id: string, values: Record<string, unknown>): Checkpoint {
  const channel_versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
  return { v: 4, id, ts: "", channel_values: values, channel_versions, versions_seen: {} };
}

async function put(id: string, values: Record<string, unknown>, news = Object.keys(values)) {
  const made = checkpoint(id, values);
  const versions = Object.fromEntries(news.map((name) => [name, 1]));
  await saver.put(THREAD, made, { source: "loop", step: 1, parents: {} }, versions);
}

describe("of writes", () => {
  it("the first of a position counts, of a special one the last", async () => {
    await saver.putWrites(AT, [["a", 1]], "task");
    await saver.putWrites(
      AT,
      [
        ["a", 2],
        ["b", 3],
        ["__error__", "one"],
      ],
      "task",
    );
    await saver.putWrites(AT, [["__error__", "two"]], "task");
    await put("c1", {});
    const found = await saver.getTuple(THREAD);
    expect(found?.pendingWrites).toEqual([
      ["task", "__error__", "two"],
      ["task", "a", 1],
      ["task", "b", 3],
    ]);
  });
});

describe("of checkpoints", () => {
  it("the last of an id counts, and none that comes again", async () => {
    await put("c1", { a: "old" });
    const [old] = log;
    await put("c1", { a: "new" });
    log.push(structuredClone(old as SessionStoreEntry));
    expect((await saver.getTuple(THREAD))?.checkpoint.channel_values).toEqual({ a: "new" });
  });

  it("values count that some checkpoint of the thread brought, and not of one deleted since", async () => {
    await put("c1", { a: 1 });
    await put("c2", { a: 1, b: 2 }, ["b"]);
    expect((await saver.getTuple(THREAD))?.checkpoint.channel_values).toEqual({ a: 1, b: 2 });
    await saver.deleteThread("t");
    expect(await saver.getTuple(THREAD)).toBeUndefined();
    await put("c3", { a: 1 }, []);
    expect((await saver.getTuple(THREAD))?.checkpoint.channel_values).toEqual({});
  });

  it("one that is put as its own child keeps its parent", async () => {
    await put("c1", {});
    const made = checkpoint("c2", {});
    const metadata = { source: "loop" as const, step: 1, parents: {} };
    await saver.put(AT, made, metadata, {});
    const itself = { configurable: { ...AT.configurable, checkpoint_id: "c2" } };
    await saver.put(itself, made, metadata, {});
    const found = await saver.getTuple(THREAD);
    expect(found?.parentConfig?.configurable?.["checkpoint_id"]).toBe("c1");
  });
});

it("bytes of other codecs come back, and entries that were cut are an error", async () => {
  await put("c1", { bytes: new Uint8Array([0, 255, 7]) });
  const found = await saver.getTuple(THREAD);
  expect(found?.checkpoint.channel_values["bytes"]).toEqual(new Uint8Array([0, 255, 7]));
  delete log[0]?.["body"];
  await expect(saver.getTuple(THREAD)).rejects.toBeInstanceOf(CodecError);
});

it("lists by filter, before and limit, newest first", async () => {
  for (const id of ["c1", "c2", "c3"]) await put(id, {});
  const ids = async (options: object) => {
    const found: string[] = [];
    for await (const one of saver.list(THREAD, options)) found.push(one.checkpoint.id);
    return found;
  };
  expect(await ids({})).toEqual(["c3", "c2", "c1"]);
  expect(await ids({ limit: 2 })).toEqual(["c3", "c2"]);
  expect(await ids({ before: { configurable: { checkpoint_id: "c3" } } })).toEqual(["c2", "c1"]);
  expect(await ids({ filter: { step: 1, parents: {} } })).toHaveLength(3);
  expect(await ids({ filter: { step: 2 } })).toEqual([]);
});

it("a session must have a name", () => {
  expect(() => sessionStoreCheckpointer(store, { sessionId: "" })).toThrow(InvalidError);
});
