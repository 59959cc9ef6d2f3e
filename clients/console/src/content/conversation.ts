/** A conversation as a person reads it: each tool call with its result under it. */

import { type Message, messageOf, type ToolCall } from "./messages.js";

export interface Call extends ToolCall {
  /** Absent while nothing has answered. */
  result: Message | undefined;
}

export interface Entry {
  /** Stays the same while the conversation grows. */
  key: string;
  /** Counted from 0, in the stored list. */
  index: number;
  message: Message;
  calls: Call[];
}

/** The entries of stored messages, of which the first is number `from` of the list. */
export function conversationOf(stored: readonly unknown[], from = 0): Entry[] {
  return joinResults(stored.map(messageOf), from);
}

/** Puts results under their calls. A result without its call stands by itself. */
export function joinResults(messages: readonly Message[], from = 0): Entry[] {
  const called = new Set(messages.flatMap(({ calls }) => calls.map(({ id }) => id)));
  const results = resultsOf(messages);
  return messages.flatMap((message, at) => {
    const index = from + at;
    const isShownAtCall = message.callId !== undefined && called.has(message.callId);
    if (isShownAtCall && results.get(message.callId) === message) return [];
    const calls = message.calls.map((call) => ({
      ...call,
      result: call.id === undefined ? undefined : results.get(call.id),
    }));
    return [{ key: `${index} ${message.id ?? ""}`, index, message, calls }];
  });
}

/** The first answer to each call; one that comes again stands by itself. */
function resultsOf(messages: readonly Message[]): Map<string | undefined, Message> {
  const results = new Map<string | undefined, Message>();
  for (const message of messages) {
    const { callId } = message;
    if (callId !== undefined && !results.has(callId)) results.set(callId, message);
  }
  return results;
}
