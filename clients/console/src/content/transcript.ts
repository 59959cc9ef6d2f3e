/** Entries of a stream for display: those of a Claude Agent SDK transcript, and messages of Agentrail, as messages; anything else as it is. */

import type { SessionEntry } from "threadkeep";
import { type Entry, joinResults } from "./conversation.js";
import { type Fields, isFields } from "./fields.js";
import { type Message, messageOf } from "./messages.js";
import { isMessage } from "./shapes.js";

export interface StreamRow {
  /** Stays the same while earlier and later entries are loaded. */
  key: string;
  seq: number;
  atMs: number;
  data: unknown;
  /** Absent: the entry is no message. */
  shown: Entry | undefined;
}

/** The rows of a part of a stream. The result of a call stands under it where both are loaded. */
export function rowsOf(entries: readonly SessionEntry[]): StreamRow[] {
  const rows: StreamRow[] = [];
  const messages: { message: Message; row: StreamRow }[] = [];
  for (const { seq, atMs, data } of entries) {
    const found = messagesIn(data);
    if (!found) rows.push({ key: `${seq}`, seq, atMs, data, shown: undefined });
    found?.forEach((message, part) => {
      const row = { key: `${seq} ${part}`, seq, atMs, data, shown: undefined };
      rows.push(row);
      messages.push({ message, row });
    });
  }
  for (const entry of joinResults(messages.map(({ message }) => message))) {
    const row = messages[entry.index]?.row;
    if (row) row.shown = entry;
  }
  const hidden = new Set(messages.filter(({ row }) => !row.shown).map(({ row }) => row));
  return rows.filter((row) => !hidden.has(row));
}

/** The messages of an entry: several where it has results of several tools. Undefined for another thing than a message. */
export function messagesIn(data: unknown): Message[] | undefined {
  if (!isFields(data)) return undefined;
  const { type, message } = data;
  const isTurn = type === "user" || type === "assistant";
  if (isTurn && isFields(message)) {
    const { content } = message;
    if (typeof content === "string" || Array.isArray(content)) {
      return messagesOfTurn(data, message, content);
    }
  }
  const ofAgentrail = agentrailMessage(data);
  if (ofAgentrail) return [ofAgentrail];
  return isMessage(data) ? [messageOf(data)] : undefined;
}

/** A message of Agentrail that has calls of tools, or is the result of one. */
function agentrailMessage(data: Fields): Message | undefined {
  const { role, content, usage } = data;
  if (role === "toolResult" && typeof data["toolCallId"] === "string") {
    const { toolCallId: callId, toolName: name, isError } = data;
    const status = isError === true ? "error" : "success";
    const tool = { type: "tool", tool_call_id: callId, name, content, status };
    return { ...messageOf(tool), raw: data };
  }
  if (role !== "assistant" || !Array.isArray(content) || !isFields(usage)) return undefined;
  const calls = content.filter((block) => isBlock(block, "toolCall"));
  const { inputTokens: input_tokens, outputTokens: output_tokens } = usage;
  const message = {
    type: "assistant",
    content: content.filter((block) => !isBlock(block, "toolCall")),
    tool_calls: calls.map(({ id, name, arguments: args }) => ({ id, name, args })),
    usage_metadata: { input_tokens, output_tokens },
  };
  return { ...messageOf(message), raw: data };
}

function messagesOfTurn(entry: Fields, turn: Fields, content: string | unknown[]): Message[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const calls = blocks.filter((block) => isBlock(block, "tool_use"));
  const results = blocks.filter((block) => isBlock(block, "tool_result"));
  const others = blocks.filter(
    (block) => !isBlock(block, "tool_use") && !isBlock(block, "tool_result"),
  );
  const spoken = messageOf({
    type: entry["type"],
    id: entry["uuid"],
    content: others,
    tool_calls: calls.map(({ id, name, input }) => ({ id, name, args: input })),
    usage_metadata: turn["usage"],
  });
  const isOnlyResults = results.length > 0 && others.length === 0 && calls.length === 0;
  const messages = isOnlyResults ? [] : [spoken];
  return [...messages, ...results.map(resultOf)].map((one) => ({ ...one, raw: entry }));
}

function resultOf({ tool_use_id: callId, content, is_error: isError }: Fields): Message {
  const status = isError === true ? "error" : "success";
  return messageOf({ type: "tool", tool_call_id: callId, content, status });
}

function isBlock(block: unknown, type: string): block is Fields {
  return isFields(block) && block["type"] === type;
}
