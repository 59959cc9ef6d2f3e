/**
 * Single operations of one turn of the event loop travel together. Nothing is held back for company: what was asked for
 * in this turn leaves at its end. Each caller has its own outcome, and one bad call fails none of the others. Changes of
 * one item leave one after the other, in the order of the calls, so that each of them happens and the last one stays.
 */

import type { Deadline } from "../http/deadline.js";
import { jointDeadline, Waiting } from "../http/waiting.js";
import { OPS_MAX, type Outcome } from "./store_calls.js";
import type { Prepared } from "./store_ops.js";

const BYTES_MAX = 4 * 1024 * 1024;

type Send = (ops: readonly Prepared[], deadline: Deadline) => Promise<Outcome[]>;

class Waiter extends Waiting<unknown> {
  constructor(
    readonly op: Prepared,
    deadline: Deadline,
    url: string,
  ) {
    super(deadline, url);
  }
}

/** One for each store. */
export class Ticks {
  readonly #url: string;
  readonly #send: Send;
  #queue: Waiter[] = [];
  /** Items that a request under way changes. */
  readonly #changing = new Set<string>();
  #isScheduled = false;

  constructor(url: string, send: Send) {
    this.#url = url;
    this.#send = send;
  }

  /** The operation's own result, or its own error. */
  run(op: Prepared, deadline: Deadline): Promise<unknown> {
    const waiter = new Waiter(op, deadline, this.#url);
    this.#queue.push(waiter);
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      atEndOfTurn(() => {
        this.#isScheduled = false;
        this.#leave();
      });
    }
    return waiter.promise;
  }

  #leave(): void {
    let part: Waiter[];
    do {
      part = this.#nextPart();
      if (part.length > 0) void this.#travel(part);
    } while (part.length > 0);
  }

  /** What may leave now: within the limits, and no change of an item that is being changed. */
  #nextPart(): Waiter[] {
    const part: Waiter[] = [];
    const stays: Waiter[] = [];
    let bytes = 0;
    let isFull = false;
    for (const waiter of this.#queue) {
      if (waiter.isSettled) continue;
      const { changes, sizeBytes } = waiter.op;
      isFull ||= part.length === OPS_MAX || (part.length > 0 && bytes + sizeBytes > BYTES_MAX);
      if (isFull || (changes !== undefined && this.#changing.has(changes))) {
        stays.push(waiter);
        waiter.watch();
        continue;
      }
      if (changes !== undefined) this.#changing.add(changes);
      part.push(waiter);
      bytes += sizeBytes;
    }
    this.#queue = stays;
    return part;
  }

  async #travel(part: readonly Waiter[]): Promise<void> {
    let outcomes: Outcome[];
    try {
      outcomes = await this.#send(
        part.map(({ op }) => op),
        jointDeadline(part),
      );
    } catch (error) {
      outcomes = part.map(() => ({ error }));
    }
    for (const { op } of part) if (op.changes !== undefined) this.#changing.delete(op.changes);
    this.#leave();
    for (const [at, waiter] of part.entries()) {
      const outcome = outcomes[at] as Outcome;
      if ("error" in outcome) waiter.reject(outcome.error);
      else waiter.resolve(outcome.result);
    }
  }
}

/**
 * After what runs now and the promises that it settles. `setImmediate` waits for no clock, where there is one; that of Next.js'
 * edge runtime only throws.
 */
function atEndOfTurn(work: () => void): void {
  const { setImmediate } = globalThis as { setImmediate?: (work: () => void) => void };
  try {
    if (setImmediate) {
      setImmediate(work);
      return;
    }
  } catch {
    // Not here, then.
  }
  setTimeout(work, 0);
}
