/** Large values through a saver: what goes in parts, what happens when parts are gone, and who gives up. */

import { beforeEach, describe, expect, it } from "vitest";
import { PartsMissingError, ProtocolError, TooLargeError, TransportError } from "../src/errors.js";
import { ThreadkeepSaver } from "../src/langgraph/index.js";
import { FakeServer } from "./fake_server.js";
import { json } from "./values_made.js";

const MIB = 1 << 20;
const config = { configurable: { thread_id: "t", checkpoint_id: "c" } };
const [PUT, GET] = ["/v1/checkpoints/parts/put", "/v1/checkpoints/parts/get"];

let server: FakeServer;

beforeEach(() => {
  server = new FakeServer();
});

function saver(options = {}): ThreadkeepSaver {
  return new ThreadkeepSaver({ url: "http://server", fetch: server.fetch, ...options });
}

function value(size: number, seed = 1): Uint8Array {
  const made = new Uint8Array(size);
  for (let at = 0; at < size; at += 1021) made[at] = (at * 31 + seed) & 255;
  made[size - 1] = seed;
  return made;
}

/** Compared as buffers: a matcher of lists is too slow for them. */
function isSame(one: unknown, other: Uint8Array): boolean {
  return one instanceof Uint8Array && Buffer.compare(one, other) === 0;
}

function sent(path: string) {
  return server.seen.filter((it) => it.path === path);
}

async function write(size: number, one = saver(), options = {}): Promise<void> {
  await one.putWrites({ ...config, ...options }, [["a", value(size)]], "task");
}

/** Answers reads of a checkpoint with these channels, the large ones in parts. */
function stored(values: Record<string, Uint8Array>): void {
  const view = () => ({
    thread_id: "t",
    checkpoint_ns: "",
    checkpoint_id: "c",
    skeleton: json({ v: 4, id: "c", channel_versions: {}, versions_seen: {} }),
    metadata: json({}),
    values: Object.entries(values).map(([channel, data]) => ({
      channel,
      tag: "bytes",
      data: data.length > 8 * MIB ? server.cut(data) : data,
    })),
    writes: [],
    pending_sends: [],
    bases: [],
  });
  const rest = { chain: [], history_channels: [] };
  server.answers.set("/v1/checkpoints/get", () => ({ checkpoint: view(), ...rest }));
  const page = () => ({ checkpoints: [view(), { ...view(), checkpoint_id: "b" }], ...rest });
  server.answers.set("/v1/checkpoints/list", page);
}

describe("a write", () => {
  it.each([8 * MIB + 1, 10 * MIB, 11 * MIB + 3])(
    "of %d bytes goes ahead in parts",
    async (size) => {
      await write(size);
      const parts = sent(PUT).map(({ body }) => body as { index: number; data: Uint8Array });
      expect(parts.map(({ index }) => index)).toEqual(parts.map((_, at) => at));
      expect(parts.slice(0, -1).every(({ data }) => data.length === 2 * MIB)).toBe(true);
      expect(isSame(server.joined.get("a"), value(size))).toBe(true);
      expect(server.seen.at(-1)?.path).toBe("/v1/checkpoints/commit");
    },
  );

  it("of eight mebibytes goes as ever", async () => {
    await write(8 * MIB);
    expect(server.seen.map(({ path }) => path)).toEqual(["/v1/checkpoints/commit"]);
  });

  it("of a large value again has no short form", async () => {
    const one = saver();
    await write(9 * MIB, one);
    await write(9 * MIB, one);
    expect(sent(PUT)).toHaveLength(10);
    expect(server.arrivedShort).toEqual([]);
  });

  it("of values that do not fit into one body puts the largest in parts", async () => {
    const writes = Array.from({ length: 10 }, (_, at): [string, Uint8Array] => {
      return [`c${at}`, value(7 * MIB + Math.floor((at * MIB) / 10), at)];
    });
    for (const differenceBytesMax of [0, 32 * MIB]) {
      server.joined.clear();
      await saver({ differenceBytesMax }).putWrites(config, writes, "task");
      expect([...server.joined.keys()]).toEqual(["c9"]);
    }
  });

  it.each([1, 2])("puts parts again that are lost, %d times", async (times) => {
    server.lostPuts = times;
    await write(9 * MIB);
    expect(sent(PUT)).toHaveLength(5 * (times + 1));
    expect(isSame(server.joined.get("a"), value(9 * MIB))).toBe(true);
  });

  it("fails where they are always lost", async () => {
    server.lostPuts = 100;
    await expect(write(9 * MIB)).rejects.toThrow(PartsMissingError);
    expect(server.commits()).toHaveLength(3);
  });

  it("over the limit is refused before anything is sent", async () => {
    const refused = write(256 * MIB + 1);
    await expect(refused).rejects.toThrow(TooLargeError);
    await expect(refused).rejects.toThrow(/"a" has 268435457 bytes.* 268435456 bytes/);
    expect(server.seen).toEqual([]);
  });

  it("that is given up sends no more parts", async () => {
    const controller = new AbortController();
    server.faults = [{}, {}, {}, { hangs: true }, { hangs: true }];
    const writing = write(20 * MIB, saver(), { signal: controller.signal });
    const outcome = writing.catch((error: unknown) => error);
    while (sent(PUT).length < 5) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort(new Error("no more"));
    expect(String(await outcome)).toContain("no more");
    expect(sent(PUT)).toHaveLength(5);
    expect(server.commits()).toEqual([]);
  });

  it("has one deadline with its parts", async () => {
    server.faults = [{}, {}, ...Array.from({ length: 9 }, () => ({ hangs: true }))];
    const begun = performance.now();
    await expect(write(9 * MIB, saver({ timeoutMs: 100 }))).rejects.toThrow(TransportError);
    // Four parts, two seconds each, as a body of their size has.
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(server.commits()).toEqual([]);
  }, 15_000);

  it("of two threads at once mixes no parts", async () => {
    const one = saver();
    await Promise.all(
      ["x", "y"].map((name, at) => {
        const configurable = { thread_id: name, checkpoint_id: "c" };
        return one.putWrites({ configurable }, [[name, value(11 * MIB, at)]], "task");
      }),
    );
    expect(isSame(server.joined.get("x"), value(11 * MIB, 0))).toBe(true);
    expect(isSame(server.joined.get("y"), value(11 * MIB, 1))).toBe(true);
  });
});

describe("a read", () => {
  it("asks for parts and puts them together", async () => {
    stored({ a: value(10 * MIB), b: value(100) });
    const tuple = await saver().getTuple(config);
    expect(server.seen[0]?.body["value_parts"]).toBe(true);
    expect(isSame(tuple?.checkpoint.channel_values["a"], value(10 * MIB))).toBe(true);
    expect(isSame(tuple?.checkpoint.channel_values["b"], value(100))).toBe(true);
    expect(sent(GET)).toHaveLength(4);
  });

  it("is made once more when parts are gone, then fails", async () => {
    stored({ a: value(9 * MIB) });
    server.lostGets = 1;
    await saver().getTuple(config);
    expect(sent("/v1/checkpoints/get")).toHaveLength(2);
    server.lostGets = 100;
    await expect(saver().getTuple(config)).rejects.toThrow(PartsMissingError);
    expect(sent("/v1/checkpoints/get")).toHaveLength(4);
  });

  it("of a list fetches a value once, and only for what is taken", async () => {
    stored({ a: value(9 * MIB) });
    const list = saver().list({ configurable: { thread_id: "t" } });
    const ids: unknown[] = [];
    for await (const tuple of list) {
      expect(isSame(tuple.checkpoint.channel_values["a"], value(9 * MIB))).toBe(true);
      ids.push(tuple.config.configurable?.["checkpoint_id"]);
    }
    expect(ids).toEqual(["c", "b"]);
    expect(sent(GET)).toHaveLength(3);
  });

  it("of a list leaves out what is pruned meanwhile", async () => {
    stored({ a: value(9 * MIB) });
    server.answers.set("/v1/checkpoints/get", () => ({ chain: [], history_channels: [] }));
    server.lostGets = 2;
    const ids: unknown[] = [];
    for await (const tuple of saver().list({ configurable: { thread_id: "t" } })) {
      ids.push(tuple.config.configurable?.["checkpoint_id"]);
    }
    expect(ids).toEqual(["b"]);
  });

  it("of a history fetches seeds and writes", async () => {
    const large = value(9 * MIB);
    server.answers.set("/v1/checkpoints/history", () => ({
      checkpoint_id: "c",
      parent_checkpoint_id: "b",
      bases: [],
      chain: [
        {
          checkpoint_id: "b",
          seeds: [{ channel: "log", tag: "bytes", data: server.cut(large) }],
          writes: [{ task_id: "1", channel: "log", tag: "bytes", data: server.cut(large) }],
        },
      ],
    }));
    const { log } = await saver().getDeltaChannelHistory({ config, channels: ["log"] });
    expect(isSame(log?.seed, large)).toBe(true);
    expect(isSame(log?.writes[0]?.[2], large)).toBe(true);
    expect(sent(GET)).toHaveLength(3);
  });

  it.each([0, 10 * MIB])("of parts of another length (%d) is a protocol error", async (size) => {
    stored({ a: value(9 * MIB) });
    server.answers.set(GET as string, () => ({ data: new Uint8Array(size) }));
    await expect(saver().getTuple(config)).rejects.toThrow(ProtocolError);
  });
});
