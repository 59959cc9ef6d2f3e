/**
 * Finds parts of one value in another one, wherever they are. Blocks of the base are looked up by a rolling hash at every
 * position of the value, and what is found is made as long as it can be. Pure, and linear in both lengths.
 */

/** A part of a base: offset and length. */
export type Copy = readonly [offset: number, length: number];
/** A part of the base, or bytes to put between. */
export type Piece = Copy | Uint8Array;

const BLOCK = 32;
const BLOCKS_MAX = 8_192;
const SLOTS = 1 << 15;
const WINDOWS = 12;
const FACTOR = 0x01000193;
/** Bytes of new text that are looked through before the rest counts as new. What is found adds to it. */
const SEARCHED_MAX = 1 << 20;

/** The pieces of `value[start:end]`: parts that are anywhere in the base, and what is between. */
export function matches(
  base: Uint8Array,
  value: Uint8Array,
  start: number,
  end: number,
  piecesMax: number,
): Piece[] {
  const block = Math.max(BLOCK, Math.ceil(base.length / BLOCKS_MAX));
  const pieces: Piece[] = [];
  if (base.length < block || end - start < block) return [value.subarray(start, end)];
  const places = new Places(base, block);
  const drop = power(block - 1);
  let [openFrom, position, left] = [start, start, SEARCHED_MAX];
  let hash = hashOf(value, position, block);
  while (left > 0 && pieces.length < piecesMax) {
    const at = places.find(hash, value, position);
    if (at < 0) {
      if (position + block >= end) break;
      hash = rolled(hash, value[position] as number, value[position + block] as number, drop);
      position += 1;
      left -= 1;
      continue;
    }
    const back = commonBefore(base, at, value, position, openFrom);
    const ahead = commonFrom(base, at + block, value, position + block, end);
    if (position - back > openFrom) pieces.push(value.subarray(openFrom, position - back));
    pieces.push([at - back, back + block + ahead]);
    left += block + ahead;
    position += block + ahead;
    openFrom = position;
    if (position + block > end) break;
    hash = hashOf(value, position, block);
  }
  if (openFrom < end) pieces.push(value.subarray(openFrom, end));
  return pieces;
}

/** How many of some samples of one value are anywhere in the other one. */
export function likeness(one: Uint8Array, other: Uint8Array): number {
  if (one.length < BLOCK || other.length < BLOCK) return 0;
  const distance = Math.max(1, Math.floor((one.length - BLOCK) / (WINDOWS - 1)));
  const wanted = new Map<number, number[]>();
  const sieve = new Uint8Array(4_096);
  for (let at = 0; at + BLOCK <= one.length; at += distance) {
    const hash = hashOf(one, at, BLOCK);
    sieve[hash & 4_095] = 1;
    wanted.set(hash, [...(wanted.get(hash) ?? []), at]);
  }
  const drop = power(BLOCK - 1);
  let hash = hashOf(other, 0, BLOCK);
  let found = 0;
  for (let at = 0; ; at += 1) {
    const samples = sieve[hash & 4_095] ? wanted.get(hash) : undefined;
    if (samples) {
      const others = samples.filter((sample) => !isEqual(one, sample, other, at, BLOCK));
      found += samples.length - others.length;
      if (others.length > 0) wanted.set(hash, others);
      else wanted.delete(hash);
      if (wanted.size === 0) return found;
    }
    if (at + BLOCK >= other.length) return found;
    hash = rolled(hash, other[at] as number, other[at + BLOCK] as number, drop);
  }
}

/** Equal bytes from `base[at:]` and `value[start:end]` on. */
export function commonFrom(
  base: Uint8Array,
  at: number,
  value: Uint8Array,
  start: number,
  end: number,
): number {
  const limit = Math.min(base.length - at, end - start);
  let count = 0;
  while (count < limit && base[at + count] === value[start + count]) count += 1;
  return count;
}

/** Equal bytes before `base[:at]` and `value[:end]`, not reaching below `floor` in the value. */
export function commonBefore(
  base: Uint8Array,
  at: number,
  value: Uint8Array,
  end: number,
  floor: number,
  baseFloor = 0,
): number {
  const limit = Math.min(at - baseFloor, end - floor);
  let count = 0;
  while (count < limit && base[at - count - 1] === value[end - count - 1]) count += 1;
  return count;
}

/** Where the blocks of a base are, by their hashes: open addressing, the first of equal blocks. */
class Places {
  readonly #base: Uint8Array;
  readonly #block: number;
  readonly #hashes = new Int32Array(SLOTS);
  /** Offsets plus one; 0 is free. */
  readonly #offsets = new Int32Array(SLOTS);

  constructor(base: Uint8Array, block: number) {
    this.#base = base;
    this.#block = block;
    for (let at = 0; at + block <= base.length; at += block) {
      const hash = hashOf(base, at, block);
      let slot = slotOf(hash);
      while (this.#offsets[slot] !== 0 && !this.#holds(slot, hash, base, at)) {
        slot = (slot + 1) & (SLOTS - 1);
      }
      if (this.#offsets[slot] !== 0) continue;
      this.#hashes[slot] = hash;
      this.#offsets[slot] = at + 1;
    }
  }

  /** The offset of the block that begins at `value[position]`, -1 when the base has none. */
  find(hash: number, value: Uint8Array, position: number): number {
    let slot = slotOf(hash);
    while (this.#offsets[slot] !== 0) {
      if (this.#holds(slot, hash, value, position)) return (this.#offsets[slot] as number) - 1;
      slot = (slot + 1) & (SLOTS - 1);
    }
    return -1;
  }

  #holds(slot: number, hash: number, value: Uint8Array, position: number): boolean {
    if (this.#hashes[slot] !== hash) return false;
    return isEqual(this.#base, (this.#offsets[slot] as number) - 1, value, position, this.#block);
  }
}

function isEqual(
  one: Uint8Array,
  at: number,
  other: Uint8Array,
  start: number,
  count: number,
): boolean {
  for (let index = 0; index < count; index += 1) {
    if (one[at + index] !== other[start + index]) return false;
  }
  return true;
}

function hashOf(data: Uint8Array, at: number, count: number): number {
  let hash = 0;
  for (let index = at; index < at + count; index += 1) {
    hash = (Math.imul(hash, FACTOR) + (data[index] as number)) | 0;
  }
  return hash;
}

function rolled(hash: number, out: number, into: number, drop: number): number {
  return (Math.imul((hash - Math.imul(out, drop)) | 0, FACTOR) + into) | 0;
}

function power(count: number): number {
  let result = 1;
  for (let index = 0; index < count; index += 1) result = Math.imul(result, FACTOR);
  return result;
}

/** The low bits of such a hash depend on the last bytes alone, so the high ones are mixed in. */
function slotOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}
