/**
 * Callers whose work travels together in one request. Each has its own time and may give up alone; the request under way is
 * cancelled when nobody waits for it any more.
 */

import { TransportError } from "../errors.js";
import { Deadline, onAbort } from "./deadline.js";
import { silenceText } from "./outcome.js";

/** Times that end so close to each other are one. */
const ALIKE_MS = 100;

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
    const callOff = this.deadline.onExpired(() => this.expire());
    const unwatch = onAbort(signal, give);
    this.#unwatch = () => {
      callOff();
      unwatch();
    };
    if (signal?.aborted) give();
  }

  /** Its time is over. */
  expire(): void {
    this.#leave(new TransportError(silenceText(this.#url)));
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
  const left = waiting.map(({ deadline }) => deadline.msLeft);
  const latest = Math.max(...left);
  const isAlike = latest - Math.min(...left) < ALIKE_MS;
  const last = waiting[left.indexOf(latest)];
  // Nobody can leave, and their times end together: what would tell them apart costs more than the rest of a call.
  if (last && isAlike && waiting.every(({ deadline }) => !deadline.limits.signal)) {
    return last.deadline;
  }
  const canceller = new AbortController();
  for (const one of waiting) {
    one.onLeave = () => {
      if (waiting.every(({ isSettled }) => isSettled)) canceller.abort();
    };
    one.watch();
  }
  return new Deadline({ timeoutMs: Math.max(1, latest), signal: canceller.signal });
}
