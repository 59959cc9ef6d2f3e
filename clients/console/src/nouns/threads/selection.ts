/** The threads of a list that a person has selected. */

import type { Thread } from "threadkeep";

/** One snapshot, and one request, may name so many. */
export const SELECTED_MAX = 1_000;

/** The ids of threads. */
export type Selection = ReadonlySet<string>;

/** With the thread, or without it where it was selected. One that is one too many is left out. */
export function toggled(selection: Selection, { threadId }: Thread): Selection {
  const next = new Set(selection);
  if (!next.delete(threadId) && next.size < SELECTED_MAX) next.add(threadId);
  return next;
}

/** With all of these, as long as there is room. */
export function withAll(selection: Selection, threads: readonly Thread[]): Selection {
  const next = new Set(selection);
  for (const { threadId } of threads) if (next.size < SELECTED_MAX) next.add(threadId);
  return next;
}

/** Returns the selected threads that the list still has, as it has them. */
export function present(selection: Selection, threads: readonly Thread[]): Thread[] {
  return threads.filter(({ threadId }) => selection.has(threadId));
}
