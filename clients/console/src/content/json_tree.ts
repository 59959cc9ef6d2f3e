/** Chooses the entries and characters of a value that a JSON tree shows at one time. */

import { isFields } from "./fields.js";
import { opaqueOf } from "./shapes.js";

/** Entries of a list or an object that are added at one time. */
export const ENTRIES_SHOWN = 100;
/** Characters of a text in a tree, and after "show more". */
export const TEXT_SHOWN = 500;
export const TEXT_SHOWN_MAX = 16_384;
/** Deeper values are shown when they are opened. */
const SUMMARY_ENTRIES = 4;
const SUMMARY_TEXT = 40;

export type Name = string | number;

export interface TreeEntries {
  entries: [Name, unknown][];
  /** How many there are beyond them. */
  more: number;
}

/** The first `count` entries of a value that has some. */
export function entriesOf(value: unknown, count: number): TreeEntries {
  if (Array.isArray(value)) {
    const entries = value.slice(0, count).map((entry, at): [Name, unknown] => [at, entry]);
    return { entries, more: value.length - entries.length };
  }
  if (!isFields(value)) return { entries: [], more: 0 };
  const names = Object.keys(value);
  const entries = names.slice(0, count).map((name): [Name, unknown] => [name, value[name]]);
  return { entries, more: names.length - entries.length };
}

export function hasEntries(value: unknown): boolean {
  if (opaqueOf(value)) return false;
  return Array.isArray(value) ? value.length > 0 : isFields(value) && Object.keys(value).length > 0;
}

/** One line that says what a value is. */
export function summaryOf(value: unknown): string {
  if (Array.isArray(value))
    return value.length === 0 ? "[]" : `[${counted(value.length, "entry", "entries")}]`;
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (isFields(value)) {
    const names = Object.keys(value);
    if (names.length === 0) return "{}";
    const first = names.slice(0, SUMMARY_ENTRIES).map((name) => cutText(name, SUMMARY_TEXT).text);
    return `{${first.join(", ")}${names.length > SUMMARY_ENTRIES ? ", …" : ""}}`;
  }
  if (typeof value === "string") return JSON.stringify(cutText(value, SUMMARY_TEXT).text);
  return scalarText(value);
}

/** A value without entries, as JSON writes it. */
export function scalarText(value: unknown): string {
  if (value === undefined) return "undefined";
  if (Object.is(value, -0)) return "-0";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** The beginning of a text, never half of a character, and how many UTF-16 units there are beyond it. */
export function cutText(text: string, max: number): { text: string; more: number } {
  if (text.length <= max) return { text, more: 0 };
  const isPair = /[\ud800-\udbff]/.test(text.charAt(max - 1));
  const end = isPair ? max - 1 : max;
  return { text: text.slice(0, end), more: text.length - end };
}

/** With the flag `u`, a surrogate stands for itself only where it has no partner. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether a text has an encoding in UTF-8: a clipboard and a file have no other one. */
export function hasEncoding(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/** A text as itself; one without an encoding as JSON, whose escapes have one. */
export function encodable(text: string): string {
  return hasEncoding(text) ? text : JSON.stringify(text);
}

export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** The whole value as JSON text. Whole numbers keep their digits; bytes are named, because JSON has none. */
export function jsonText(value: unknown, indent = 2): string {
  return writeJson(value, indent, "");
}

function writeJson(value: unknown, indent: number, margin: string): string {
  if (typeof value === "bigint") return String(value);
  if (ArrayBuffer.isView(value)) return JSON.stringify(`<${value.byteLength} bytes>`);
  const inner = margin + " ".repeat(indent);
  const lines = (parts: string[], open: string, close: string) =>
    parts.length === 0
      ? open + close
      : `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${margin}${close}`;
  if (Array.isArray(value))
    return lines(
      value.map((one) => writeJson(one, indent, inner)),
      "[",
      "]",
    );
  if (isFields(value)) {
    const parts = Object.entries(value).map(
      ([name, one]) => `${JSON.stringify(name)}: ${writeJson(one, indent, inner)}`,
    );
    return lines(parts, "{", "}");
  }
  return Object.is(value, -0) ? "-0" : (JSON.stringify(value) ?? "null");
}
