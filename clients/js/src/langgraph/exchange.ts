/**
 * Values in their short forms: on their way out as differences, on their way in by their names. Both directions use one
 * memory, `Values`. What cannot be resolved is asked for, or sent, whole; nothing here is ever needed for a call to succeed.
 */

import { type Name, nameOf } from "../wire/digest.js";
import type { Schemas } from "../wire/schemas.js";
import { likeness, type Piece } from "./blocks.js";
import { between, costOf, endsOf, toWire } from "./differences.js";
import type { Op, Value } from "./encode.js";
import { Offer } from "./offer.js";
import { BODY_BYTES_MAX, isLarge } from "./parts.js";
import { type Named, Values } from "./values.js";

/** A difference of so few bytes is taken without looking for a better one. */
const CHEAP = 1_024;
/** Values of other places that are looked at when the one before at the same place is no base. */
const OTHERS_MAX = 6;
/** Of them, the ones that are tried in earnest. */
const TRIED_MAX = 3;
/** After so many values of a place without a base, others are looked at only now and then. */
const MISSES_MAX = 3;
const MISSES_BETWEEN = 8;
/** Places of threads about which something is remembered. */
const PLACES_MAX = 10_000;
/** Commits without differences after the server refused several in a row. */
const PAUSE_MAX = 64;

/** What operations may take of the body of a commit; the rest is for its head and names of parts. */
const ROOM_BYTES = BODY_BYTES_MAX - 64 * 1024;

/**
 * What was put into the operations, and what is known to be stored when they are acknowledged. Values in parts are for the
 * caller to put.
 */
export interface Shortened {
  inParts: Value[];
  stored: Named[];
  hasDifferences: boolean;
}

/** See above. `bytesMax` 0: everything goes whole. */
export class Exchange {
  readonly values: Values;
  readonly #misses = new Map<string, number>();
  /** Where the base of a place was found: sends after the list they repeat. */
  readonly #usual = new Map<string, string>();
  #refusedInARow = 0;
  #pause = 0;

  constructor(bytesMax: number) {
    this.values = new Values(bytesMax);
  }

  /** Puts differences into the operations for values whose base the server should know, and bytes for the others. */
  async shorten(threadId: string, ops: readonly Op[], isWhole = false): Promise<Shortened> {
    const all = ops.flatMap((op) => op.values);
    const inParts = all.filter((value) => isLarge(value.data));
    const values = all.filter((value) => !isLarge(value.data));
    const isRemembering = this.values.bytesMax > 0;
    const names = isRemembering
      ? await Promise.all(values.map((value) => nameOf(value.data)))
      : undefined;
    const isPaused = isRemembering && this.#pause > 0;
    if (isPaused) this.#pause -= 1;
    let hasDifferences = false;
    for (const [index, value] of values.entries()) {
      const name = names?.[index];
      const mayShorten = name !== undefined && !isWhole && !isPaused;
      const difference = mayShorten ? this.#difference(threadId, value, name) : undefined;
      value.entry.data = difference ?? value.data;
      hasDifferences ||= difference !== undefined;
    }
    const ousted = withoutRoom(ops, values);
    const stored = values.flatMap(({ place, data, isStored }, index): Named[] => {
      const name = names?.[index];
      const isKept = name !== undefined && isStored && !ousted.some((one) => one.data === data);
      return isKept ? [{ place, name, data }] : [];
    });
    return { inParts: [...inParts, ...ousted], stored, hasDifferences };
  }

  /** The operations are stored. */
  acknowledged(threadId: string, sent: Shortened): void {
    this.values.keep(threadId, sent.stored);
    if (sent.hasDifferences) this.#refusedInARow = 0;
  }

  /** The server does not know a base. It was started anew, or another server answered. */
  refused(threadId: string): void {
    this.values.forget(threadId);
    this.#refusedInARow += 1;
    this.#pause = Math.min(PAUSE_MAX, 2 ** this.#refusedInARow - 2);
  }

  /** What is told to the server about the values of a thread, undefined when nothing is kept. */
  offer(threadId: string): Offer | undefined {
    return this.values.bytesMax === 0 ? undefined : new Offer(this.values.latest(threadId));
  }

  #difference(threadId: string, value: Value, name: Name): Schemas["Difference"] | undefined {
    const { data, place } = value;
    if (this.values.get(threadId, name)) return toWire(name, [[0, data.length]], data, name);
    const before = this.values.at(threadId, place);
    const ends = before && endsOf(before.data, data);
    const isLike = ends && ends.prefix + ends.suffix >= data.length / 2;
    let best = before && isLike ? foundIn(before, data, ends) : undefined;
    if (best && best.cost < CHEAP) return toWire(best.base.name, best.pieces, data, name);
    // A task for a tool has the newest messages; those are rather in the list than in the task before it.
    const key = JSON.stringify([threadId, place]);
    const usual = this.values.at(threadId, this.#usual.get(key) ?? "");
    best = cheaper(best, usual && foundIn(usual, data));
    if (!best || best.cost > data.length / 4) {
      best = cheaper(best, this.#searched(threadId, data, before, key));
    }
    return best && toWire(best.base.name, best.pieces, data, name);
  }

  /** A difference to a value of any place. */
  #searched(
    threadId: string,
    data: Uint8Array,
    before: Named | undefined,
    key: string,
  ): Found | undefined {
    const others = this.values.latestOfPlaces(threadId, OTHERS_MAX);
    if (others.length === 0 || !this.#maySearch(key)) return undefined;
    if (this.#misses.size + this.#usual.size > PLACES_MAX) {
      this.#misses.clear();
      this.#usual.clear();
    }
    const found = cheapest(data, before ? [...others, before] : others);
    if (!found) {
      this.#misses.set(key, (this.#misses.get(key) ?? 0) + 1);
      return undefined;
    }
    this.#misses.delete(key);
    if (found.base.place !== before?.place) this.#usual.set(key, found.base.place);
    return found;
  }

  #maySearch(key: string): boolean {
    const misses = this.#misses.get(key) ?? 0;
    if (misses < MISSES_MAX || misses % MISSES_BETWEEN === 0) return true;
    this.#misses.set(key, misses + 1);
    return false;
  }
}

/** The largest values, where all are too much for one body: so many that the others have room. */
function withoutRoom(ops: readonly Op[], values: readonly Value[]): Value[] {
  let total = 0;
  for (const op of ops) total += op.sizeBytes;
  if (total <= ROOM_BYTES) return [];
  const sized = values.map((value) => {
    const { data } = value.entry;
    return { value, size: data instanceof Uint8Array ? data.length : costIn(data) };
  });
  for (const op of ops) for (const { data } of op.values) total -= data.length;
  for (const { size } of sized) total += size;
  const ousted: Value[] = [];
  for (const { value, size } of sized.sort((a, b) => b.size - a.size)) {
    if (total <= ROOM_BYTES) break;
    ousted.push(value);
    total -= size;
  }
  return ousted;
}

/** About what a difference takes in a body. */
function costIn(data: Schemas["DataIn"] | null | undefined): number {
  if (!data || data instanceof Uint8Array) return data?.length ?? 0;
  let size = 200;
  if ("parts" in data) return size + data.parts.length * 20;
  for (const op of data.ops) size += "insert" in op ? op.insert.length + 20 : 20;
  return size;
}

/** The base that saves most; undefined when none saves enough. */
function cheapest(data: Uint8Array, candidates: readonly Named[]): Found | undefined {
  const likely = new Map<Name, { base: Named; count: number }>();
  for (const base of candidates) {
    // Of the base in the value, so that a small one inside counts; how much is covered says the other.
    if (likeness(base.data, data) === 0) continue;
    likely.set(base.name, { base, count: likeness(data, base.data) });
  }
  // Samples are coarse, so the best few are tried.
  const best = [...likely.values()].sort((a, b) => b.count - a.count).slice(0, TRIED_MAX);
  let found: Found | undefined;
  for (const { base } of best) found = cheaper(found, foundIn(base, data));
  return found;
}

/** A base of a value, the pieces, and what they cost. */
interface Found {
  base: Named;
  pieces: Piece[];
  cost: number;
}

function foundIn(base: Named, data: Uint8Array, ends = endsOf(base.data, data)): Found | undefined {
  const pieces = between(base.data, data, ends);
  return pieces && { base, pieces, cost: costOf(pieces) };
}

function cheaper(one: Found | undefined, other: Found | undefined): Found | undefined {
  if (!one || !other) return one ?? other;
  return other.cost < one.cost ? other : one;
}
