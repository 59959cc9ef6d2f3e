/** Turns bytes of a file into the text of a field and back, so that only what a person types is changed. */

import { textOfBytes } from "../../content/images.js";

/** A larger file is not edited in a page. */
export const EDIT_BYTES_MAX = 1_024 * 1_024;

export interface Editable {
  text: string;
  /** How the lines of the file end. A field of a page knows `\n` alone. */
  lineEnd: "\n" | "\r\n";
}

/** Undefined for bytes that a field would change by itself. */
export function editableOf(bytes: Uint8Array): Editable | undefined {
  if (bytes.length > EDIT_BYTES_MAX) return undefined;
  const text = textOfBytes(bytes);
  if (text === undefined || text.includes("\0")) return undefined;
  if (!text.includes("\r")) return { text, lineEnd: "\n" };
  const isWindows = !/\r(?!\n)|(?<!\r)\n/.test(text);
  return isWindows ? { text: text.replaceAll("\r\n", "\n"), lineEnd: "\r\n" } : undefined;
}

export function contentOf(text: string, lineEnd: Editable["lineEnd"]): string {
  return lineEnd === "\n" ? text : text.replaceAll("\n", lineEnd);
}
