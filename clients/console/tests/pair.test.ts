/** The two checkpoints of a difference: what their versions say, and their address. */

import { expect, it } from "vitest";
import { addressOf, routeOf, type ThreadRoute } from "../src/app/route.js";
import { channelsOf, diffRoute, sharesVersions, spotsOf } from "../src/nouns/checkpoints/pair.js";
import { savedText } from "../src/nouns/checkpoints/saved_text.js";
import type { Step } from "../src/nouns/checkpoints/skeleton.js";

function stepOf(versions: Record<string, unknown>): Step {
  return {
    ...{ key: "", ns: "", checkpointId: "c", parentId: undefined, createdAt: undefined },
    ...{ step: 1, source: undefined, agent: undefined, metadata: {}, versions },
  };
}

const HERE = { threadId: "a", ns: "", checkpointId: "1" };

it("an address names both checkpoints, and those of one thread stand in it once", () => {
  const later = { ...HERE, checkpointId: "2" };
  const other = { threadId: "b", ns: "tools:x", checkpointId: "3" };
  expect(addressOf(diffRoute(HERE, later))).toBe("#/threads/a/diff?from=1&to=2");
  for (const [before, after] of [
    [HERE, later],
    [HERE, other],
    [other, HERE],
  ] as const) {
    const route = routeOf(addressOf(diffRoute(before, after))) as ThreadRoute;
    expect(spotsOf(route)).toEqual([before, after]);
  }
  expect(spotsOf({ page: "thread", threadId: "a", tab: "diff", from: "1" })).toEqual([
    HERE,
    undefined,
  ]);
});

it("versions of one graph of one thread tell which values are equal", () => {
  expect(sharesVersions(HERE, { ...HERE, checkpointId: "2" })).toBe(true);
  const before = stepOf({ messages: 1, gone: 1, "branch:to:x": 1, files: 2 });
  const after = stepOf({ messages: 2, files: 2, "branch:to:x": 2, fresh: 1 });
  expect(channelsOf(before, after, true)).toEqual({
    toCompare: ["messages", "fresh", "gone"],
    unchanged: ["files"],
  });
});

it("versions of two threads or two graphs tell nothing, so every value is compared", () => {
  expect(sharesVersions(HERE, { ...HERE, threadId: "b" })).toBe(false);
  expect(sharesVersions(HERE, { ...HERE, ns: "tools:x" })).toBe(false);
  const [before, after] = [stepOf({ messages: 2, gone: 1 }), stepOf({ messages: 2, __start__: 1 })];
  expect(channelsOf(before, after, false)).toEqual({
    toCompare: ["messages", "gone"],
    unchanged: [],
  });
});

it("what sharing saves is said in percent, also where it costs", () => {
  expect([0.987, 0, -0.25, 0.001].map(savedText)).toEqual([
    "99% less",
    "about the same",
    "25% more",
    "about the same",
  ]);
});
