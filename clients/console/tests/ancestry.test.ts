/** The steps that led to a checkpoint, and those of them that changed a channel. */

import type { TimelineNode } from "threadkeep";
import { expect, it } from "vitest";
import { changersOf, followParents } from "../src/nouns/checkpoints/ancestry.js";

function node(id: string, parent: string | undefined, changed?: string[]): TimelineNode {
  const counts = { sizeBytes: 1, writes: 0, interrupts: 0, error: false };
  return { checkpointNs: "", checkpointId: id, parentCheckpointId: parent, changed, ...counts };
}

it("other forks are passed over", () => {
  const nodes = [
    node("e", "b"),
    node("d", "c"),
    node("c", "b"),
    node("b", "a"),
    node("a", undefined),
  ];
  const idsOf = (from: string) => followParents(from, nodes).steps.map((one) => one.checkpointId);
  expect(idsOf("d")).toEqual(["d", "c", "b", "a"]);
  expect(idsOf("e")).toEqual(["e", "b", "a"]);
  expect(followParents("d", nodes).next).toBeUndefined();
});

it("a page tells where the line goes on", () => {
  const { steps, next } = followParents("d", [node("e", "c"), node("d", "b")]);
  expect([steps.length, next]).toEqual([1, "b"]);
  expect(followParents("b", [node("c", "a")])).toEqual({ steps: [], next: "b" });
});

it("a step changed a channel that it names, and perhaps one before which nothing is stored", () => {
  const nodes = [node("c", "b", ["messages"]), node("b", "a", ["files"]), node("a", "gone")];
  expect(changersOf("messages", nodes).map((one) => one.checkpointId)).toEqual(["c", "a"]);
  expect(changersOf("todos", nodes).map((one) => one.checkpointId)).toEqual(["a"]);
});
