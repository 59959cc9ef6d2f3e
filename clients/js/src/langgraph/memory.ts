/**
 * What a saver remembers between calls, all of it bounded: generations, channels asked for, chains.
 *
 * A chain serves two purposes. As an **answer** it saves the request that LangGraph would make right after a read; it is
 * dropped as soon as this saver writes to one of its checkpoints, when the thread is seen to be gone or restored, and after
 * `ANSWER_MS_MAX`, because other processes write too. As an **offer** (`have`) it saves bytes: the server compares digests,
 * so it can never be stale.
 */

import type { Chain, Key } from "./history.js";

const THREADS_MAX = 10_000;
const CHANNELS_MAX = 256;
const TOUCHES_MAX = 256;
const FORMER_MAX = 2 * TOUCHES_MAX;
export const ANSWER_MS_MAX = 60_000;

/** A checkpoint that was written, and whether it was put (else writes were added to it). */
export interface Touch {
  key: Key;
  isPut: boolean;
}

/** The checkpoint of an operation, and the one that it goes on from. */
export interface Based {
  key: Key;
  basedOn: Key | undefined;
}

/**
 * What is known of one thread. `touched` are the checkpoints written last, `touches` counts. `former` are checkpoints that were written
 * before a restore and not read since, with the generation of then: a run that is still under way goes on from them.
 */
class ThreadMemory {
  generation: string | undefined;
  readonly former = new Map<Key, string>();
  channels = new Set<string>();
  readonly touched: Touch[] = [];
  touches = 0;
}

/** The state of a thread when a read began; tells what was written while it was under way. */
export class ReadMark {
  readonly #memory: ThreadMemory;
  readonly #touches: number;

  constructor(memory: ThreadMemory) {
    this.#memory = memory;
    this.#touches = memory.touches;
  }

  /** Whether a write since then changed an answer of the chain, or may have. */
  isDisturbed(current: ThreadMemory | undefined, chain: Chain): boolean {
    if (current !== this.#memory) return true;
    const count = current.touches - this.#touches;
    if (count > TOUCHES_MAX) return true;
    return count > 0 && current.touched.slice(-count).some((touch) => changes(touch, chain));
  }
}

interface Held {
  threadId: string;
  chain: Chain;
  /** Undefined: an offer only. */
  readAt: number | undefined;
}

/** See above. `chainBytesMax` bounds all chains together; 0 keeps none. */
export class Memory {
  readonly chainBytesMax: number;
  readonly #clock: () => number;
  readonly #threads = new Map<string, ThreadMemory>();
  /** By slot: thread, namespace ("" for the pages of a list, which may mix them) and a number. */
  readonly #chains = new Map<string, Held>();
  readonly #slots = new Map<string, Set<string>>();
  #bytes = 0;
  #pages = 0;

  constructor(chainBytesMax: number, clock: () => number = Date.now) {
    this.chainBytesMax = chainBytesMax;
    this.#clock = clock;
  }

  // Generations and channels

  /** The generation last heard of. */
  generation(threadId: string): string | undefined {
    return this.#threads.get(threadId)?.generation;
  }

  /**
   * The generation in which operations are meant. One that goes on from before a restore is of then, and so is what follows it.
   */
  generationFor(threadId: string, ops: readonly Based[]): string | undefined {
    const known = this.#threads.get(threadId);
    if (!known?.former.size) return known?.generation;
    let { generation } = known;
    for (const { key, basedOn } of ops) {
      const former = basedOn === undefined ? undefined : known.former.get(basedOn);
      if (former === undefined) continue;
      known.former.set(key, former);
      generation = former;
    }
    return generation;
  }

  /** Note a generation from an answer. Another one than before: the thread was restored. */
  learn(threadId: string, generation: string | undefined): void {
    const known = this.#known(threadId);
    if (known.generation === generation) return;
    if (known.generation !== undefined) {
      this.dropAnswers(threadId);
      for (const { key } of known.touched) known.former.set(key, known.generation);
      for (const oldest of known.former.keys()) {
        if (known.former.size <= FORMER_MAX) break;
        known.former.delete(oldest);
      }
    }
    known.generation = generation;
  }

  /** Checkpoints were read: whoever goes on from them knows the thread as it is now. */
  seen(threadId: string, keys: Iterable<Key>): void {
    const former = this.#threads.get(threadId)?.former;
    if (!former?.size) return;
    for (const key of keys) former.delete(key);
  }

  /** The channels whose history was asked for. */
  channels(threadId: string): string[] {
    return [...(this.#threads.get(threadId)?.channels ?? [])];
  }

  /** Note channels whose history was asked for. */
  asked(threadId: string, channels: Iterable<string>): void {
    const known = this.#known(threadId);
    for (const channel of channels) known.channels.add(channel);
    for (const oldest of known.channels) {
      if (known.channels.size <= CHANNELS_MAX) break;
      known.channels.delete(oldest);
    }
  }

  // Writes

  /** Checkpoints are about to be written, or have been. Call before and after. */
  touch(threadId: string, touches: readonly Touch[]): void {
    const known = this.#known(threadId);
    for (const touch of touches) {
      known.touches += 1;
      known.touched.push(touch);
      for (const held of this.#heldOf(threadId)) {
        if (changes(touch, held.chain)) held.readAt = undefined;
      }
    }
    if (known.touched.length > 2 * TOUCHES_MAX) known.touched.splice(0, TOUCHES_MAX);
  }

  /** The thread is about to be replaced or removed, or has been. Call before and after. */
  forget(threadId: string): void {
    const known = this.#threads.get(threadId);
    this.#threads.delete(threadId);
    if (known && known.channels.size > 0) this.#known(threadId).channels = known.channels;
    for (const slot of [...(this.#slots.get(threadId) ?? [])]) this.#remove(slot);
  }

  /** Something of unknown extent was deleted. Call before and after. */
  dropAllAnswers(): void {
    for (const known of this.#threads.values()) known.touches += TOUCHES_MAX + 1;
    for (const held of this.#chains.values()) held.readAt = undefined;
  }

  // Reads

  /** Call before a read is sent whose answer may be kept. */
  beginRead(threadId: string): ReadMark {
    return new ReadMark(this.#known(threadId));
  }

  /** The chain last read in this namespace, to get only the difference. */
  offer(threadId: string, checkpointNs: string): Chain | undefined {
    const slot = slotOf(threadId, checkpointNs, "latest");
    const held = this.#chains.get(slot);
    if (held) moveToEnd(this.#chains, slot, held);
    return held?.chain;
  }

  /** A chain that still holds the histories of these channels of this checkpoint. */
  answer(threadId: string, key: Key, channels: readonly string[]): Chain | undefined {
    for (const slot of [...(this.#slots.get(threadId) ?? [])].reverse()) {
      const held = this.#chains.get(slot);
      if (held?.readAt === undefined || this.#clock() - held.readAt > ANSWER_MS_MAX) continue;
      const target = held.chain.targets.get(key);
      if (target && channels.every((channel) => target.channels.has(channel))) {
        moveToEnd(this.#chains, slot, held);
        return held.chain;
      }
    }
    return undefined;
  }

  /** Keep the chain of one walk as offer and answer; the one before stays as an answer. */
  keep(threadId: string, checkpointNs: string, chain: Chain, mark: ReadMark): void {
    const before = this.#remove(slotOf(threadId, checkpointNs, "latest"));
    if (before?.readAt !== undefined) {
      this.#insert(slotOf(threadId, checkpointNs, "previous"), before);
    }
    this.#insert(slotOf(threadId, checkpointNs, "latest"), this.#held(threadId, chain, mark));
  }

  /** Keep the chain of a page of a list, as answer only. */
  keepPage(threadId: string, chain: Chain, mark: ReadMark): void {
    const held = this.#held(threadId, chain, mark);
    if (held.readAt === undefined || chain.targets.size === 0) return;
    this.#pages += 1;
    this.#insert(slotOf(threadId, "", `page ${this.#pages}`), held);
  }

  /** The thread, or a checkpoint of it, was seen to be gone. */
  dropAnswers(threadId: string): void {
    for (const held of this.#heldOf(threadId)) held.readAt = undefined;
  }

  #heldOf(threadId: string): Held[] {
    const slots = [...(this.#slots.get(threadId) ?? [])];
    return slots.flatMap((slot) => this.#chains.get(slot) ?? []);
  }

  #held(threadId: string, chain: Chain, mark: ReadMark): Held {
    const isDisturbed = mark.isDisturbed(this.#threads.get(threadId), chain);
    return { threadId, chain, readAt: isDisturbed ? undefined : this.#clock() };
  }

  #known(threadId: string): ThreadMemory {
    const known = this.#threads.get(threadId) ?? new ThreadMemory();
    moveToEnd(this.#threads, threadId, known);
    for (const oldest of this.#threads.keys()) {
      if (this.#threads.size <= THREADS_MAX) break;
      this.#threads.delete(oldest);
    }
    return known;
  }

  #insert(slot: string, held: Held): void {
    this.#remove(slot);
    if (held.chain.sizeBytes > this.chainBytesMax) return;
    this.#chains.set(slot, held);
    const slots = this.#slots.get(held.threadId) ?? new Set();
    this.#slots.set(held.threadId, slots.add(slot));
    this.#bytes += held.chain.sizeBytes;
    for (const oldest of this.#chains.keys()) {
      if (this.#bytes <= this.chainBytesMax) break;
      this.#remove(oldest);
    }
  }

  #remove(slot: string): Held | undefined {
    const held = this.#chains.get(slot);
    if (!held) return undefined;
    this.#chains.delete(slot);
    this.#bytes -= held.chain.sizeBytes;
    const slots = this.#slots.get(held.threadId);
    slots?.delete(slot);
    if (slots?.size === 0) this.#slots.delete(held.threadId);
    return held;
  }
}

/** A target's own writes are no part of its history, but a put may give it another parent. */
function changes({ key, isPut }: Touch, chain: Chain): boolean {
  return chain.ids.has(key) || (isPut && chain.targets.has(key));
}

function slotOf(threadId: string, checkpointNs: string, which: string): string {
  return JSON.stringify([threadId, checkpointNs, which]);
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}
