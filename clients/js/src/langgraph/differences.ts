/**
 * A value as the difference to another one: parts copied from a base, and bytes put between them. No I/O, and nothing is
 * remembered. First what two values have in common at both ends, which is all there is when a list grows; matching blocks
 * only where the ends say too little, such as when one value holds another inside it, or several times.
 */

import { ProtocolError } from "../errors.js";
import { listIn, numberIn } from "../wire/answers.js";
import { bytesOfName, type Name, nameOf } from "../wire/digest.js";
import type { Schemas } from "../wire/schemas.js";
import { commonBefore, commonFrom, matches, type Piece } from "./blocks.js";

/** Smaller values travel whole, and are remembered on neither side. */
export const BYTES_MIN = 512;
/** As the server has it, in GET /v1/limits. */
export const OPS_MAX = 1_024;

// What a copy, and what a difference as a whole, cost on the wire, roughly.
const COPY_COST = 20;
const COST = 120;

/** A difference has no result, or another one than it says. */
export class DoesNotFitError extends Error {}

/** Lengths of two values' list headers, and of the equal bytes behind the headers and at the ends. */
export interface Ends {
  baseHeader: number;
  header: number;
  prefix: number;
  suffix: number;
}

/** A list that grows changes the count in its header, which may then be longer, and its end. */
export function endsOf(base: Uint8Array, value: Uint8Array): Ends {
  const [baseHeader, header] = [headerLength(base), headerLength(value)];
  const prefix = commonFrom(base, baseHeader, value, header, value.length);
  const [baseFloor, floor] = [baseHeader + prefix, header + prefix];
  const suffix = commonBefore(base, base.length, value, value.length, floor, baseFloor);
  return { baseHeader, header, prefix, suffix };
}

/** The pieces that make the value of the base, undefined when they would save too little. */
export function between(base: Uint8Array, value: Uint8Array, ends: Ends): Piece[] | undefined {
  const { baseHeader, header, prefix, suffix } = ends;
  const [start, end] = [header + prefix, value.length - suffix];
  const isMuch = end - start > value.length / 4;
  const all: Piece[] = [
    value.subarray(0, header),
    [baseHeader, prefix],
    ...(isMuch ? matches(base, value, start, end, OPS_MAX - 8) : [value.subarray(start, end)]),
    [base.length - suffix, suffix],
  ];
  const pieces = all.filter((piece) => lengthOf(piece) > 0);
  return costOf(pieces) < (value.length * 3) / 4 ? pieces : undefined;
}

/** Bytes that a difference takes on the wire, roughly. */
export function costOf(pieces: readonly Piece[]): number {
  let cost = COST;
  for (const piece of pieces) {
    cost += piece instanceof Uint8Array ? piece.length + 4 : COPY_COST;
  }
  return cost;
}

/** The value of a difference. Checks lengths first, the digest last. */
export async function applied(
  base: Uint8Array,
  pieces: readonly Piece[],
  length: number,
  name: Name,
): Promise<Uint8Array> {
  let sum = 0;
  for (const piece of pieces) {
    if (!(piece instanceof Uint8Array) && !isInside(piece, base.length)) {
      throw new DoesNotFitError("a copy reaches beyond its base");
    }
    sum += lengthOf(piece);
  }
  if (sum !== length) throw new DoesNotFitError("the pieces do not sum to the length");
  const value = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    const isNew = piece instanceof Uint8Array;
    value.set(isNew ? piece : base.subarray(piece[0], piece[0] + piece[1]), at);
    at += lengthOf(piece);
  }
  if ((await nameOf(value)) !== name) throw new DoesNotFitError("the result has another digest");
  return value;
}

/** A difference as the protocol writes it. */
export function toWire(
  baseName: Name,
  pieces: readonly Piece[],
  value: Uint8Array,
  name: Name,
): Schemas["Difference"] {
  const ops = pieces.map((piece) =>
    piece instanceof Uint8Array ? { insert: piece } : { copy: [piece[0], piece[1]] as Pair },
  );
  return { base: bytesOfName(baseName), ops, sha256: bytesOfName(name), length: value.length };
}

type Pair = [number, number];

/** The length and the pieces of a difference in an answer. */
export function ofWire(raw: Schemas["Difference"]): { pieces: Piece[]; length: number } {
  const pieces = listIn(raw, "ops").map((op): Piece => {
    if ("insert" in op) {
      if (op.insert instanceof Uint8Array) return op.insert;
      throw new ProtocolError("the answer holds an insert that has no bytes");
    }
    const copy: unknown = op.copy;
    if (Array.isArray(copy) && copy.length === 2 && copy.every(Number.isInteger)) {
      return [copy[0], copy[1]];
    }
    throw new ProtocolError("the answer holds a copy that has no two whole numbers");
  });
  return { pieces, length: numberIn(raw, "length") };
}

function lengthOf(piece: Piece): number {
  return piece instanceof Uint8Array ? piece.length : piece[1];
}

function isInside([offset, length]: readonly [number, number], size: number): boolean {
  return offset >= 0 && length >= 0 && offset + length <= size;
}

/** Of a MessagePack list or map: it holds the count. 0 for other bytes, JSON among them. */
function headerLength(data: Uint8Array): number {
  const first = data[0] ?? 0;
  if (first >= 0x80 && first <= 0x9f) return 1;
  if (first === 0xdc || first === 0xde) return Math.min(3, data.length);
  if (first === 0xdd || first === 0xdf) return Math.min(5, data.length);
  return 0;
}
