/** The message that stands for compacted ones, and the note of it: texts that Agentrail's own readers take apart. */

import type { Message, UserMessage } from "./contract.js";

export const PLACEHOLDER_PREFIX = "[Conversation compacted at ";
const ARCHIVE_ID = /Archive ID:\s*([0-9]{4,})/i;

export interface Compaction {
  /** Digits, at least four. */
  archiveId: string;
  summary: string;
  count: number;
  /** Estimated, of what is compacted. */
  tokens: number;
  now: Date;
  workspaceSnapshot: string | undefined;
}

export function placeholderOf(compaction: Compaction): UserMessage {
  const { archiveId, summary, count, tokens, now } = compaction;
  const snapshot = compaction.workspaceSnapshot?.trim();
  const lines = [
    `${PLACEHOLDER_PREFIX}${now.toISOString()}. Full history preserved in ${pathOf(archiveId)}.`,
    `Archive ID: ${archiveId}`,
    `${count} messages (${tokens} tokens estimated) were compressed.`,
    "",
    "Summary of compressed conversation:",
    summary,
    ...(snapshot ? ["", "Sandbox workspace at time of compaction:", snapshot] : []),
    "]",
  ];
  return { role: "user", content: lines.join("\n"), timestamp: now.getTime() };
}

/** What is appended to the session's NOTES.md. */
export function noteOf({ archiveId, summary, count, now }: Compaction): string {
  const archived = `*(${count} messages compressed, full history in \`${pathOf(archiveId)}\`)*`;
  const heading = `## Compaction Summary [${now.toISOString()}]`;
  return ["", heading, "", archived, "", summary, ""].join("\n");
}

/** The archive that a placeholder stands for; undefined for every other message. */
export function archiveIdOf(message: Message): string | undefined {
  if (message.role !== "user" || typeof message.content !== "string") return undefined;
  if (!message.content.startsWith(PLACEHOLDER_PREFIX)) return undefined;
  return ARCHIVE_ID.exec(message.content)?.[1];
}

function pathOf(archiveId: string): string {
  return `messages.compactions/${archiveId}.jsonl`;
}
