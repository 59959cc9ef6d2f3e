/** Sets how often the page asks the server again where no stream tells it what changes. A hidden page asks nothing. */

/** Lists. */
export const LIST_MS = 15_000;
/** Lists and sums for which the server counts. */
export const COUNTED_MS = 60_000;
/** A longer list is not asked for again by itself: that would load all of its pages. */
const PAGES_LIVE_MAX = 2;
const THREAD_MS_MIN = 2_000;
const THREAD_MS_MAX = 15_000;
const SLOWER = 1.5;

export function isLive(pages: number): boolean {
  return pages <= PAGES_LIVE_MAX;
}

interface PagedQuery {
  state: { data?: { pages: readonly unknown[] } | undefined };
}

/** The `refetchInterval` of a list with pages. */
export function listInterval({ state: { data } }: PagedQuery): number | false {
  return isLive(data?.pages.length ?? 0) ? LIST_MS : false;
}

/** The same for a list with counts. */
export function countedInterval({ state: { data } }: PagedQuery): number | false {
  return isLive(data?.pages.length ?? 0) ? COUNTED_MS : false;
}

/** Whether a view has to ask: while nothing tells it of changes, and after an error. */
export function hasToAsk(isFollowed: boolean, { state }: { state: { error: unknown } }): boolean {
  return !isFollowed || state.error !== null;
}

/** The server does not show an item that has expired, and tells of it when it removes it. */
const EXPIRY_MS_MIN = 2_000;
const EXPIRY_MS_MAX = 3_600_000;

/** The `refetchInterval` of items that are followed: until the first one expires. */
export function untilExpiry(items: readonly { expiresAt?: Date | undefined }[]): number | false {
  const ends = items.flatMap(({ expiresAt }) => expiresAt?.getTime() ?? []);
  if (ends.length === 0) return false;
  const leftMs = Math.min(...ends) - Date.now();
  // The clock of the server is behind.
  if (leftMs < 0) return LIST_MS;
  return Math.min(EXPIRY_MS_MAX, Math.max(EXPIRY_MS_MIN, leftMs));
}

/** Asks often while something changes, and more and more seldom while nothing does. */
export class Backoff {
  #seen: string | undefined;
  #ms = THREAD_MS_MIN;

  get ms(): number {
    return this.#ms;
  }

  /** What was found. */
  note(found: string): void {
    this.#ms = found === this.#seen ? Math.min(THREAD_MS_MAX, this.#ms * SLOWER) : THREAD_MS_MIN;
    this.#seen = found;
  }
}
