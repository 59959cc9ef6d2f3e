/**
 * Callers whose work travels together in one request. Each has its own time and may give up alone; the request under way is
 * cancelled when nobody waits for it any more.
 */

import { TransportError } from "../errors.js";
import { Deadline, onAbort } from "./deadline.js";
import { silenceText } from "./outcome.js";

/** One caller. It is settled once. */
export class Waiting<T> {
  readonly deadline: Deadline;
  readonly promise: Promise<T>;
  readonly #url: string;
  #resolve!: (result: T) => void;
  #reject!: (reason: unknown) => void;
  #isSettled = false;
  #unwatch: (() => void) | undefined;
  #onLeave: (() => void) | undefined;

  /** `url`: where the request goes, for the error. */
  constructor(deadline: Deadline, url: string) {
    this.deadline = deadline;
    this.#url = url;
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  resolve(result: T): void {
    this.#settle();
    this.#resolve(result);
  }

  reject(reason: unknown): void {
    this.#settle();
    this.#reject(reason);
  }

  /** Rejects when its time is over or its caller gives up. Not needed while a request of its own sees to that. */
  watch(): void {
    if (this.#unwatch || this.#isSettled) return;
    const { signal } = this.deadline.limits;
    const give = () => this.#leave(signal?.reason);
    const callOff = this.deadline.onExpired(() => {
      this.#leave(new TransportError(silenceText(this.#url)));
    });
    const unwatch = onAbort(signal, give);
    this.#unwatch = () => {
      callOff();
      unwatch();
    };
    if (signal?.aborted) give();
  }

  /** The opposite: a request of its own sees to it from now on. */
  unwatch(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** What happens beside when the caller leaves before the end. */
  set onLeave(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  #leave(reason: unknown): void {
    if (this.#isSettled) return;
    this.reject(reason);
    this.#onLeave?.();
  }

  #settle(): void {
    this.#isSettled = true;
    this.unwatch();
  }
}

/** The time of one request for all of them: the longest of theirs. It is cancelled when the last one leaves. */
export function jointDeadline<T>(waiting: readonly Waiting<T>[]): Deadline {
  const [only] = waiting;
  if (only && waiting.length === 1) {
    only.unwatch();
    return only.deadline;
  }
  const canceller = new AbortController();
  for (const one of waiting) {
    one.onLeave = () => {
      if (waiting.every(({ isSettled }) => isSettled)) canceller.abort();
    };
    one.watch();
  }
  const timeoutMs = Math.max(1, ...waiting.map(({ deadline }) => deadline.msLeft));
  return new Deadline({ timeoutMs, signal: canceller.signal });
}
