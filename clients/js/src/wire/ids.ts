/** Ids of callers as text that can travel. */

import { InvalidError } from "../errors.js";
import { wellFormed } from "./packing.js";
import { wideOnWire } from "./wide_text.js";

/** A thread id as text; numbers are taken as their text. */
export function threadIdOf(value: unknown): string {
  const threadId = idOf(value, "thread_id");
  if (threadId === "") throw new InvalidError("thread_id is empty", { field: "thread_id" });
  return threadId;
}

export function idOf(value: unknown, field: string): string {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (typeof value === "string") return wellFormed(value, field);
  throw new InvalidError(`${field} is not text`, { field });
}

/** Text as one segment of a path: any but those that addresses have a meaning for. */
export function segmentOf(text: string, field: string): string {
  if (typeof text !== "string" || text === "" || text === "." || text === "..") {
    throw new InvalidError(`${field} must be a text other than "", "." and ".."`, { field });
  }
  return encodeURIComponent(wellFormed(text, field));
}

/** A key of an item, which may be any string, or a number for its text. */
export function keyOnWire(key: unknown): string {
  if (typeof key === "number" || typeof key === "bigint") return String(key);
  if (typeof key !== "string") throw new InvalidError("key must be text", { field: "key" });
  return wideOnWire(key);
}

/** The labels of a namespace, or of a prefix. Throws InvalidError naming `field`. */
export function namespaceOf(namespace: unknown, field = "namespace"): string[] {
  if (!Array.isArray(namespace)) {
    throw new InvalidError(`${field} must be an array of labels`, { field });
  }
  return namespace.map((label) => {
    if (typeof label === "string") return wellFormed(label, field);
    throw new InvalidError(`${field} has a label that is no string`, { field });
  });
}
