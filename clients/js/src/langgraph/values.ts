/**
 * The values that a saver sent or read lately, by thread and SHA-256: bases of differences. Bounded: the thread that was
 * not used for longest loses its oldest value first. A value in here is never handed to a caller by itself: the server
 * names it in the answer that it belongs to.
 */

import { bytesOfName, type Name } from "../wire/digest.js";
import { BYTES_MIN } from "./differences.js";

/** What an entry costs in memory beside its data, roughly. */
export const ENTRY_BYTES = 250;
/** Names sent along with a read, 18 bytes each. */
export const OFFERED_MAX = 64;
const PREFIX_BYTES = 16;
/** Places whose values are likely bases of a value of another place. */
const LATEST_PLACES_MAX = 16;

/** A value, its name, and the place it stands at: kind, namespace and channel. */
export interface Named {
  place: string;
  name: Name;
  data: Uint8Array;
}

/** A value that a read names, by the first bytes of its name. */
export interface Offered {
  name: Name;
  prefix: Uint8Array;
  data: Uint8Array;
}

/** Values and places of one thread; the one used last comes last. */
class ThreadValues {
  readonly values = new Map<Name, Uint8Array>();
  readonly places = new Map<string, Name>();
  // The last of both, so that a call costs the same in a thread of thousands of values. Names have their first bytes.
  readonly latest = new Map<Name, Uint8Array>();
  readonly latestPlaces = new Set<string>();

  /** The value, and its place, were used last. */
  use(name: Name, place: string): void {
    moveToEnd(this.latest, name, this.latest.get(name) ?? bytesOfName(name, PREFIX_BYTES));
    if (this.latest.size > OFFERED_MAX) this.latest.delete(first(this.latest)[0]);
    this.latestPlaces.delete(place);
    this.latestPlaces.add(place);
    const [oldest] = this.latestPlaces;
    if (oldest !== undefined && this.latestPlaces.size > LATEST_PLACES_MAX) {
      this.latestPlaces.delete(oldest);
    }
  }

  /** The value is not held any more. */
  drop(name: Name): void {
    this.values.delete(name);
    this.latest.delete(name);
    for (const [place, held] of this.places) {
      if (held !== name) continue;
      this.places.delete(place);
      this.latestPlaces.delete(place);
    }
  }
}

/** See above. `bytesMax` bounds all threads together; 0 keeps nothing. */
export class Values {
  readonly bytesMax: number;
  readonly #threads = new Map<string, ThreadValues>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** What is kept now. */
  get sizeBytes(): number {
    return this.#bytes;
  }

  /** Values that the server has stored: acknowledged, or read. The last one is the newest. */
  keep(threadId: string, values: Iterable<Named>): void {
    for (const { place, name, data } of values) {
      const cost = data.length + ENTRY_BYTES;
      if (data.length < BYTES_MIN || cost > this.bytesMax) continue;
      const thread = this.#threads.get(threadId) ?? new ThreadValues();
      moveToEnd(this.#threads, threadId, thread);
      thread.places.set(place, name);
      const held = thread.values.get(name);
      // A view would keep all of the answer that it is part of.
      moveToEnd(thread.values, name, held ?? owned(data));
      thread.use(name, place);
      if (held === undefined) this.#bytes += cost;
    }
    while (this.#bytes > this.bytesMax) this.#dropOldest();
  }

  /** The value of this name. */
  get(threadId: string, name: Name): Uint8Array | undefined {
    return this.#threads.get(threadId)?.values.get(name);
  }

  /** The latest value of this place. */
  at(threadId: string, place: string): Named | undefined {
    const thread = this.#threads.get(threadId);
    const name = thread?.places.get(place);
    const data = name === undefined ? undefined : thread?.values.get(name);
    return name === undefined || data === undefined ? undefined : { place, name, data };
  }

  /** Names, first bytes of the names, and data of the values used last, newest first. */
  latest(threadId: string): Offered[] {
    const thread = this.#threads.get(threadId);
    if (!thread) return [];
    const found: Offered[] = [];
    for (const [name, prefix] of thread.latest) {
      const data = thread.values.get(name);
      if (data) found.push({ name, prefix, data });
    }
    return found.reverse();
  }

  /** The values that the places used last have now, newest first, each once. */
  latestOfPlaces(threadId: string, count: number): Named[] {
    const thread = this.#threads.get(threadId);
    if (!thread) return [];
    const found = new Map<Name, Named>();
    for (const place of [...thread.latestPlaces].reverse()) {
      const named = this.at(threadId, place);
      if (named && found.size < count && !found.has(named.name)) found.set(named.name, named);
    }
    return [...found.values()];
  }

  /** The thread was removed or replaced, or the server does not know its values. */
  forget(threadId: string): void {
    const thread = this.#threads.get(threadId);
    if (!thread) return;
    this.#threads.delete(threadId);
    for (const data of thread.values.values()) this.#bytes -= data.length + ENTRY_BYTES;
  }

  #dropOldest(): void {
    const [threadId, thread] = first(this.#threads);
    const [name, data] = first(thread.values);
    thread.drop(name);
    this.#bytes -= data.length + ENTRY_BYTES;
    if (thread.values.size === 0) this.#threads.delete(threadId);
  }
}

/** Bytes that share their memory with nothing larger. */
export function owned(data: Uint8Array): Uint8Array {
  return data.length === data.buffer.byteLength ? data : data.slice();
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

function first<Value>(map: Map<string, Value>): [string, Value] {
  for (const entry of map) return entry;
  throw new Error("the count of bytes is that of what is kept");
}
