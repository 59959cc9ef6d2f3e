/** The deadline of one call, attempts and pauses included, and its cancellation by the caller. */

import { InvalidError } from "../errors.js";

/** Of a call; of an object, for each of its calls. */
export interface CallOptions {
  /**
   * Milliseconds until a call fails, attempts and pauses included: a server that is down or restarts is tried again until then. A body
   * adds a second for each megabyte, and what a call sends in several requests has the time for each. Default 30,000.
   */
  timeoutMs?: number | undefined;
  /** Cancels the call, and the request that is under way; the call then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface Limits {
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** The longest time that runtimes can wait for. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

const LISTENERS = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls once when the signal aborts; the answer calls it off. A run has one signal and many calls at the same time: the signal
 * gets a single listener for all of them, because runtimes warn of more than ten.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (!signal) return () => {};
  let listeners = LISTENERS.get(signal);
  if (!listeners) {
    const all = new Set<() => void>();
    const tell = () => {
      for (const one of [...all]) one();
    };
    signal.addEventListener("abort", tell, { once: true });
    LISTENERS.set(signal, all);
    listeners = all;
  }
  const known = listeners.add(listener);
  return () => known.delete(listener);
}

/** Limits with what is given put in their place; both signals cancel. Throws InvalidError. */
export function limitsOf(limits: Limits, { timeoutMs, signal }: CallOptions): Limits {
  if (timeoutMs === undefined && signal === undefined) return limits;
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX)) {
    throw new InvalidError(`timeoutMs must be greater than 0, at most ${TIMEOUT_MS_MAX}`, {
      field: "timeoutMs",
      limit: TIMEOUT_MS_MAX,
    });
  }
  const isBoth = signal && limits.signal && signal !== limits.signal;
  return {
    timeoutMs: timeoutMs ?? limits.timeoutMs,
    signal: isBoth
      ? AbortSignal.any([signal, limits.signal as AbortSignal])
      : (signal ?? limits.signal),
  };
}

/** The time of one call, which begins when this is made. Several requests may run within it. */
export class Deadline {
  readonly limits: Limits;
  #endsAt: number;

  constructor(limits: Limits) {
    this.limits = limits;
    this.#endsAt = performance.now() + limits.timeoutMs;
  }

  get msLeft(): number {
    return this.#endsAt - performance.now();
  }

  /** Something has moved: time begins anew. */
  renew(): void {
    this.#endsAt = performance.now() + this.limits.timeoutMs;
  }

  /** More time, for a body. */
  extend(ms: number): void {
    this.#endsAt += ms;
  }

  /** Calls once when the time is over, and not before what was added to it is, too. The answer calls it off. */
  onExpired(expired: () => void, msMax = Number.POSITIVE_INFINITY): () => void {
    const latest = performance.now() + msMax;
    let timer: ReturnType<typeof setTimeout>;
    const arm = () => {
      const ms = Math.min(this.#endsAt, latest) - performance.now();
      if (ms > 0) timer = setTimeout(arm, Math.ceil(ms));
      else expired();
    };
    timer = setTimeout(arm, Math.max(0, Math.ceil(Math.min(this.msLeft, msMax))));
    return () => clearTimeout(timer);
  }

  /**
   * Runs one attempt, which `canceller` ends at the deadline, after `msMax`, or when the caller gives up. How it failed is an
   * outcome; that the caller gave up is thrown.
   */
  async during<T>(
    work: () => Promise<T>,
    canceller: { abort: (reason?: unknown) => void },
    msMax?: number,
  ): Promise<T | { cause: unknown; timedOut: boolean }> {
    const { signal } = this.limits;
    signal?.throwIfAborted();
    let timedOut = false;
    const cancel = () => canceller.abort(signal?.reason);
    const callOff = this.onExpired(() => {
      timedOut = true;
      canceller.abort();
    }, msMax);
    const unwatch = onAbort(signal, cancel);
    try {
      return await work();
    } catch (cause) {
      signal?.throwIfAborted();
      return { cause, timedOut };
    } finally {
      callOff();
      unwatch();
    }
  }

  /** Waits between two attempts. Throws when the caller gives up. */
  async pause(ms: number): Promise<void> {
    const { signal } = this.limits;
    signal?.throwIfAborted();
    await new Promise<void>((resolve) => {
      const go = () => {
        clearTimeout(timer);
        unwatch();
        resolve();
      };
      const timer = setTimeout(go, ms);
      const unwatch = onAbort(signal, go);
    });
    signal?.throwIfAborted();
  }
}
