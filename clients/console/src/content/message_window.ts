/** Joins parts of a long list of messages as they are loaded, while the list goes on growing. */

import { messageOf } from "./messages.js";

/** Messages that follow each other. The first one is number `from` of `length`. */
export interface LoadedMessages {
  from: number;
  length: number;
  messages: readonly unknown[];
}

/**
 * What is known after the newest messages were read again. Earlier ones stay where both parts agree about those that are in both; else the
 * list has changed, and only the newest are known.
 */
export function withNewest(
  known: LoadedMessages | undefined,
  newest: LoadedMessages,
): LoadedMessages {
  if (!known || known.from >= newest.from) return newest;
  const end = known.from + known.messages.length;
  const common = Math.min(end, newest.from + newest.messages.length) - newest.from;
  if (common <= 0 || newest.length < known.length) return newest;
  const kept = newest.from - known.from;
  const isSame = newest.messages
    .slice(0, common)
    .every((one, at) => isSameMessage(one, known.messages[kept + at]));
  if (!isSame) return newest;
  const messages = [...known.messages.slice(0, kept), ...newest.messages];
  return { from: known.from, length: newest.length, messages };
}

/** What is known after a part before it was loaded. Parts that do not meet are not joined. */
export function withEarlier(known: LoadedMessages, earlier: LoadedMessages): LoadedMessages {
  const count = known.from - earlier.from;
  if (count <= 0 || earlier.messages.length < count) return known;
  return {
    from: earlier.from,
    length: known.length,
    messages: [...earlier.messages.slice(0, count), ...known.messages],
  };
}

/** By the ids; messages without ids by their roles. */
function isSameMessage(a: unknown, b: unknown): boolean {
  const [first, second] = [messageOf(a), messageOf(b)];
  return first.id === second.id && first.kind === second.kind;
}
