/** How often the page asks again. Nothing is asked while the page is hidden. */

/** Lists. */
export const LIST_MS = 15_000;
const THREAD_MS_MIN = 2_000;
const THREAD_MS_MAX = 15_000;
const SLOWER = 1.5;

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
