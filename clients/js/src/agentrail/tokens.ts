/** How Agentrail counts tokens, and what of a log a budget or a compaction takes. Arithmetic only. */

import type { Message } from "./contract.js";

export const BUDGET_TOKENS = 40_000;
export const TRIGGER_TOKENS = 60_000;
export const COMPACT_FRACTION = 1 / 3;
/** Fewer are never compacted. */
const COMPACT_MESSAGES_MIN = 6;
const IMAGE_TOKENS = 1_500;
const MESSAGE_TOKENS = 4;

/** A quarter for each ASCII character, one for each other code point, rounded up at the end. */
export function tokensOfText(text: string): number {
  let quarters = 0;
  for (const character of text) quarters += (character.codePointAt(0) ?? 0) <= 0x7f ? 1 : 4;
  return Math.ceil(quarters / 4);
}

/** Arguments of tool calls do not count. */
export function tokensOfMessage(message: Message): number {
  return tokensOfText(textOf(message)) + imagesIn(message) * IMAGE_TOKENS + MESSAGE_TOKENS;
}

export function tokensOfMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOfMessage(message), 0);
}

/** As many of the newest as fit, at least one: a contiguous end of the log, whatever it cuts through. */
export function withinBudget(messages: readonly Message[], tokenBudget: number): Message[] {
  let first = messages.length;
  for (let tokens = 0; first > 0; first -= 1) {
    tokens += tokensOfMessage(messages[first - 1] as Message);
    if (tokens > tokenBudget) break;
  }
  return messages.slice(Math.min(first, Math.max(0, messages.length - 1)));
}

export interface Split {
  /** How many messages, from the first on, are compacted. */
  count: number;
  /** Of all messages. */
  totalTokens: number;
}

/** Where to cut, undefined when there is no need. What is kept begins with no result of a tool whose call is cut off. */
export function splitOf(
  messages: readonly Message[],
  options: { triggerTokens: number; compactFraction: number; force: boolean },
): Split | undefined {
  if (messages.length < COMPACT_MESSAGES_MIN) return undefined;
  const totalTokens = tokensOfMessages(messages);
  if (!options.force && totalTokens <= options.triggerTokens) return undefined;
  const isResult = (at: number) => messages[at]?.role === "toolResult";
  let count = Math.max(1, Math.floor(messages.length * options.compactFraction));
  while (count < messages.length - 1 && isResult(count)) count += 1;
  while (count > 1 && isResult(count)) count -= 1;
  return { count, totalTokens };
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return content
    .map((block) => {
      if (block.type === "thinking") return block.thinking;
      return "text" in block ? block.text : "";
    })
    .join("");
}

function imagesIn({ role, content }: Message): number {
  if (role === "assistant" || typeof content === "string") return 0;
  return content.filter((block) => block.type === "image").length;
}
