/** A comparison of a snapshot with now says only what the server tells exactly. */

import type { Restored, Snapshot, Thread } from "threadkeep";
import { expect, it } from "vitest";
import { restoreLines, summaryOf, threadLines } from "../src/nouns/snapshots/since.js";

const TAKEN = new Date("2026-01-31T12:00:00.000Z");
const KEPT = { threadId: "a", generation: "g1", history: "all", checkpoints: 3, sizeBytes: 1 };

function changeOf(kept: object, now: object | undefined): string | undefined {
  const snapshot = { takenAt: TAKEN, threads: [{ ...KEPT, ...kept }] } as unknown as Snapshot;
  const thread = { threadId: "a", generation: "g1", checkpointCount: 3, stateUpdatedAt: TAKEN };
  const found = now === undefined ? [] : [{ ...thread, ...now } as unknown as Thread];
  return threadLines(snapshot, found)[0]?.change;
}

it("a thread is the same, was written to, was replaced, or is gone", () => {
  const later = new Date(TAKEN.getTime() + 1);
  expect(changeOf({}, {})).toBeUndefined();
  expect(changeOf({}, undefined)).toBe("gone, or not granted");
  expect(changeOf({}, { stateUpdatedAt: later, checkpointCount: 5 })).toBe(
    "changed since; 3 checkpoints then, 5 now",
  );
  // A write that was under way when the snapshot was taken.
  expect(changeOf({}, { checkpointCount: 4 })).toContain("changed since");
  expect(changeOf({}, { generation: "g2" })).toContain("replaced since");
  // A server of an earlier release tells no generation.
  expect(changeOf({ generation: undefined }, { generation: "g2" })).toBeUndefined();
});

it("the counts of a snapshot of newest states are not compared", () => {
  expect(changeOf({ history: "head", checkpoints: 1 }, { checkpointCount: 9 })).toBeUndefined();
  const later = new Date(TAKEN.getTime() + 1);
  expect(changeOf({ history: "head", checkpoints: 1 }, { stateUpdatedAt: later })).toBe(
    "changed since",
  );
});

it("items are counted by what became of them, and entries by how many there are", () => {
  const report = {
    namespaces: [
      { namespace: ["a"], into: ["a"], written: 2, unchanged: 5, removed: 1 },
      { namespace: [], into: [], written: 0, unchanged: 5, removed: 0 },
    ],
    sessions: [
      { kind: "k", key: ["x"], into: ["x"], entries: 3, replacedEntries: 3, created: false },
      { kind: "k", key: ["y"], into: ["y"], entries: 3, replacedEntries: 0, created: true },
    ],
  } as unknown as Restored;
  const lines = restoreLines(report);
  expect(lines.map(({ change }) => change)).toEqual([
    "2 items changed or gone, 1 new, 5 the same",
    undefined,
    // As many entries may be other ones.
    "3 entries then, 3 now",
    "gone",
  ]);
});

it("the sum counts what has changed", () => {
  const line = { id: "a", name: "a" };
  expect(
    summaryOf([
      { ...line, change: "gone" },
      { ...line, change: undefined },
    ]),
  ).toBe("1 thing changed or gone, 1 as in the snapshot.");
  expect(summaryOf([{ ...line, change: "3 entries then, 3 now", isOpen: true }])).toBe(
    "0 things changed or gone, 0 as in the snapshot; 1 session has as many entries as then.",
  );
});
