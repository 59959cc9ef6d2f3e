/**
 * Values of items, and filters on them, as exact JSON text. What JSON has no form for is written so that every client reads
 * it back (clients/PROTOCOL.md, "Bytes in documents"), or refused: nothing is changed or left out without a word, but for
 * entries that are undefined.
 */

import { InvalidError } from "../errors.js";
import { base64Of } from "./base64.js";

/** The only key of an object that stands for bytes. */
export const BYTES = "$threadkeep:bytes";
/** An object with one such key, written by a caller, gets a `$` more, so that it is not taken for what it looks like. */
export const LIKE_A_TAG = /^\$+threadkeep:/;

/** Far more than the server takes; what nests deeper is most likely a circle. */
const DEPTH_MAX = 1_000;
const encoder = new TextEncoder();

/** The value of an item. Throws InvalidError naming the place of what cannot be stored. */
export function documentText(value: unknown, field: string): Uint8Array {
  const writer = new Writer(field);
  const object = formOf(value);
  if (!isPlain(object)) throw writer.refused("is no object");
  if (isSimple(object)) return encoder.encode(JSON.stringify(object));
  return encoder.encode(writer.fields(object, (entry) => writer.value(entry)));
}

/** A filter; undefined for one without conditions. */
export function filterText(filter: unknown, field: string): Uint8Array | undefined {
  if (filter === undefined || filter === null) return undefined;
  const writer = new Writer(field);
  if (!isPlain(filter)) throw writer.refused("is no object");
  if (Object.keys(filter).length === 0) return undefined;
  return encoder.encode(writer.filter(filter));
}

class Writer {
  readonly #field: string;
  /** Where the walk is, for errors. */
  readonly #path: (string | number)[] = [];

  constructor(field: string) {
    this.#field = field;
  }

  /** JSON of a value; undefined where there is nothing to write. */
  value(value: unknown): string | undefined {
    switch (typeof value) {
      case "string":
        return JSON.stringify(value);
      case "number":
        if (!Number.isFinite(value)) throw this.refused(`is ${value}`);
        return Object.is(value, -0) ? "-0" : String(value);
      case "boolean":
      case "bigint":
        return String(value);
      case "undefined":
        return undefined;
      case "object":
        return value === null ? "null" : this.#object(value);
      default:
        throw this.refused(`is a ${typeof value}`);
    }
  }

  /** JSON of an object, each of its entries as `write` says. */
  fields(
    object: Record<string, unknown>,
    write: (entry: unknown, name: string) => string | undefined,
    nameOf = (name: string, _isOnly: boolean) => name,
  ): string {
    const written: [string, string][] = [];
    for (const name of Object.keys(object)) {
      const text = this.#at(name, () => write(object[name], name));
      if (text !== undefined) written.push([name, text]);
    }
    const isOnly = written.length === 1;
    return `{${written.map(([name, text]) => `${JSON.stringify(nameOf(name, isOnly))}:${text}`)}}`;
  }

  /** JSON of conditions on fields. */
  filter(filter: unknown): string | undefined {
    if (!isPlain(filter)) return this.#defined(filter);
    return this.fields(filter, (condition, name) => {
      if (name === "$not") return this.filter(condition);
      if (name !== "$and" && name !== "$or") return this.#test(condition);
      if (!Array.isArray(condition)) return this.#defined(condition);
      return this.#list(condition, (inner) => this.filter(inner));
    });
  }

  refused(why: string): InvalidError {
    const place = this.#path.map((it) => (typeof it === "number" ? `[${it}]` : `.${it}`)).join("");
    return new InvalidError(`${this.#field}${place} ${why}, which cannot be stored as JSON`, {
      field: this.#field,
    });
  }

  #object(value: object): string | undefined {
    if (value instanceof Uint8Array) return `{"${BYTES}":"${base64Of(value)}"}`;
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      throw this.refused("holds bytes and is no Uint8Array");
    }
    if (value instanceof Date && Number.isNaN(value.getTime())) {
      throw this.refused("is no valid time");
    }
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === "function") {
      const name = this.#path.at(-1) ?? "";
      const made: unknown = toJSON.call(value, String(name));
      return this.#at("toJSON()", () => this.value(made));
    }
    if (Array.isArray(value)) return this.#list(value, (entry) => this.value(entry) ?? "null");
    if (value instanceof Number || value instanceof String || value instanceof Boolean) {
      return this.value(value.valueOf());
    }
    const kind = Object.prototype.toString.call(value).slice(8, -1);
    if (kind !== "Object" && Object.keys(value).length === 0) throw this.refused(`is a ${kind}`);
    return this.fields(value as Record<string, unknown>, (entry) => this.value(entry), escaped);
  }

  /** A condition on one field. */
  #test(condition: unknown): string {
    // At the place of operators, an object with the tag's key would be taken for one.
    if (condition instanceof Uint8Array) return `{"$eq":${this.value(condition)}}`;
    if (!isPlain(condition)) return this.#defined(condition);
    const hasOperators = Object.keys(condition).some((name) => name.startsWith("$"));
    return this.fields(condition, (operand, name) => {
      return hasOperators && name !== "$not" ? this.#defined(operand) : this.#test(operand);
    });
  }

  /** A condition that is undefined would vanish, and then everything matches. */
  #defined(value: unknown): string {
    const text = this.value(value);
    if (text === undefined) throw this.refused("is undefined");
    return text;
  }

  #list(list: readonly unknown[], write: (entry: unknown) => string | undefined): string {
    // Not `map`, which jumps over holes.
    const written = Array.from(list, (entry, at) => this.#at(at, () => write(entry)));
    return `[${written}]`;
  }

  #at<T>(step: string | number, work: () => T): T {
    this.#path.push(step);
    if (this.#path.length > DEPTH_MAX) {
      this.#path.length = 3;
      throw this.refused("goes on for ever, or nests too deeply");
    }
    const done = work();
    this.#path.pop();
    return done;
  }
}

function escaped(name: string, isOnly: boolean): string {
  return isOnly && LIKE_A_TAG.test(name) ? `$${name}` : name;
}

/** Whether `JSON.stringify`, which is many times faster, writes the same: there is nothing in it to tag, escape or refuse. */
function isSimple(value: unknown, depth = 0): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null) return true;
  if (depth === DEPTH_MAX || "toJSON" in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isList = prototype === Array.prototype && Array.isArray(value);
  if (!isList && prototype !== Object.prototype && prototype !== null) return false;
  const entries = Object.values(value);
  if (isList && entries.length !== value.length) return false;
  if (!isList && entries.length === 1 && LIKE_A_TAG.test(Object.keys(value)[0] as string)) {
    return false;
  }
  return entries.every((entry) => isSimple(entry, depth + 1));
}

/** What an object says that its JSON is made from. */
function formOf(value: unknown): unknown {
  const isBytes = value instanceof Uint8Array;
  const { toJSON } = Object(value ?? {}) as { toJSON?: unknown };
  return typeof toJSON === "function" && !isBytes ? toJSON.call(value, "") : value;
}

/** An object that JSON writes with its braces. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return false;
  const kind = Object.prototype.toString.call(value);
  const hasForm = typeof (value as { toJSON?: unknown }).toJSON === "function";
  return !hasForm && (kind === "[object Object]" || Object.keys(value).length > 0);
}
