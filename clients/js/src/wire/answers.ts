/**
 * Reads fields of answers and checks what they are: a field that is missing or of another kind is a ProtocolError, never an
 * empty result. The names of the fields are checked against the server's document by the compiler.
 */

import { ProtocolError } from "../errors.js";
import { textOf } from "./packing.js";

type Name<T> = keyof T & string;

/** An object of an answer, to be read with the functions of this file. */
export function objectOf<T extends object>(value: unknown, what: string): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(what);
  return value as T;
}

export function textIn<T extends object>(raw: T, name: Name<T>): string {
  const value = raw[name];
  if (typeof value !== "string") throw wrong(name);
  return value;
}

export function optionalTextIn<T extends object>(raw: T, name: Name<T>): string | undefined {
  return raw[name] === undefined || raw[name] === null ? undefined : textIn(raw, name);
}

export function numberIn<T extends object>(raw: T, name: Name<T>): number {
  const value = raw[name];
  if (typeof value !== "number") throw wrong(name);
  return value;
}

/** Bytes; a field that is absent holds none. */
export function bytesIn<T extends object>(raw: T, name: Name<T>): Uint8Array {
  const value: unknown = raw[name];
  if (value === undefined || value === null) return new Uint8Array(0);
  if (!(value instanceof Uint8Array)) throw wrong(name);
  return value;
}

/** A list of objects. */
export function listIn<T extends object, N extends Name<T>>(raw: T, name: N): Entry<T[N]>[] {
  const value: unknown = raw[name];
  if (!Array.isArray(value)) throw wrong(name);
  return value.map((entry) => objectOf<Entry<T[N]>>(entry, name));
}

type Entry<List> = Extract<NonNullable<List> extends readonly (infer E)[] ? E : never, object>;

/** A list of texts. */
export function textsIn<T extends object>(raw: T, name: Name<T>): string[] {
  const value: unknown = raw[name];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === "string"))
    throw wrong(name);
  return value;
}

/** The exact JSON text of a field; that of an empty object where the field is absent. */
export function exactTextIn<T extends object>(raw: T, name: Name<T>): string {
  const bytes = bytesIn(raw, name);
  if (bytes.length === 0) return "{}";
  try {
    return textOf(bytes);
  } catch (cause) {
    throw new ProtocolError(`the answer's ${name} is not a text`, { cause });
  }
}

/** The object of an exact text. */
export function jsonIn<T extends object>(raw: T, name: Name<T>): Record<string, unknown> {
  try {
    return objectOf(JSON.parse(textOf(bytesIn(raw, name))), name);
  } catch (cause) {
    if (cause instanceof ProtocolError) throw cause;
    throw new ProtocolError(`the answer's ${name} is not JSON`, { cause });
  }
}

function wrong(name: string): ProtocolError {
  return new ProtocolError(`the answer lacks ${name}, or has something else there`);
}
