/** Reads the places of an answer that the server has cut: long texts, and lists and objects with many entries. */

import { type Fields, isFields } from "./fields.js";

/** A place that is shown in part. */
export interface Cut {
  /** Of a text its bytes of UTF-8, else those of the JSON text. */
  sizeBytes: number;
  /** How many entries a list or an object has. Absent for a text. */
  length: number | undefined;
  /** The first entry that `head` has. */
  from: number;
  head: unknown;
  /** Names the place for another request. Absent outside of the values of channels. */
  pointer: string | undefined;
}

/** The cut of a value of a cut answer. Values that are whole may look alike, so it is asked for cut answers only. */
export function cutOf(value: unknown): Cut | undefined {
  if (!isFields(value)) return undefined;
  const names = Object.keys(value);
  const inner = names.length === 1 && names[0] === "$cut" ? value["$cut"] : undefined;
  if (!isFields(inner)) return undefined;
  const { size_bytes: sizeBytes, length, from, head, pointer } = inner;
  return {
    sizeBytes: typeof sizeBytes === "number" ? sizeBytes : 0,
    length: typeof length === "number" ? length : undefined,
    from: typeof from === "number" ? from : 0,
    head,
    pointer: typeof pointer === "string" ? pointer : undefined,
  };
}

/** What is shown of a value: the head where it is cut. */
export function headOf(value: unknown): unknown {
  const cut = cutOf(value);
  return cut ? cut.head : value;
}

/** Part of a list: its entries, and where they stand. */
export interface ListWindow {
  items: unknown[];
  from: number;
  length: number;
}

/** What a cut answer shows of a list; undefined for another value. */
export function listWindowOf(value: unknown): ListWindow | undefined {
  if (Array.isArray(value)) return { items: value, from: 0, length: value.length };
  const cut = cutOf(value);
  if (!cut || !Array.isArray(cut.head)) return undefined;
  return { items: cut.head, from: cut.from, length: cut.length ?? cut.head.length };
}

/** What a cut answer shows of an object, and how many fields there are. */
export function fieldsWindowOf(value: unknown): { fields: Fields; length: number } | undefined {
  const head = headOf(value);
  if (!isFields(head)) return undefined;
  return { fields: head, length: cutOf(value)?.length ?? Object.keys(head).length };
}

/** Whether any place in a value of a cut answer is cut. */
export function hasCuts(value: unknown): boolean {
  if (cutOf(value)) return true;
  if (Array.isArray(value)) return value.some(hasCuts);
  return isFields(value) && Object.values(value).some(hasCuts);
}

/** Adds parts to a JSON Pointer (RFC 6901). */
export function pointerTo(...parts: readonly (string | number)[]): string {
  return parts
    .map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

/** How much of long values an answer has. */
export interface Heads {
  stringBytesMax: number;
  itemsMax: number;
}

const TEXT_BYTES = 2_048;
const LONG_TEXT_BYTES = 16_384;
/** What a view takes of one state, with both requests. */
const VIEW_BYTES_MAX = 180_000;
/** The name of a field, quotes and commas, about. */
const ENTRY_BYTES = 6;

/**
 * Reads a value with short heads, and once more with long ones where all of it stays small: a conversation with a few long answers comes
 * whole, and a state of many megabytes does not.
 */
export async function readCut<T>(read: (heads: Heads) => Promise<T>, itemsMax: number): Promise<T> {
  const short = await read({ stringBytesMax: TEXT_BYTES, itemsMax });
  const { shown, more } = sizesOf(short);
  const isAll = more === 0 || 2 * shown + more > VIEW_BYTES_MAX;
  return isAll ? short : await read({ stringBytesMax: LONG_TEXT_BYTES, itemsMax });
}

/** About how large a cut answer is, and how much longer its texts become with long heads. */
export function sizesOf(value: unknown): { shown: number; more: number } {
  if (typeof value === "string") return { shown: value.length + ENTRY_BYTES, more: 0 };
  const cut = cutOf(value);
  if (cut && typeof cut.head === "string") {
    const shown = cut.head.length + ENTRY_BYTES;
    return { shown, more: Math.max(0, Math.min(cut.sizeBytes, LONG_TEXT_BYTES) - TEXT_BYTES) };
  }
  const total = { shown: ENTRY_BYTES, more: 0 };
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return total;
  for (const [name, one] of Object.entries(value)) {
    const inside = sizesOf(one);
    total.shown += inside.shown + (Array.isArray(value) ? 1 : name.length + ENTRY_BYTES);
    total.more += inside.more;
  }
  return total;
}
