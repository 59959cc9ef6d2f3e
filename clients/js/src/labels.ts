/** A subject as one legal namespace label: the same rules as in the server and in every client. */

import { wellFormed } from "./wire/packing.js";

/**
 * Characters outside `[A-Za-z0-9_@+-]` become `~` and two hex digits per UTF-8 byte. No two subjects have the same label. `:` is
 * escaped, because LangGraph.js refuses it in a label.
 */
export function label(subject: string): string {
  return escaped(subject, /[A-Za-z0-9_@+-]/);
}

/**
 * The former label of a subject, which leaves `:` as it is: what was kept under it stays there. The same as `label` for a subject
 * without a colon. A key or token of a subject reaches both.
 */
export function labelWithColons(subject: string): string {
  return escaped(subject, /[A-Za-z0-9_@+:-]/);
}

function escaped(subject: string, kept: RegExp): string {
  const bytes = new TextEncoder().encode(wellFormed(subject, "subject"));
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return kept.test(character) ? character : `~${byte.toString(16).padStart(2, "0")}`;
  }).join("");
}
