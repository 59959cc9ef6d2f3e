/** Messages of Agentrail as its runtime makes them. */

import type { Message, Usage } from "threadkeep/agentrail";

export const USAGE: Usage = {
  inputTokens: 100,
  outputTokens: 20,
  cacheReadTokens: 30,
  cacheWriteTokens: 10,
  totalTokens: 160,
  cost: { input: 0.1, output: 0.2, cacheRead: 0, cacheWrite: 0, total: 0.3 },
};

export function user(text: string): Message {
  return { role: "user", content: text, timestamp: 1_800_000_000_000 };
}

export function assistant(text: string, callId?: string): Message {
  const call = { type: "toolCall" as const, id: callId ?? "", name: "search", arguments: { q: 1 } };
  return {
    role: "assistant",
    content: [{ type: "text", text }, ...(callId ? [call] : [])],
    provider: "anthropic",
    modelId: "m",
    usage: USAGE,
    stopReason: callId ? "toolUse" : "stop",
    timestamp: 1_800_000_000_001,
  };
}

export function result(callId: string, text: string): Message {
  return {
    role: "toolResult",
    toolCallId: callId,
    toolName: "search",
    content: [{ type: "text", text }],
    isError: false,
    timestamp: 1_800_000_000_002,
  };
}

/** A conversation of so many turns, each with a call of a tool: four messages. */
export function turns(count: number, size = 40): Message[] {
  return Array.from({ length: count }, (_, turn) => [
    user(`question ${turn} ${"x".repeat(size)}`),
    assistant("looking", `call_${turn}`),
    result(`call_${turn}`, `found ${turn} ${"y".repeat(size)}`),
    assistant(`answer ${turn}`),
  ]).flat();
}

/** What tells messages apart in these tests. */
export function textOf(message: Message | undefined): string {
  if (!message) return "";
  const { content } = message;
  if (typeof content === "string") return content;
  return content.map((block) => ("text" in block ? block.text : "")).join("");
}
