/** Finds the text of one value inside of JSON text, for values that `JSON.parse` would change: `1.0`, and numbers with many digits. */

import { ProtocolError } from "../errors.js";
import { endOfString } from "./document_value.js";

const SPACE = /[ \t\r\n]/;
const END_OF_SCALAR = /[,\]}\s]|$/g;

/** The text of the value at these fields and places of lists. Undefined where there is none. */
export function jsonTextAt(text: string, way: readonly (string | number)[]): string | undefined {
  let at = skipSpace(text, 0);
  for (const part of way) {
    const found = typeof part === "number" ? itemAt(text, at, part) : fieldAt(text, at, part);
    if (found === undefined) return undefined;
    at = found;
  }
  return text.slice(at, endOfValue(text, at));
}

/** The texts of all items of a list. */
export function jsonItems(text: string): string[] {
  const items: string[] = [];
  let at = skipSpace(text, 0);
  if (text[at] !== "[") throw new ProtocolError("the answer has no list");
  for (at = skipSpace(text, at + 1); text[at] !== "]" && text[at - 1] !== "]"; ) {
    if (at >= text.length) throw new ProtocolError("the answer is not JSON");
    items.push(text.slice(at, endOfValue(text, at)));
    at = nextEntry(text, at);
  }
  return items;
}

/** Returns the index at which the value of a field begins. */
function fieldAt(text: string, begin: number, name: string): number | undefined {
  if (text[begin] !== "{") return undefined;
  for (let at = skipSpace(text, begin + 1); text[at] === '"'; ) {
    const end = endOfString(text, at);
    const isFound = JSON.parse(text.slice(at, end)) === name;
    // Behind the colon.
    at = skipSpace(text, skipSpace(text, end) + 1);
    if (isFound) return at;
    at = nextEntry(text, at);
  }
  return undefined;
}

/** Returns the index at which an item of a list begins. */
function itemAt(text: string, begin: number, index: number): number | undefined {
  if (text[begin] !== "[") return undefined;
  let at = skipSpace(text, begin + 1);
  for (let left = index; text[at] !== "]"; left -= 1) {
    if (left === 0) return at;
    at = nextEntry(text, at);
    if (text[at - 1] === "]") return undefined;
  }
  return undefined;
}

/** Returns the index of the entry behind the one at `at`, or the index behind the closing bracket for the last one. */
function nextEntry(text: string, at: number): number {
  const end = skipSpace(text, endOfValue(text, at));
  return text[end] === "," ? skipSpace(text, end + 1) : end + 1;
}

function endOfValue(text: string, begin: number): number {
  const first = text[begin];
  if (first === '"') return endOfString(text, begin);
  if (first !== "{" && first !== "[") {
    END_OF_SCALAR.lastIndex = begin;
    return END_OF_SCALAR.exec(text)?.index ?? text.length;
  }
  let depth = 0;
  for (let at = begin; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  throw new ProtocolError("the answer is not JSON");
}

function skipSpace(text: string, begin: number): number {
  let at = begin;
  while (SPACE.test(text[at] ?? "")) at += 1;
  return at;
}
