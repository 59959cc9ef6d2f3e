/** Delta histories: the walk through a chain, and when what was read of one may still be an answer. */

import { beforeEach, describe, expect, it } from "vitest";
import { ProtocolError } from "../src/errors.js";
import {
  type Chain,
  type ChannelHistory,
  chainOf,
  historyIn,
  keyOf,
  type Node,
  type Placed,
  type Target,
} from "../src/langgraph/history.js";
import { ANSWER_MS_MAX, Memory } from "../src/langgraph/memory.js";
import { json } from "./values_made.js";

const stored = (text: string) => ({ tag: "json", data: json(text) });
const write = (text: string) => ({ taskId: "task", ...stored(text) });

interface Given {
  writes?: string[];
  seed?: string;
  base?: ChannelHistory;
}

function node(id: string, parentId: string | undefined, given: Given): Placed<Node> {
  const { writes = [], seed, base } = given;
  const made: Node = {
    checkpointId: id,
    parentId,
    seeds: new Map(seed === undefined ? [] : [["log", stored(seed)]]),
    writes: new Map([["log", writes.map(write)]]),
    bases: new Map(base ? [["log", base]] : []),
  };
  return ["", id, made];
}

function target(parentId: string | undefined, base?: ChannelHistory): Target {
  return { parentId, bases: new Map(base ? [["log", base]] : []), channels: new Set(["log"]) };
}

/** The history of the child of `c3`, from nodes newest first. */
function walked(nodes: Placed<Node>[], of = target("c3")): unknown {
  const chain = chainOf(nodes, [["", "c4", of]]);
  const { seed, writes } = historyIn(chain, "", of, "log");
  const texts = writes.map(({ data }) => JSON.parse(new TextDecoder().decode(data)));
  return [seed && JSON.parse(new TextDecoder().decode(seed.data)), ...texts];
}

describe("a walk", () => {
  const base: ChannelHistory = { seed: stored("base"), writes: [write("b1"), write("b2")] };

  it("gives the writes oldest first, without a seed when there is none", () => {
    const nodes = [
      node("c3", "c2", { writes: ["3a", "3b"] }),
      node("c2", "gone", { writes: ["2"] }),
    ];
    expect(walked(nodes)).toEqual([undefined, "2", "3a", "3b"]);
    expect(walked([])).toEqual([undefined]);
    expect(walked(nodes, target(undefined))).toEqual([undefined]);
  });

  it("stops at a seed, with that checkpoint's own writes", () => {
    const nodes = [
      node("c3", "c2", { writes: ["3"] }),
      node("c2", "c1", { writes: ["2"], seed: "seed" }),
      node("c1", undefined, { writes: ["1"], seed: "older" }),
    ];
    expect(walked(nodes)).toEqual(["seed", "2", "3"]);
  });

  it("stops at a base, whose writes come before that checkpoint's own", () => {
    const nodes = [
      node("c3", "c2", { writes: ["3"] }),
      node("c2", undefined, { writes: ["2"], base }),
    ];
    expect(walked(nodes)).toEqual(["base", "b1", "b2", "2", "3"]);
    const unseeded = { seed: undefined, writes: base.writes };
    expect(walked([node("c3", undefined, { writes: ["3"], base: unseeded })])).toEqual([
      undefined,
      "b1",
      "b2",
      "3",
    ]);
  });

  it("is the base of the target alone where it has one", () => {
    expect(walked([node("c3", undefined, { writes: ["3"] })], target("c3", base))).toEqual([
      "base",
      "b1",
      "b2",
    ]);
  });

  it("that goes in a circle is an error", () => {
    const nodes = [node("c3", "c2", {}), node("c2", "c3", {})];
    expect(() => walked(nodes)).toThrow(ProtocolError);
  });
});

describe("what was read of a chain", () => {
  let now: number;
  let memory: Memory;
  let chain: Chain;
  const asked = (id = "c4") => memory.answer("t", keyOf("", id), ["log"]) !== undefined;
  const read = () => memory.keep("t", "", chain, memory.beginRead("t"));
  const touch = (id: string, isPut: boolean, thread = "t") =>
    memory.touch(thread, [{ key: keyOf("", id), isPut }]);

  beforeEach(() => {
    now = 1_000;
    memory = new Memory(10_000, () => now);
    const nodes = [node("c3", "c2", { writes: ["3"] }), node("c2", "c1", {})];
    chain = chainOf(nodes, [["", "c4", target("c3")]], "digest");
  });

  it("is an answer for its target and channels, and for nothing else", () => {
    expect(asked()).toBe(false);
    read();
    expect([asked(), asked("c3")]).toEqual([true, false]);
    expect(memory.answer("t", keyOf("ns", "c4"), ["log"])).toBeUndefined();
    expect(memory.answer("t", keyOf("", "c4"), ["log", "other"])).toBeUndefined();
    expect(memory.answer("u", keyOf("", "c4"), ["log"])).toBeUndefined();
  });

  it.each([
    ["c3", false, false],
    ["c2", true, false],
    // The parent of the oldest node: it may come to be.
    ["c1", true, false],
    ["c4", true, false],
    ["c4", false, true],
    ["c9", true, true],
  ])("when %s is written, put: %s, stays an answer: %s", (id, isPut, stays) => {
    read();
    touch(id, isPut, "other");
    expect(asked()).toBe(true);
    touch(id, isPut);
    expect(asked()).toBe(stays);
    expect(memory.offer("t", "")).toBe(chain);
  });

  it("while it was written is no answer", () => {
    const mark = memory.beginRead("t");
    touch("c3", false);
    memory.keep("t", "", chain, mark);
    expect([asked(), memory.offer("t", "")]).toEqual([false, chain]);
    const other = memory.beginRead("t");
    for (let number = 0; number < 300; number += 1) touch("c9", false);
    memory.keep("t", "", chain, other);
    expect(asked()).toBe(false);
    read();
    expect(asked()).toBe(true);
  });

  it("is no answer after a while, a deletion somewhere, a restore or a forgotten thread", () => {
    read();
    now += ANSWER_MS_MAX + 1;
    expect(asked()).toBe(false);
    for (const end of [
      () => memory.dropAllAnswers(),
      () => memory.learn("t", "h"),
      () => memory.dropAnswers("t"),
    ]) {
      memory.learn("t", "g");
      read();
      expect(asked()).toBe(true);
      end();
      expect(asked()).toBe(false);
    }
    const mark = memory.beginRead("t");
    memory.asked("t", ["log"]);
    memory.forget("t");
    expect([memory.offer("t", ""), memory.channels("t"), memory.generation("t")]).toEqual([
      undefined,
      ["log"],
      undefined,
    ]);
    memory.keep("t", "", chain, mark);
    expect(asked()).toBe(false);
  });

  it("stays within its bytes", () => {
    memory = new Memory(chain.sizeBytes * 3);
    for (let number = 0; number < 9; number += 1)
      memory.keep(`t${number}`, "", chain, memory.beginRead(`t${number}`));
    const kept = Array.from(
      { length: 9 },
      (_, number) => memory.offer(`t${number}`, "") !== undefined,
    );
    expect(kept.filter(Boolean)).toHaveLength(3);
    expect(kept.slice(6)).toEqual([true, true, true]);
    memory = new Memory(0);
    memory.keep("t", "", chain, memory.beginRead("t"));
    expect(memory.offer("t", "")).toBeUndefined();
  });
});
