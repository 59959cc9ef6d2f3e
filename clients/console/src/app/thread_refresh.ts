/** Reads views of threads anew when threads change. */

import type { QueryClient } from "@tanstack/react-query";
import { hasFewPages, Repeat, readAnew, restAfter } from "./refresh.js";

/** Between two readings of a thread that changes all the time. */
const THREAD_PAUSE_MS = 250;
/** The same of lists and counts, at least: an order by size takes long. */
const LISTS_PAUSE_MS = 1_000;

export class ThreadRefresh {
  readonly #queries: QueryClient;
  #changed = new Set<string>();
  #isAnyChanged = false;
  readonly #threads: Repeat;
  readonly #lists: Repeat;

  constructor(queries: QueryClient) {
    this.#queries = queries;
    this.#threads = new Repeat(
      () => this.#readThreads(),
      () => THREAD_PAUSE_MS,
    );
    this.#lists = new Repeat(
      () => this.#readLists(),
      (tookMs) => restAfter(tookMs, LISTS_PAUSE_MS),
    );
  }

  /** Undefined: any thread may have changed. */
  onChange(threadId: string | undefined): void {
    if (threadId === undefined) this.#isAnyChanged = true;
    else this.#changed.add(threadId);
    void this.#threads.ask();
    void this.#lists.ask();
  }

  async #readThreads(): Promise<void> {
    const [changed, isAny] = [this.#changed, this.#isAnyChanged];
    this.#changed = new Set();
    this.#isAnyChanged = false;
    await readAnew(
      this.#queries,
      ({ queryKey: [kind, threadId] }) =>
        kind === "thread" && (isAny || changed.has(String(threadId))),
    );
  }

  async #readLists(): Promise<void> {
    await readAnew(this.#queries, (query) => query.queryKey[0] === "threads" && hasFewPages(query));
  }
}
