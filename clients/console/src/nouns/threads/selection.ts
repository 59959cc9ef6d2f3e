/** The threads of a list that a person has selected. */

import type { Thread } from "threadkeep";

/** One snapshot, and one request, may name so many. */
export const SELECTED_MAX = 1_000;

export type Selection = ReadonlyMap<string, Thread>;

/** With the thread, or without it where it was selected. One that is one too many is left out. */
export function toggled(selection: Selection, thread: Thread): Selection {
  const next = new Map(selection);
  if (!next.delete(thread.threadId) && next.size < SELECTED_MAX) next.set(thread.threadId, thread);
  return next;
}

/** With all of these, as long as there is room. */
export function withAll(selection: Selection, threads: readonly Thread[]): Selection {
  const next = new Map(selection);
  for (const thread of threads) {
    if (next.size < SELECTED_MAX || next.has(thread.threadId)) next.set(thread.threadId, thread);
  }
  return next;
}

/** What is selected of the threads that the list has now, as they are there. What is gone is not selected any more. */
export function present(selection: Selection, threads: readonly Thread[]): Thread[] {
  return threads.filter(({ threadId }) => selection.has(threadId));
}
