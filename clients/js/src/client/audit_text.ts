/** Events of the audit log as the JSON text that the server answers, for copies that are to be exact. */

import { ProtocolError } from "../errors.js";
import { jsonItems, jsonTextAt } from "../wire/json_text.js";

export interface AuditEventText {
  eventId: string;
  /** With microseconds. */
  at: string;
  act: string;
  count: number;
  actor?: string;
  object?: string;
  /** JSON text. */
  details: string;
  /** JSON text of the whole event. */
  text: string;
}

export interface AuditTextPage {
  events: AuditEventText[];
  nextCursor?: string;
}

export function auditTextPage(answer: string): AuditTextPage {
  const events = jsonItems(jsonTextAt(answer, ["events"]) ?? "").map(eventOf);
  const nextCursor = optional(answer, "next_cursor");
  return { events, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

function eventOf(text: string): AuditEventText {
  const [actor, object] = [optional(text, "actor"), optional(text, "object")];
  return {
    eventId: required(text, "event_id"),
    at: required(text, "at"),
    act: required(text, "act"),
    count: Number(jsonTextAt(text, ["count"]) ?? Number.NaN),
    ...(actor === undefined ? {} : { actor }),
    ...(object === undefined ? {} : { object }),
    details: jsonTextAt(text, ["details"]) ?? "{}",
    text,
  };
}

function required(text: string, name: string): string {
  const found = optional(text, name);
  if (found === undefined) throw new ProtocolError(`the answer has no ${name}`);
  return found;
}

function optional(text: string, name: string): string | undefined {
  const found: unknown = JSON.parse(jsonTextAt(text, [name]) ?? "null");
  return typeof found === "string" ? found : undefined;
}
