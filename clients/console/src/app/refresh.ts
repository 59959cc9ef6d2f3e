/** Reads what is shown anew: one reading at a time, and what changes meanwhile is read after it. */

import type { Query, QueryClient } from "@tanstack/react-query";
import { isLive } from "./live.js";

/** A pause lasts so many times as long as the reading before it: the server works for one page about a tenth of the time at most. */
const REST = 10;
/** A computer that slept during a reading has not worked for so long. */
const PAUSE_MS_MAX = 60_000;

/** Reads the queries of a predicate that are shown, and has the others read when they are shown again. */
export async function readAnew(
  queries: QueryClient,
  predicate: (query: Query) => boolean,
): Promise<void> {
  const found = queries.getQueryCache().findAll({ predicate });
  const isOnItsWay = ({ state }: Query) => state.fetchStatus === "fetching";
  // What is on its way may have begun before the change, and a further page of a list would be lost.
  await Promise.allSettled(found.filter(isOnItsWay).map(({ promise }) => promise));
  await queries.invalidateQueries({ predicate });
}

/** Whether a query has so few pages that it is read anew by itself. */
export function hasFewPages({ state }: Query): boolean {
  const data = state.data as { pages?: readonly unknown[] } | number | null | undefined;
  return isLive(typeof data === "object" ? (data?.pages?.length ?? 0) : 0);
}

/** The pause after a reading of what changes all the time, at least `pauseMs`. */
export function restAfter(tookMs: number, pauseMs: number): number {
  return Math.min(PAUSE_MS_MAX, Math.max(pauseMs, REST * tookMs));
}

/** Does something again while it is asked for, never twice at a time. */
export class Repeat {
  readonly #act: () => Promise<void>;
  /** Between two of them, by how long the first one took. */
  readonly #pauseMs: (tookMs: number) => number;
  #isAsked = false;
  #isBusy = false;

  constructor(act: () => Promise<void>, pauseMs: (tookMs: number) => number) {
    this.#act = act;
    this.#pauseMs = pauseMs;
  }

  async ask(): Promise<void> {
    this.#isAsked = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#isAsked) {
      this.#isAsked = false;
      const beganMs = Date.now();
      await this.#act();
      const pauseMs = this.#pauseMs(Date.now() - beganMs);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#isBusy = false;
  }
}
