/**
 * When a request is sent again, and after how long. Decides only; waiting is the caller's part. Every request of this
 * package is repeatable, but none is repeated while an earlier attempt may still run: a late duplicate of a write must not
 * bring back what was deleted in between.
 */

import {
  errorOfProblem,
  errorOfStatus,
  ProtocolError,
  type ThreadkeepError,
  TransportError,
} from "../errors.js";
import type { Settings } from "./settings.js";

/** A complete HTTP answer, whatever its status. */
export interface Answer {
  status: number;
  mediaType: string;
  retryAfter: string | null;
  body: Uint8Array;
}

/** No complete answer arrived. `timedOut` tells a wait that ended from a connection lost. */
export interface SendFailure {
  cause: unknown;
  timedOut: boolean;
}

export type Outcome = Answer | SendFailure;

const WAIT_MS_FIRST = 100;
const WAIT_MS_MAX = 5_000;
const RETRY_AFTER_MS_MAX = 30_000;
/** How long a write that was begun may still run on the server. */
const WRITE_MS_MAX = 5_000;
const RETRIED = new Set([429, 502, 503, 504]);

/** The attempts of one call. */
export class Attempts {
  readonly #settings: Settings;
  readonly #isWrite: boolean;
  #made = 0;

  constructor(settings: Settings, isWrite: boolean) {
    this.#settings = settings;
    this.#isWrite = isWrite;
  }

  /**
   * How long to wait before the next attempt; throws the typed error if there is none. `elapsedMs` is the time since the
   * attempt that came out so was begun.
   */
  msUntilNext(outcome: Outcome, elapsedMs: number): number {
    this.#made += 1;
    if (this.#made >= this.#settings.attempts || !mayRepeat(outcome)) throw errorOf(outcome);
    const backoff = Math.min(WAIT_MS_MAX, WAIT_MS_FIRST * 2 ** (this.#made - 1));
    let wait = backoff * (0.5 + Math.random() / 2);
    if ("status" in outcome) wait = Math.max(wait, retryAfterMs(outcome.retryAfter));
    if (this.#isWrite && mayStillRun(outcome)) {
      wait = Math.max(wait, this.#settings.budgetMs + WRITE_MS_MAX - elapsedMs);
    }
    return wait;
  }
}

/** The typed error of an outcome that is not a success. */
export function errorOf(outcome: Outcome): ThreadkeepError {
  if (!("status" in outcome)) return transportError(outcome);
  const { status, mediaType } = outcome;
  if (mediaType === "application/problem+json") {
    const problem = problemIn(outcome.body);
    if (problem) return errorOfProblem(status, problem);
  }
  if (status < 400) {
    return new ProtocolError("a redirect or an empty answer was not expected", { status });
  }
  return errorOfStatus(status, `HTTP ${status} with no problem document (${mediaType})`);
}

function transportError(failure: SendFailure): TransportError {
  const { cause } = failure;
  if (failure.timedOut) return new TransportError("no answer in time", { cause });
  // The reason of a failed fetch is one level down.
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return new TransportError(inner instanceof Error ? inner.message || inner.name : String(inner), {
    cause,
  });
}

function problemIn(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const problem: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof problem === "object" && problem !== null
      ? (problem as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function mayRepeat(outcome: Outcome): boolean {
  return !("status" in outcome) || RETRIED.has(outcome.status);
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
