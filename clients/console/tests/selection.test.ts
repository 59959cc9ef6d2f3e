/** Threads that are selected in the list. */

import type { Thread } from "threadkeep";
import { expect, it } from "vitest";
import {
  present,
  SELECTED_MAX,
  type Selection,
  toggled,
  withAll,
} from "../src/nouns/threads/selection.js";

const threadOf = (threadId: string) => ({ threadId }) as Thread;
const NONE: Selection = new Set();

it("a thread is selected, and not any more the second time", () => {
  const once = toggled(NONE, threadOf("a"));
  expect([...once.keys()]).toEqual(["a"]);
  expect(toggled(once, threadOf("a")).size).toBe(0);
  expect(NONE.size).toBe(0);
});

it("one request names no more than the server takes", () => {
  const many = Array.from({ length: SELECTED_MAX + 5 }, (_, at) => threadOf(`t${at}`));
  const full = withAll(NONE, many);
  expect(full.size).toBe(SELECTED_MAX);
  expect(toggled(full, threadOf("other")).size).toBe(SELECTED_MAX);
  expect(toggled(full, threadOf("t0")).size).toBe(SELECTED_MAX - 1);
});

it("a thread that has gone from the list is not among those that are acted on", () => {
  const selection = withAll(NONE, [threadOf("a"), threadOf("gone")]);
  const fresh = { ...threadOf("a"), title: "new" } as Thread;
  expect(present(selection, [threadOf("b"), fresh])).toEqual([fresh]);
});
