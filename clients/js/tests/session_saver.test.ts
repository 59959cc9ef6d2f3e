/** A checkpointer over a log of entries: which of them count. What the published suite asks is tested with that suite. */

import { type Checkpoint, MemorySaver } from "@langchain/langgraph-checkpoint";
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

it("orders writes by path, task and position, strings by code point", async () => {
  await put("c0", {});
  const at = { configurable: { ...AT.configurable, checkpoint_id: "c0" } };
  // UTF-16 has the halves of U+1F600 before U+FB00; code points, and bytes of UTF-8, have it behind.
  const tasks: [string, string][] = [
    ["t1", "~b"],
    ["t2", "~\u{1f600}"],
    ["t4", "~\ufb00"],
    ["t3", "~\ufb00"],
    ["t9", "~a"],
    ["t5", ""],
    ["t6", "~\u{1f600}, x"],
  ];
  for (const [task, path] of tasks) {
    await saver.putWrites(
      at,
      [
        ["a", task],
        ["b", task],
      ],
      task,
      path,
    );
  }
  const ordered = ["t5", "t9", "t1", "t3", "t4", "t2", "t6"];
  const found = await saver.getTuple(THREAD);
  expect(found?.pendingWrites?.map(([task, channel]) => `${task} ${channel}`)).toEqual(
    ordered.flatMap((task) => [`${task} a`, `${task} b`]),
  );
  const made = checkpoint("c1", {});
  await saver.put(at, made, { source: "loop", step: 2, parents: {} }, {});
  const { a } = await saver.getDeltaChannelHistory({ config: AT, channels: ["a"] });
  expect(a?.writes.map(([task]) => task)).toEqual(ordered);
});

it("a history without a checkpoint id is what MemorySaver of this LangGraph has", async () => {
  const memory = new MemorySaver();
  const histories: unknown[] = [];
  for (const one of [memory, saver]) {
    const metadata = { source: "loop" as const, step: 1, parents: {} };
    await one.put(THREAD, checkpoint("c0", {}), metadata, {});
    const at = { configurable: { ...AT.configurable, checkpoint_id: "c0" } };
    await one.putWrites(at, [["a", 1]], "task");
    await one.put(at, checkpoint("c1", {}), metadata, {});
    for (const config of [{ configurable: { thread_id: "t", checkpoint_ns: "" } }, AT]) {
      histories.push(await one.getDeltaChannelHistory({ config, channels: ["a"] }));
    }
  }
  expect(histories.slice(2)).toEqual(histories.slice(0, 2));
  expect(histories[3]).toEqual({ a: { writes: [["task", "a", 1]] } });
});

it("values that no serializer keeps are absent, also where an earlier version stored them", async () => {
  await put("c1", { a: () => 1, b: 2 });
  await saver.putWrites(
    AT,
    [
      ["a", Symbol("s")],
      ["b", 3],
    ],
    "task",
  );
  const read = async () => {
    const found = await saver.getTuple(THREAD);
    return [found?.checkpoint.channel_values, found?.pendingWrites];
  };
  expect(await read()).toEqual([{ b: 2 }, [["task", "b", 3]]]);
  for (const entry of log) {
    const body = String(entry["body"]);
    entry["body"] = body.replace('["b","1","json","2"]', '["b","1","json",""]');
    entry["body"] = String(entry["body"]).replace('[1,"b","json","3"]', '[1,"b","json",""]');
  }
  expect(await read()).toEqual([{}, []]);
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
