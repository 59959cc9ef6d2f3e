/** Forks and namespaces have lanes of their own. */

import { expect, it } from "vitest";
import { type Linked, lanesFrom } from "../src/nouns/checkpoints/lanes.js";
import { changedChannels } from "../src/nouns/checkpoints/skeleton.js";

const lanesOf = (rows: Linked[]) => lanesFrom(rows, []).lanes;
const row = (key: string, parent?: string) => ({ key, parent });

it("a line of checkpoints has one lane", () => {
  const lanes = lanesOf([row("c", "b"), row("b", "a"), row("a")]);
  expect(lanes.map(({ lane, hasParent }) => [lane, hasParent])).toEqual([
    [0, true],
    [0, true],
    [0, false],
  ]);
});

it("a fork has two lanes that meet", () => {
  const lanes = lanesOf([row("d", "b"), row("c", "b"), row("b", "a"), row("a")]);
  expect(lanes.map(({ lane, children }) => [lane, children])).toEqual([
    [0, 0],
    [1, 0],
    [0, 2],
    [0, 1],
  ]);
  expect(lanes[2]?.above).toEqual([
    { lane: 0, isOwn: true },
    { lane: 1, isOwn: true },
  ]);
});

it("a graph that was called has a lane beside its caller", () => {
  const lanes = lanesOf([
    row("c", "b"),
    row("inner 2", "inner 1"),
    row("inner 1"),
    row("b", "a"),
    row("a"),
  ]);
  expect(lanes.map(({ lane }) => lane)).toEqual([0, 1, 1, 0, 0]);
});

it("a page goes on with the lanes of the page before it, wherever it begins", () => {
  const rows = [
    row("f", "d"),
    row("e", "b"),
    row("inner 2", "inner 1"),
    row("d", "b"),
    row("inner 1"),
    row("b", "a"),
    row("a"),
  ];
  const whole = lanesFrom(rows, []);
  for (let end = 0; end <= rows.length; end += 1) {
    const first = lanesFrom(rows.slice(0, end), []);
    const second = lanesFrom(rows.slice(end), first.open);
    expect([...first.lanes, ...second.lanes]).toEqual(whole.lanes);
  }
  expect(whole.lanes[5]).toMatchObject({ lane: 0, children: 2 });
});

it("channels of the graph's own come last", () => {
  expect(
    changedChannels(
      { "branch:to:x": 2, messages: 2, files: 1 },
      { messages: 1, files: 1, gone: 1 },
    ),
  ).toEqual(["messages", "gone", "branch:to:x"]);
});
