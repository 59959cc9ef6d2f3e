/** Values of items from their exact JSON text: bytes as bytes, and whole numbers that no `number` holds as bigints. */

import { ProtocolError } from "../errors.js";
import { bytesOfBase64 } from "./base64.js";
import { BYTES, LIKE_A_TAG } from "./document_text.js";
import { textOf } from "./packing.js";
import { randomId } from "./random_id.js";

/** What becomes of whole numbers that JavaScript would write as another text than the one they are stored as. */
export type Integers = "bigint" | "number";

/** A text without these holds neither bytes nor what was escaped: nothing has to be looked at. */
const HAS_TAG = /threadkeep:|\\u00[2-7]/;
/** Fewer digits always fit. */
const HAS_LONG_NUMBER = /\d{16}/;
const QUOTE_OR_NUMBER = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;

/** The value of plain JSON text, in which nothing stands for bytes. */
export function plainJson(data: Uint8Array, integers: Integers): unknown {
  try {
    return parsed(textOf(data), integers, false);
  } catch (cause) {
    throw new ProtocolError("the answer is not JSON", { cause });
  }
}

/** The object of an item's text. */
export function documentOf(data: Uint8Array, integers: Integers): Record<string, unknown> {
  let found: unknown;
  try {
    found = parsed(textOf(data), integers, true);
  } catch (cause) {
    throw new ProtocolError("the answer's value is not JSON", { cause });
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    throw new ProtocolError("the answer's value is no object");
  }
  return found as Record<string, unknown>;
}

function parsed(text: string, integers: Integers, mayHaveTags: boolean): unknown {
  const hasLong = integers === "bigint" && HAS_LONG_NUMBER.test(text);
  // Made after the text was written, so no text can hold it.
  const mark = hasLong ? `${randomId()}:` : undefined;
  const found: unknown = JSON.parse(mark ? marked(text, mark) : text);
  const hasTags = mayHaveTags && HAS_TAG.test(text);
  if (!mark && !hasTags) return found;
  // The value itself is never bytes, so nothing of it was escaped.
  return typeof found === "object" && found !== null
    ? entriesRevived(found, { mark, hasTags })
    : integerOf(found, mark);
}

/** The text with its long whole numbers as marked strings. */
function marked(text: string, mark: string): string {
  let made = "";
  let done = 0;
  let at = 0;
  for (;;) {
    QUOTE_OR_NUMBER.lastIndex = at;
    const next = QUOTE_OR_NUMBER.exec(text);
    if (!next) return made + text.slice(done);
    const [token] = next;
    at = token === '"' ? endOfString(text, next.index) : next.index + token.length;
    if (LONG_INTEGER.test(token) && String(Number(token)) !== token) {
      made += `${text.slice(done, next.index)}"${mark}${token}"`;
      done = at;
    }
  }
}

/** The place behind the string that begins here. */
export function endOfString(text: string, begin: number): number {
  for (let at = begin; ; ) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return text.length;
    let escapes = 0;
    while (text[at - 1 - escapes] === "\\") escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
}

/** What the text holds that `JSON.parse` does not know. */
interface Meant {
  /** Before each long whole number. */
  mark: string | undefined;
  hasTags: boolean;
}

function integerOf(value: unknown, mark: string | undefined): unknown {
  const isMarked = mark !== undefined && typeof value === "string" && value.startsWith(mark);
  return isMarked ? BigInt(value.slice(mark.length)) : value;
}

function revived(value: unknown, meant: Meant): unknown {
  if (typeof value !== "object" || value === null) return integerOf(value, meant.mark);
  if (!meant.hasTags) return entriesRevived(value, meant);
  const names = Object.keys(value);
  const [name] = names;
  if (!Array.isArray(value) && names.length === 1 && name !== undefined && LIKE_A_TAG.test(name)) {
    const inner = (value as Record<string, unknown>)[name];
    if (name.startsWith("$$")) return { [name.slice(1)]: revived(inner, meant) };
    const bytes = name === BYTES && typeof inner === "string" ? bytesOfBase64(inner) : undefined;
    if (bytes) return bytes;
  }
  return entriesRevived(value, meant);
}

/** The same object, its entries replaced. */
function entriesRevived(value: object, meant: Meant): object {
  const entries = value as Record<string, unknown>;
  for (const name of Object.keys(entries)) {
    const entry = entries[name];
    const replaced = revived(entry, meant);
    if (replaced !== entry) entries[name] = replaced;
  }
  return value;
}
