/** Texts that may hold what UTF-8 cannot, half a surrogate pair: such a one travels as bytes, the JSON text of the string. */

import { ProtocolError } from "../errors.js";
import { textOf } from "./packing.js";

const LONE_SURROGATE = /\p{Surrogate}/u;
const encoder = new TextEncoder();

/** As the generated types have it, whichever form it takes. */
export function wideOnWire(text: string): string {
  if (!LONE_SURROGATE.test(text)) return text;
  return encoder.encode(JSON.stringify(text)) as unknown as string;
}

/** The string of either form. */
export function wideTextIn(raw: object, name: string): string {
  const value = (raw as Record<string, unknown>)[name];
  if (typeof value === "string") return value;
  const text: unknown = value instanceof Uint8Array ? parsed(value) : undefined;
  if (typeof text === "string") return text;
  throw new ProtocolError(`the answer lacks ${name}, or has something else there`);
}

function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(data));
  } catch {
    return undefined;
  }
}
