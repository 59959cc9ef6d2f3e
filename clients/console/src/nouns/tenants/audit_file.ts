/** Events of the audit log as files. Every text stands in them as the server answered it. */

import type { AuditEventText } from "threadkeep";

const COLUMNS = ["event_id", "at", "act", "actor", "object", "count", "details"] as const;

/** One event on a line, byte for byte. */
export function jsonLines(events: readonly AuditEventText[]): string {
  return events.map(({ text }) => `${text}\n`).join("");
}

/** RFC 4180. `details` are JSON text. */
export function csvText(events: readonly AuditEventText[]): string {
  const rows = events.map(({ eventId, at, act, actor = "", object = "", count, details }) => {
    return [eventId, at, act, actor, object, String(count), details];
  });
  return [COLUMNS, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
