/** MessagePack and exact JSON text: how bodies look as bytes. */

import { decode, Encoder } from "@msgpack/msgpack";
import { InvalidError } from "../errors.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A body as MessagePack. Entries that are undefined are left out. `sizeBytes` is a guess, so that nothing is copied twice. */
export function packed(body: unknown, sizeBytes = 0): Uint8Array<ArrayBuffer> {
  // A new one each time: an encoder keeps its buffer, which grows to the largest body ever sent.
  const made = new Encoder({ ignoreUndefined: true, initialBufferSize: sizeBytes + 2_048 });
  return made.encodeSharedRef(body) as Uint8Array<ArrayBuffer>;
}

/** The value of a MessagePack text. Byte strings are views of it. */
export function unpacked(body: Uint8Array): unknown {
  return decode(body);
}

/** JSON text that the server keeps byte for byte. Throws InvalidError naming `field`. */
export function exact(value: unknown, field: string): Uint8Array {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new InvalidError(`${field} is not JSON: ${cause}`, { field, cause });
  }
  if (text === undefined) throw new InvalidError(`${field} is not JSON`, { field });
  return encoder.encode(text);
}

/** JSON text of an object, as it is. Throws InvalidError naming `field`. */
export function exactText(text: string, field: string): Uint8Array {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (cause) {
    throw new InvalidError(`${field} is not JSON: ${cause}`, { field, cause });
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    throw new InvalidError(`${field} is no object`, { field });
  }
  return encoder.encode(wellFormed(text, field));
}

/** The text of UTF-8 bytes. Throws TypeError for others. */
export function textOf(data: Uint8Array): string {
  return decoder.decode(data);
}

/** Text that can travel: a surrogate without its partner has no UTF-8, and would silently become another text. */
export function wellFormed(text: string, field: string): string {
  if (!isWellFormed(text)) {
    throw new InvalidError(`${field} holds a surrogate without its partner`, { field });
  }
  return text;
}

/** Whether a text has UTF-8. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

const LONE_SURROGATE = /\p{Surrogate}/u;
