/**
 * Values in their short forms: on their way out as differences, on their way in by their names. Both directions use one
 * memory, `Values`. What cannot be resolved is asked for, or sent, whole; nothing here is ever needed for a call to succeed.
 */

import type { Schemas } from "../wire/schemas.js";
import { likeness, type Piece } from "./blocks.js";
import { between, costOf, endsOf, toWire } from "./differences.js";
import { type Name, nameOf } from "./digest.js";
import type { Op, Value } from "./encode.js";
import { Offer } from "./offer.js";
import { type Named, Values } from "./values.js";

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

/** What was put into the operations, and what is known to be stored when they are acknowledged. */
export interface Shortened {
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
    const values = ops.flatMap((op) => op.values);
    const stored: Named[] = [];
    if (this.values.bytesMax === 0) return { stored, hasDifferences: false };
    const names = await Promise.all(values.map((value) => nameOf(value.data)));
    const isPaused = this.#pause > 0;
    if (isPaused) this.#pause -= 1;
    let hasDifferences = false;
    for (const [index, value] of values.entries()) {
      const name = names[index] as Name;
      const difference = isWhole || isPaused ? undefined : this.#difference(threadId, value, name);
      value.entry.data = difference ?? value.data;
      hasDifferences ||= difference !== undefined;
      if (value.isStored) stored.push({ place: value.place, name, data: value.data });
    }
    return { stored, hasDifferences };
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
    if (before) {
      const ends = endsOf(before.data, data);
      const isLike = ends.prefix + ends.suffix >= data.length / 2;
      const pieces = isLike ? between(before.data, data, ends) : undefined;
      if (pieces) return toWire(before.name, pieces, data, name);
    }
    const key = JSON.stringify([threadId, place]);
    const usualPlace = this.#usual.get(key);
    const usual = usualPlace === undefined ? usualPlace : this.values.at(threadId, usualPlace);
    if (usual) {
      const pieces = between(usual.data, data, endsOf(usual.data, data));
      if (pieces && costOf(pieces) < data.length / 4) {
        return toWire(usual.name, pieces, data, name);
      }
    }
    return this.#searched(threadId, value, name, before, key);
  }

  /** A difference to a value of any place. */
  #searched(
    threadId: string,
    value: Value,
    name: Name,
    before: Named | undefined,
    key: string,
  ): Schemas["Difference"] | undefined {
    const others = this.values.latestOfPlaces(threadId, OTHERS_MAX);
    if (others.length === 0 || !this.#maySearch(key)) return undefined;
    if (this.#misses.size + this.#usual.size > PLACES_MAX) {
      this.#misses.clear();
      this.#usual.clear();
    }
    const found = cheapest(value.data, before ? [...others, before] : others);
    if (!found) {
      this.#misses.set(key, (this.#misses.get(key) ?? 0) + 1);
      return undefined;
    }
    this.#misses.delete(key);
    this.#usual.set(key, found.base.place);
    return toWire(found.base.name, found.pieces, value.data, name);
  }

  #maySearch(key: string): boolean {
    const misses = this.#misses.get(key) ?? 0;
    if (misses < MISSES_MAX || misses % MISSES_BETWEEN === 0) return true;
    this.#misses.set(key, misses + 1);
    return false;
  }
}

/** The base that saves most, with the pieces; undefined when none saves enough. */
function cheapest(
  data: Uint8Array,
  candidates: readonly Named[],
): { base: Named; pieces: Piece[] } | undefined {
  const likely = new Map<Name, { base: Named; count: number }>();
  for (const base of candidates) {
    // Of the base in the value, so that a small one inside counts; how much is covered says the other.
    if (likeness(base.data, data) === 0) continue;
    likely.set(base.name, { base, count: likeness(data, base.data) });
  }
  // Samples are coarse, so the best few are tried.
  const best = [...likely.values()].sort((a, b) => b.count - a.count).slice(0, TRIED_MAX);
  let found: { base: Named; pieces: Piece[] } | undefined;
  for (const { base } of best) {
    const pieces = between(base.data, data, endsOf(base.data, data));
    if (pieces && (!found || costOf(pieces) < costOf(found.pieces))) found = { base, pieces };
  }
  return found;
}
