/** A subject as one legal namespace label: the same rule as in the server and in every client. */

import { wellFormed } from "./wire/packing.js";

/**
 * Characters outside `[A-Za-z0-9_@+:-]` become `~` and two hex digits per UTF-8 byte. No two subjects have the same label.
 */
export function label(subject: string): string {
  const bytes = new TextEncoder().encode(wellFormed(subject, "subject"));
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9_@+:-]/.test(character)
      ? character
      : `~${byte.toString(16).padStart(2, "0")}`;
  }).join("");
}
