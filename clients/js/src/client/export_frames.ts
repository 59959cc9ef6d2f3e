/**
 * Whether the file of an export is whole, told while it arrives (`clients/EXPORT.md` describes it). Only where its frames begin and end is
 * looked at; their checks are for whoever imports it.
 */

import { ProtocolError, TransportError } from "../errors.js";

/** How a file begins; a warning and an empty line follow. */
const PREAMBLE = new TextEncoder().encode("THREADKEEP EXPORT\n");
const PREAMBLE_BYTES_MAX = 4_096;
const LENGTH_BYTES = 4;
const CHECK_BYTES = 32;
const LINE_BREAK = 10;
/** How the payload of the last frame begins. No frame is shorter than that and its length. */
const LAST = new TextEncoder().encode("..finish").with(0, 0x81).with(1, 0xa6);
const HEAD_BYTES = LENGTH_BYTES + LAST.length;

/** Passes a file on, and fails at its end where it is not whole. */
export function wholeFile(): TransformStream<Uint8Array, Uint8Array> {
  const frames = new Frames();
  return new TransformStream({
    transform(chunk, controller) {
      frames.take(chunk);
      controller.enqueue(chunk);
    },
    flush() {
      if (!frames.isWhole) throw new TransportError("the file ended too early");
    },
  });
}

/** Follows the frames of one file. */
export class Frames {
  /** The beginning of the preamble or of a frame. */
  #waiting = new Uint8Array();
  #isBegun = false;
  /** Of the frame that is passing by. */
  #leftBytes = 0;
  #isLast = false;

  /** Whether the file may end here. */
  get isWhole(): boolean {
    return this.#isLast && this.#leftBytes === 0 && this.#waiting.length === 0;
  }

  /** What arrived next. Throws ProtocolError where it is no file of an export. */
  take(chunk: Uint8Array): void {
    const bytes = joined(this.#waiting, chunk);
    let at = this.#isBegun ? 0 : this.#begin(bytes);
    while (this.#isBegun && at < bytes.length) {
      if (this.#leftBytes === 0) {
        if (bytes.length - at < HEAD_BYTES) break;
        this.#enter(bytes.subarray(at, at + HEAD_BYTES));
      }
      const passed = Math.min(this.#leftBytes, bytes.length - at);
      this.#leftBytes -= passed;
      at += passed;
    }
    // A copy: what arrived belongs to the reader.
    this.#waiting = bytes.slice(at);
  }

  #enter(head: Uint8Array): void {
    const length = new DataView(head.buffer, head.byteOffset).getUint32(0, true);
    this.#leftBytes = LENGTH_BYTES + length + CHECK_BYTES;
    this.#isLast = LAST.every((byte, index) => head[LENGTH_BYTES + index] === byte);
  }

  /** Where the frames begin; 0 while that is not known. */
  #begin(bytes: Uint8Array): number {
    const isAlike = bytes.subarray(0, PREAMBLE.length).every((byte, at) => byte === PREAMBLE[at]);
    const end = bytes.findIndex((byte, at) => byte === LINE_BREAK && bytes[at + 1] === LINE_BREAK);
    const isTooLong = (end < 0 ? bytes.length : end) > PREAMBLE_BYTES_MAX;
    if (!isAlike || isTooLong) throw new ProtocolError("the answer is no file of an export");
    this.#isBegun = end >= 0;
    return this.#isBegun ? end + 2 : 0;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
