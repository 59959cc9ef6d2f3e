/**
 * When a request is sent again, and after how long. Decides only; waiting is the caller's part. Every request of this
 * package is repeatable, but none is repeated while an earlier attempt may still run: a late duplicate of a write must not
 * bring back what was deleted in between.
 */

import { errorOf, isPermanent, type Outcome } from "./outcome.js";

const WAIT_MS_FIRST = 100;
/** Short, so that a server that is back is found soon. */
const WAIT_MS_MAX = 1_000;
const RETRY_AFTER_MS_MAX = 30_000;
/** How long a write that was begun may still run on the server. */
const WRITE_MS_MAX = 5_000;
const RETRIED = new Set([429, 502, 503, 504]);
/** The server refuses a write that it has not begun this long after its arrival. */
const BUDGET_MS_MAX = 30_000;

/** The time given to the server to begin a write: less than is left of the call, so that a repetition has time. */
export function budgetMs(msLeft: number): number {
  return Math.max(1, Math.min(BUDGET_MS_MAX, Math.floor(msLeft / 2)));
}

/** One attempt, as it came out. */
export interface Attempt {
  outcome: Outcome;
  /** Since it was begun. */
  elapsedMs: number;
  /** What the server was given to begin it. */
  budgetMs: number;
}

/** The attempts of one call. */
export class Attempts {
  readonly #url: string;
  readonly #isWrite: boolean;
  #made = 0;

  constructor(url: string, isWrite: boolean) {
    this.#url = url;
    this.#isWrite = isWrite;
  }

  /** How long to wait before the next attempt; throws the typed error if there is none, or no time for it. */
  msUntilNext({ outcome, elapsedMs, budgetMs }: Attempt, msLeft: number): number {
    this.#made += 1;
    if (!mayRepeat(outcome)) throw errorOf(outcome, this.#url);
    const backoff = Math.min(WAIT_MS_MAX, WAIT_MS_FIRST * 2 ** (this.#made - 1));
    let wait = backoff * (0.5 + Math.random() / 2);
    if ("status" in outcome) wait = Math.max(wait, retryAfterMs(outcome.retryAfter));
    if (this.#isWrite && mayStillRun(outcome)) {
      wait = Math.max(wait, budgetMs + WRITE_MS_MAX - elapsedMs);
    }
    if (wait >= msLeft) throw errorOf(outcome, this.#url);
    return wait;
  }
}

function mayRepeat(outcome: Outcome): boolean {
  return "status" in outcome ? RETRIED.has(outcome.status) : !isPermanent(outcome);
}

/** A wait of ours, or of a proxy, ended: the server may not know and still be at it. */
function mayStillRun(outcome: Outcome): boolean {
  return "status" in outcome ? outcome.status === 504 : outcome.timedOut;
}

function retryAfterMs(header: string | null): number {
  if (!header) return 0;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), RETRY_AFTER_MS_MAX) : 0;
}
