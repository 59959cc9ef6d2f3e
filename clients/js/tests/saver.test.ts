/** The edges of the contract that need no server: what is refused before anything is sent, what is left alone. */

import { beforeEach, describe, expect, it } from "vitest";
import { CodecError, InvalidError } from "../src/errors.js";
import { ThreadkeepSaver } from "../src/langgraph/index.js";
import { exact } from "../src/wire/packing.js";
import { FakeServer } from "./fake_server.js";
import { json } from "./values_made.js";

let server: FakeServer;
let saver: ThreadkeepSaver;

beforeEach(() => {
  server = new FakeServer();
  saver = new ThreadkeepSaver({ url: "http://server", fetch: server.fetch });
});

const metadata = { source: "loop", step: 1, parents: {} } as const;

function checkpoint(more: Record<string, unknown> = {}) {
  const made = {
    v: 4,
    id: "c1",
    ts: "",
    channel_values: {},
    channel_versions: {},
    versions_seen: {},
  };
  return { ...made, ...more };
}

function config(keys: Record<string, unknown>) {
  return { configurable: { thread_id: "t", ...keys } };
}

function view(thread: string, versions: Record<string, unknown>, tag: string) {
  return {
    thread_id: thread,
    checkpoint_ns: "",
    checkpoint_id: "c1",
    skeleton: exact({ v: 4, id: "c1", ts: "", channel_versions: versions }, "skeleton"),
    metadata: exact(metadata, "metadata"),
    values: [{ channel: "a", tag, data: json("x") }],
    writes: [],
    pending_sends: [],
    bases: [],
  };
}

describe("what could not come back as it was", () => {
  it.each([
    ["thread_id", () => saver.put(config({ thread_id: "\ud800" }), checkpoint(), metadata, {})],
    ["thread_id", () => saver.put(config({ thread_id: "" }), checkpoint(), metadata, {})],
    ["thread_id", () => saver.put(config({ thread_id: {} }), checkpoint(), metadata, {})],
    [
      "checkpoint_ns",
      () => saver.put(config({ checkpoint_ns: "a\udfff" }), checkpoint(), metadata, {}),
    ],
    ["checkpoint.id", () => saver.put(config({}), checkpoint({ id: "\ud800" }), metadata, {})],
    [
      "checkpoint",
      () => saver.put(config({}), checkpoint({ versions_seen: { a: 1n } }), metadata, {}),
    ],
    ["newVersions", () => saver.put(config({}), checkpoint(), metadata, { a: Number.NaN })],
    ["channel", () => saver.put(config({}), checkpoint(), metadata, { "\ud800": 1 })],
    ["task_id", () => saver.putWrites(config({ checkpoint_id: "c" }), [["a", 1]], "\ud800")],
    [
      "task_path",
      () => saver.putWrites(config({ checkpoint_id: "c" }), [["a", 1]], "task", "\ud800"),
    ],
    ["checkpoint_id", () => saver.putWrites(config({}), [["a", 1]], "task")],
    ["thread_id", () => saver.putWrites({}, [["a", 1]], "task")],
    ["checkpoint_id", () => saver.putWrites(config({}), [], "task")],
    ["thread_id", () => saver.put({}, checkpoint(), metadata, {})],
    ["limit", () => saver.list(config({}), { limit: -1 }).next()],
    ["filter", () => saver.list(config({}), { filter: { a: 1n } }).next()],
    ["thread_id", () => saver.deleteThread("\ud800")],
    ["threadIds", () => saver.prune("t" as unknown as string[])],
    ["strategy", () => saver.prune(["t"], { strategy: "x" as "delete" })],
    ["olderThan", () => saver.prune(["t"], { olderThan: new Date(Number.NaN) })],
    ["runIds", () => saver.deleteForRuns("r" as unknown as string[])],
  ])("is refused by its name, %s, and not sent", async (field, work) => {
    await expect(work()).rejects.toThrow(InvalidError);
    await expect(work()).rejects.toMatchObject({ field });
    expect(server.seen).toEqual([]);
  });
});

describe("a call that has nothing to ask", () => {
  it("asks nobody", async () => {
    expect(await saver.getTuple({ configurable: {} })).toBeUndefined();
    expect(await saver.getTuple({})).toBeUndefined();
    await saver.putWrites(config({ checkpoint_id: "c" }), [], "task");
    await saver.deleteForRuns([]);
    expect(await saver.prune([], { dryRun: true })).toMatchObject({ dryRun: true, threads: [] });
    expect(await saver.getDeltaChannelHistory({ config: config({}), channels: [] })).toEqual({});
    expect((await saver.list(config({}), { limit: 0 }).next()).done).toBe(true);
    expect(server.seen).toEqual([]);
  });
});

describe("a channel whose name is special to JavaScript", () => {
  it("is a channel like any other", async () => {
    const values = Object.fromEntries([
      ["__proto__", "mine"],
      ["constructor", 1],
    ]);
    const versions = Object.fromEntries([
      ["__proto__", 1],
      ["constructor", 1],
    ]);
    const made = checkpoint({ channel_values: values, channel_versions: versions });
    await saver.put(config({ thread_id: "__proto__" }), made, metadata, versions);
    await saver.put(config({}), checkpoint(), metadata, { constructor: 1 } as never);
    const [first, second] = server.commits().flat();
    expect(first).toMatchObject({
      checkpoint: { values: [{ channel: "__proto__" }, { tag: "json" }] },
    });
    expect(second).toMatchObject({ checkpoint: { values: [{ tag: "empty" }] } });
    const found = {
      ...view("t", {}, "json"),
      values: [{ channel: "__proto__", tag: "json", data: json("x") }],
    };
    server.answers.set("/v1/checkpoints/get", () => ({
      chain: [],
      history_channels: [],
      checkpoint: found,
    }));
    const tuple = await saver.getTuple(config({}));
    expect(Object.entries(tuple?.checkpoint.channel_values ?? {})).toEqual([["__proto__", "x"]]);
  });
});

describe("a thread of another language", () => {
  const python = { a: "00000000000000000000000000000003.0.8813542072" };

  it.each([
    ["codec", view("t", { a: 1 }, "msgpack")],
    ["kind of versions", view("t", python, "json")],
  ])("told by its %s is an error when it is named", async (_, found) => {
    server.answers.set("/v1/checkpoints/get", () => ({
      chain: [],
      history_channels: [],
      checkpoint: found,
    }));
    server.answers.set("/v1/checkpoints/list", () => ({
      checkpoints: [found],
      chain: [],
      history_channels: [],
    }));
    await expect(saver.getTuple(config({}))).rejects.toThrow(CodecError);
    await expect(saver.list(config({})).next()).rejects.toThrow(CodecError);
    expect(saver.foreignSkipped).toBe(0);
  });

  it("is left out of a list over all threads, and counted", async () => {
    const checkpoints = [
      view("p", python, "msgpack"),
      view("j", { a: 1 }, "json"),
      view("q", { a: 1 }, "msgpack"),
    ];
    server.answers.set("/v1/checkpoints/list", () => ({
      checkpoints,
      chain: [],
      history_channels: [],
    }));
    const found: unknown[] = [];
    for await (const tuple of saver.list({ configurable: {} }))
      found.push(tuple.config.configurable?.["thread_id"]);
    expect(found).toEqual(["j"]);
    expect(saver.foreignSkipped).toBe(2);
  });
});

describe("versions", () => {
  it("are small whole numbers that grow", () => {
    expect([saver.getNextVersion(undefined), saver.getNextVersion(7)]).toEqual([1, 8]);
    expect(() => saver.getNextVersion("1.0" as unknown as number)).toThrow(InvalidError);
  });
});

describe("the path of a task", () => {
  it("travels with its writes, and where there is none nothing does", async () => {
    const at = config({ checkpoint_id: "c" });
    await saver.putWrites(at, [["a", 1]], "one", "~__pregel_pull, one");
    await saver.putWrites(at, [["a", 2]], "two");
    const [first, second] = server.commits().flat() as { writes: Record<string, unknown> }[];
    expect(first?.writes["task_path"]).toBe("~__pregel_pull, one");
    expect(second?.writes).not.toHaveProperty("task_path");
  });
});

describe("a value that no serializer keeps", () => {
  const nothing: [string, unknown][] = [
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
  ];

  it.each(nothing)("%s: is absent of a checkpoint, as in memory", async (_, value) => {
    const made = checkpoint({ channel_values: { a: value, b: 1 } });
    await saver.put(config({}), made, metadata, { a: 1, b: 1 });
    const [op] = server.commits().flat() as { checkpoint: { values: object[] } }[];
    expect(op?.checkpoint.values).toMatchObject([
      { channel: "a", tag: "empty" },
      { channel: "b", tag: "json" },
    ]);
    expect(op?.checkpoint.values[0]).not.toHaveProperty("data");
  });

  it.each(nothing)("%s: is no write, and the others keep their positions", async (_, value) => {
    const at = config({ checkpoint_id: "c" });
    await saver.putWrites(at, [["a", value]], "nothing else");
    expect(server.seen).toHaveLength(0);
    await saver.putWrites(
      at,
      [
        ["a", value],
        ["b", 1],
      ],
      "task",
    );
    const [op] = server.commits().flat() as { writes: { writes: object[] } }[];
    expect(op?.writes.writes).toMatchObject([{ channel: "b", idx: 1 }]);
  });

  it("that an earlier version stored is absent, and the thread can be read", async () => {
    const stored = view("t", { a: 1, b: 1 }, "json");
    const gone = { tag: "json", data: new Uint8Array() };
    const found = { tag: "json", data: json(7) };
    const writes = [
      { task_id: "task", channel: "a", ...gone },
      { task_id: "task", channel: "b", ...found },
    ];
    server.answers.set("/v1/checkpoints/get", () => ({
      checkpoint: {
        ...stored,
        values: [
          { channel: "a", ...gone },
          { channel: "b", ...found },
        ],
        writes,
      },
      chain: [],
      history_channels: [],
    }));
    const tuple = await saver.getTuple(config({}));
    expect(tuple?.checkpoint.channel_values).toEqual({ b: 7 });
    expect(tuple?.pendingWrites).toEqual([["task", "b", 7]]);
    server.answers.set("/v1/checkpoints/history", () => ({
      checkpoint_id: "c1",
      parent_checkpoint_id: "c0",
      bases: [{ channel: "b", seed: gone, writes }],
      chain: [
        {
          checkpoint_id: "c0",
          parent_checkpoint_id: null,
          seeds: [{ channel: "a", ...gone }],
          writes,
        },
      ],
    }));
    const histories = await saver.getDeltaChannelHistory({
      config: config({ checkpoint_id: "c1" }),
      channels: ["a", "b"],
    });
    expect(histories).toEqual({ a: { writes: [] }, b: { writes: [["task", "b", 7]] } });
  });
});
