/** Ids of callers as text that can travel. */

import { InvalidError } from "../errors.js";
import { wellFormed } from "./packing.js";

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
