/** Values in their short forms, through a saver: what travels, and that nothing depends on it. */

import { beforeEach, describe, expect, it } from "vitest";
import { ConflictError } from "../src/errors.js";
import { ThreadkeepSaver } from "../src/langgraph/index.js";
import { Values } from "../src/langgraph/values.js";
import { exact } from "../src/wire/packing.js";
import { FakeServer, nameOf } from "./fake_server.js";
import { json, messages, noise } from "./values_made.js";

let server: FakeServer;
let saver: ThreadkeepSaver;

beforeEach(() => {
  server = new FakeServer();
  saver = new ThreadkeepSaver({ url: "http://server", fetch: server.fetch });
});

async function put(number: number, value: unknown, source = "loop"): Promise<void> {
  const checkpoint = {
    v: 4,
    id: `c${number}`,
    ts: "",
    channel_values: { messages: value },
    channel_versions: { messages: number },
    versions_seen: {},
  };
  const metadata = { source, step: number, parents: {} } as Parameters<typeof saver.put>[2];
  const config = { configurable: { thread_id: "t" } };
  await saver.put(config, checkpoint, metadata, source === "fork" ? {} : { messages: number });
}

function arrivedShort(): boolean[] {
  const arrived = server.arrivedShort;
  server.arrivedShort = [];
  return arrived;
}

/** An answer to `get` whose checkpoint has this in its one channel. */
function answerWith(data: unknown): unknown {
  return {
    generation: "g",
    chain: [],
    history_channels: [],
    checkpoint: {
      thread_id: "t",
      checkpoint_ns: "",
      checkpoint_id: "c1",
      skeleton: exact({ v: 4, id: "c1", ts: "", channel_versions: { messages: 1 } }, "skeleton"),
      metadata: exact({ source: "loop", step: 1, parents: {} }, "metadata"),
      values: [{ channel: "messages", tag: "json", data }],
      writes: [],
      pending_sends: [],
      bases: [],
    },
  };
}

async function read(): Promise<unknown> {
  const found = await saver.getTuple({ configurable: { thread_id: "t" } });
  return found?.checkpoint.channel_values["messages"];
}

function namesAsked(): string[] {
  const asked = (server.seen.at(-1)?.body["have_values"] ?? []) as Uint8Array[];
  return asked.map((name) => Buffer.from(name).toString("hex"));
}

describe("a value on its way out", () => {
  it("that grows travels as what was added", async () => {
    for (let number = 0; number < 10; number += 1) await put(number, messages(4 + number));
    expect(arrivedShort()).toEqual([false, ...Array(9).fill(true)]);
  });

  it("that repeats a list of another place finds it, and finds it there again", async () => {
    for (let number = 0; number < 4; number += 1) {
      await put(number, messages(10 + number));
      const sends = [0, 1, 2].map((tool) => ({ tool, messages: messages(10 + number) }));
      const config = { configurable: { thread_id: "t", checkpoint_id: `c${number}` } };
      await saver.putWrites(
        config,
        [
          ["__pregel_tasks", sends],
          ["note", "small"],
        ],
        "task",
      );
    }
    expect(arrivedShort()).toEqual([false, ...Array(7).fill(true)]);
  });

  it("that was sent before is one copy", async () => {
    await put(0, messages(10));
    await put(1, messages(10));
    const [, [op] = []] = server.commits();
    const value = op && "checkpoint" in op ? op.checkpoint.values[0] : undefined;
    expect(value?.data).toMatchObject({ ops: [{ copy: [0, json(messages(10)).length] }] });
  });

  it("that is small travels whole and is not remembered", async () => {
    await put(0, "x".repeat(400));
    await put(1, "x".repeat(401));
    expect(arrivedShort()).toEqual([]);
  });

  it("travels whole to a server that was started anew, once", async () => {
    await put(0, messages(4));
    server.values.clear();
    await put(1, messages(5));
    await put(2, messages(6));
    expect(arrivedShort()).toEqual([false, false, true]);
    expect(server.commits()).toHaveLength(4);
  });

  it("is refused to the caller when whole values do not mend it", async () => {
    await put(0, messages(4));
    server.faults = [1, 2].map(() => ({ status: 409, code: "resend_whole" }));
    await expect(put(1, messages(5))).rejects.toThrow(ConflictError);
    expect(server.commits()).toHaveLength(3);
  });

  it("is tried less and less with a server that never knows a base", async () => {
    for (let number = 0; number < 200; number += 1) {
      await put(number, messages(4 + (number % 5)));
      server.values.clear();
    }
    const refused = server.commits().length - 200;
    expect(refused).toBeGreaterThanOrEqual(3);
    expect(refused).toBeLessThanOrEqual(12);
  });

  it("travels whole when the saver is told to remember nothing", async () => {
    saver = new ThreadkeepSaver({
      url: "http://server",
      fetch: server.fetch,
      differenceBytesMax: 0,
    });
    for (let number = 0; number < 3; number += 1) await put(number, messages(4 + number));
    expect(arrivedShort()).toEqual([false, false, false]);
    server.answers.set("/v1/checkpoints/get", () => answerWith(json("v")));
    await read();
    expect(server.seen.at(-1)?.body).not.toHaveProperty("have_values");
  });

  it("that a fork carries is compared and not remembered", async () => {
    await put(0, messages(10), "fork");
    const [[op] = []] = server.commits();
    expect(op).toMatchObject({ checkpoint: { values: [], carried: [{ channel: "messages" }] } });
    server.answers.set("/v1/checkpoints/get", () => answerWith(json("v")));
    await read();
    expect(namesAsked()).toEqual([]);
  });

  it("stays what it was when the caller writes into his bytes afterwards", async () => {
    const mine = noise(2_000, 1);
    const before = nameOf(mine);
    let open = () => {};
    server.gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
    const first = put(0, "x");
    await settle();
    const second = put(1, mine);
    await settle();
    mine.fill(0);
    open();
    await Promise.all([first, second]);
    expect([...server.values.keys()]).toEqual([before]);
  });
});

describe("a value on its way in", () => {
  const [old, grown] = [json(messages(10)), json(messages(11))];

  it("that is held comes by its name, and each read makes objects of its own", async () => {
    server.answers.set("/v1/checkpoints/get", () => answerWith(old));
    const first = await read();
    expect(namesAsked()).toEqual([]);
    server.answers.set("/v1/checkpoints/get", () => {
      return answerWith({ same: Buffer.from(nameOf(old), "hex") });
    });
    const second = await read();
    expect(namesAsked()).toEqual([nameOf(old).slice(0, 32)]);
    expect(second).toEqual(messages(10));
    expect(second).not.toBe(first);
  });

  it("comes as the difference to one that is held", async () => {
    await put(1, messages(10));
    server.answers.set("/v1/checkpoints/get", () => {
      return answerWith({
        base: Buffer.from(nameOf(old), "hex"),
        ops: [{ copy: [0, old.length - 1] }, { insert: grown.subarray(old.length - 1) }],
        sha256: Buffer.from(nameOf(grown), "hex"),
        length: grown.length,
      });
    });
    expect(await read()).toEqual(messages(11));
  });

  it.each([
    ["is not held", { same: new Uint8Array(32) }],
    [
      "has another digest",
      {
        base: Buffer.from(nameOf(old), "hex"),
        ops: [{ copy: [0, 9] }],
        sha256: new Uint8Array(32),
        length: 9,
      },
    ],
  ])("that %s is asked for whole", async (_, data) => {
    await put(1, messages(10));
    server.answers.set("/v1/checkpoints/get", (body) =>
      answerWith(body["have_values"] ? data : grown),
    );
    expect(await read()).toEqual(messages(11));
    expect(server.seen.at(-1)?.body).not.toHaveProperty("have_values");
  });
});

describe("what is remembered of values", () => {
  it("stays within its bytes, the thread used last longest", () => {
    const values = new Values(10_000);
    for (let number = 0; number < 50; number += 1) {
      const data = noise(1_000, number);
      values.keep(`thread ${number % 3}`, [{ place: `p${number % 7}`, name: nameOf(data), data }]);
      expect(values.sizeBytes).toBeLessThanOrEqual(10_000);
    }
    expect(values.sizeBytes).toBe(8 * 1_250);
    expect(values.latest("thread 1")[0]?.name).toBe(nameOf(noise(1_000, 49)));
    for (const thread of ["thread 0", "thread 1", "thread 2"]) values.forget(thread);
    expect(values.sizeBytes).toBe(0);
  });

  it("is named newest first, each value once, and of each place the value it has now", () => {
    const values = new Values(80_000);
    const kept: { place: string; name: string }[] = [];
    for (let number = 0; number < 300; number += 1) {
      // Some come again, at another place.
      const named = { place: `p${number % 9}`, name: nameOf(noise(32, (number * 7) % 90)) };
      kept.push(named);
      values.keep("t", [{ ...named, data: noise(750, 1) }]);
      const held = [...new Set([...kept].reverse().map(({ name }) => name))].slice(0, 80);
      expect(values.latest("t").map(({ name }) => name)).toEqual(held.slice(0, 64));
      const now = new Map(kept.slice(-9).map(({ place, name }) => [name, place]));
      const expected = held.filter((name) => now.has(name)).slice(0, 6);
      expect(values.latestOfPlaces("t", 6).map(({ name }) => name)).toEqual(expected);
    }
    const [newest] = values.latest("t");
    expect(newest?.prefix).toEqual(
      new Uint8Array(Buffer.from(newest?.name ?? "", "latin1")).slice(0, 16),
    );
  });

  it("holds no more of an answer than the value itself", () => {
    const values = new Values(10_000);
    const answer = noise(1_000_000, 1);
    values.keep("t", [{ place: "p", name: "n", data: answer.subarray(10, 1_010) }]);
    expect(values.get("t", "n")?.buffer.byteLength).toBe(1_000);
  });
});
