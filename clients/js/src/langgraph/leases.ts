/**
 * Leases of threads that a saver holds: taken, kept by heartbeats, given back.
 *
 * A lease is held by the saver object, so sub-graphs share it. Heartbeats come from a timer: work that never lets the event
 * loop turn for longer than the expiry loses the lease.
 */

import {
  FenceStaleError,
  InvalidError,
  LeaseHeldError,
  LeaseLostError,
  ThreadkeepError,
} from "../errors.js";
import { Deadline } from "../http/deadline.js";
import type { AnswerOf, Body } from "../wire/schemas.js";

export const ACQUIRE = "/v1/threads/lease/acquire";
export const RENEW = "/v1/threads/lease/renew";
export const RELEASE = "/v1/threads/lease/release";
export const LEASE_SECONDS = 30;
const SECONDS_MAX = 3_600;
/** Heartbeats in the time after which a lease expires. */
const BEATS = 3;
/** How long after the last write an exclusive saver goes on with heartbeats. */
const KEPT_MS = 60_000;
const MS_BETWEEN_TRIES = 250;

type LeasePath = typeof ACQUIRE | typeof RENEW | typeof RELEASE;
type Send = <P extends LeasePath>(
  path: P,
  body: Body<P>,
  deadline: Deadline,
) => Promise<AnswerOf<P>>;

interface Held {
  fence: number;
  /** By Date.now(): until then the server surely keeps it for this saver. */
  expires: number;
  /** By Date.now(): the last write. */
  used: number;
  /** `withLease` calls that are running. */
  blocks: number;
  isBeating: boolean;
  lost?: LeaseLostError;
}

export interface LeasesOptions {
  holder: string;
  isExclusive: boolean;
  seconds: number;
}

/** The leases of one saver. Constructing starts nothing. */
export class Leases {
  readonly #held = new Map<string, Held>();
  readonly #options: LeasesOptions;
  readonly #send: Send;
  #heart: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LeasesOptions, send: Send) {
    const { seconds } = options;
    if (!Number.isInteger(seconds) || seconds < 1 || seconds > SECONDS_MAX) {
      throw new InvalidError(`leaseSeconds must be a whole number from 1 to ${SECONDS_MAX}`, {
        field: "leaseSeconds",
        limit: SECONDS_MAX,
      });
    }
    this.#options = options;
    this.#send = send;
  }

  /** What the next write is sent with; undefined where no lease is held. */
  fence(threadId: string): number | undefined {
    return this.#held.get(threadId)?.fence;
  }

  /** Around a write: acquires what it needs. A refusal for the sake of a lease that was held means that it is lost. */
  async writing<T>(threadId: string, deadline: Deadline, write: () => Promise<T>): Promise<T> {
    if (this.#wants(threadId)) await this.#take(threadId, deadline);
    return this.guarding(threadId, write);
  }

  /** The same for a write that acquires nothing. */
  async guarding<T>(threadId: string, write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      const held = this.#held.get(threadId);
      if (!held || !isRefusal(error)) throw error;
      throw this.#lose(threadId, held, error);
    }
  }

  /** The state was read anew: what was lost before is known now. */
  read(threadId: string): void {
    const held = this.#held.get(threadId);
    if (held?.lost && held.blocks === 0) this.#held.delete(threadId);
  }

  /** The thread is gone, and its lease with it. */
  deleted(threadId: string): void {
    const held = this.#held.get(threadId);
    if (held?.blocks === 0) this.#held.delete(threadId);
    else if (held) Object.assign(held, { isBeating: false, expires: 0 });
  }

  /** Runs work while the thread is this saver's. */
  async during<T>(
    threadId: string,
    waitMs: number,
    work: () => Promise<T>,
    deadline: () => Deadline,
  ): Promise<T> {
    const latest = Date.now() + waitMs;
    while (!this.#enter(threadId)) {
      const time = deadline();
      try {
        await this.#take(threadId, time);
      } catch (error) {
        if (!(error instanceof LeaseHeldError) || Date.now() >= latest) throw error;
        await time.pause(MS_BETWEEN_TRIES);
      }
    }
    try {
      return await work();
    } finally {
      await this.#leave(threadId);
    }
  }

  /** Gives back all, but for those of running blocks. What cannot be given back expires. */
  async releaseAll(): Promise<void> {
    const idle = [...this.#held].filter(([, held]) => held.blocks === 0);
    for (const [threadId] of idle) this.#held.delete(threadId);
    if (this.#held.size === 0) this.#stop();
    await Promise.all(
      idle.map(([threadId, held]) => this.#release(threadId, held).catch(unlessOurs)),
    );
  }

  #wants(threadId: string): boolean {
    const held = this.#held.get(threadId);
    if (!held) return this.#options.isExclusive;
    if (held.lost) throw held.lost;
    const now = Date.now();
    held.used = now;
    if (held.isBeating || now < held.expires) return false;
    return this.#options.isExclusive || held.blocks > 0;
  }

  async #take(threadId: string, deadline: Deadline): Promise<void> {
    const before = this.#held.get(threadId);
    const { holder, seconds } = this.#options;
    const sent = Date.now();
    let fence: number;
    try {
      const body = { thread_id: threadId, holder, ttl_seconds: seconds };
      fence = (await this.#send(ACQUIRE, body, deadline)).fence;
    } catch (error) {
      if (!(error instanceof LeaseHeldError) || !before || before.lost) throw error;
      throw this.#lose(threadId, before, error);
    }
    let held = this.#held.get(threadId);
    if (!held || held.lost) {
      held = { fence, expires: 0, used: 0, blocks: 0, isBeating: true };
      this.#held.set(threadId, held);
    } else if (before === held && fence > held.fence + 1) {
      // One more is the own one, after the lease had expired; every other holder adds one.
      throw this.#lose(threadId, held);
    }
    Object.assign(held, { fence, expires: sent + seconds * 1_000, used: Date.now() });
    held.isBeating = true;
    this.#start();
  }

  #enter(threadId: string): boolean {
    const held = this.#held.get(threadId);
    if (!held?.isBeating || held.lost) return false;
    held.blocks += 1;
    return true;
  }

  async #leave(threadId: string): Promise<void> {
    const held = this.#held.get(threadId);
    if (!held) return;
    held.blocks -= 1;
    held.used = Date.now();
    if (held.blocks > 0 || this.#options.isExclusive) return;
    this.#held.delete(threadId);
    await this.#release(threadId, held);
  }

  async #release(threadId: string, held: Held): Promise<void> {
    if (held.lost) return;
    const { holder } = this.#options;
    const body = { thread_id: threadId, holder, fence: held.fence };
    await this.#send(RELEASE, body, this.#untilExpiry());
  }

  /** For what is of no use later: a lease that is not renewed by then has expired. */
  #untilExpiry(): Deadline {
    return new Deadline({ timeoutMs: this.#options.seconds * 1_000, signal: undefined });
  }

  #lose(threadId: string, held: Held, cause?: unknown): LeaseLostError {
    const detail = `the lease of thread ${JSON.stringify(threadId)} went to another holder: read the thread again`;
    held.lost ??= new LeaseLostError(detail, { cause });
    return held.lost;
  }

  #start(): void {
    if (this.#heart) return;
    const ms = (this.#options.seconds * 1_000) / BEATS;
    this.#heart = setTimeout(() => {
      this.#heart = undefined;
      void this.#beat();
    }, ms);
    // Where timers can be told so, a program that has nothing else to do ends.
    (this.#heart as { unref?: () => void }).unref?.();
  }

  #stop(): void {
    clearTimeout(this.#heart);
    this.#heart = undefined;
  }

  async #beat(): Promise<void> {
    const now = Date.now();
    for (const held of this.#held.values()) {
      if (held.blocks === 0 && now - held.used > KEPT_MS) held.isBeating = false;
    }
    const beating = [...this.#held].filter(([, held]) => held.isBeating && !held.lost);
    if (beating.length === 0) return;
    this.#start();
    await Promise.all(beating.map(([threadId, held]) => this.#renew(threadId, held)));
  }

  async #renew(threadId: string, held: Held): Promise<void> {
    const { holder, seconds } = this.#options;
    const { fence } = held;
    const sent = Date.now();
    try {
      const body = { thread_id: threadId, holder, fence, ttl_seconds: seconds };
      await this.#send(RENEW, body, this.#untilExpiry());
      held.expires = Math.max(held.expires, sent + seconds * 1_000);
    } catch (error) {
      // Of other failures nothing is lost until the lease expires: the next beat tries again.
      const isPresent = this.#held.get(threadId) === held && held.fence === fence;
      if (isPresent && isRefusal(error)) this.#lose(threadId, held, error);
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof FenceStaleError || error instanceof LeaseHeldError;
}

function unlessOurs(error: unknown): void {
  if (!(error instanceof ThreadkeepError)) throw error;
}
