/** Reads views of threads anew when threads change: one reading at a time, and what changes meanwhile is read after it. */

import type { Query, QueryClient } from "@tanstack/react-query";
import { isLive } from "./live.js";
import type { FeedEvents } from "./thread_feed.js";

/** Between two readings of a thread that changes all the time. */
const THREAD_PAUSE_MS = 250;
/** The same of lists and counts. */
const LISTS_PAUSE_MS = 1_000;

export class Refresh implements FeedEvents {
  readonly #queries: QueryClient;
  #changed = new Set<string>();
  #isAnyChanged = false;
  readonly #threads: Repeat;
  readonly #lists: Repeat;

  constructor(queries: QueryClient) {
    this.#queries = queries;
    this.#threads = new Repeat(() => this.#readThreads(), THREAD_PAUSE_MS);
    this.#lists = new Repeat(() => this.#readLists(), LISTS_PAUSE_MS);
  }

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
    await this.#readAnew(
      ({ queryKey: [kind, threadId] }) =>
        kind === "thread" && (isAny || changed.has(String(threadId))),
    );
  }

  async #readLists(): Promise<void> {
    await this.#readAnew((query) => query.queryKey[0] === "threads" && isLive(pagesOf(query)));
  }

  async #readAnew(predicate: (query: Query) => boolean): Promise<void> {
    const isFirst = this.#queries
      .getQueryCache()
      .findAll({ predicate })
      .some(({ state }) => state.data === undefined && state.fetchStatus !== "idle");
    await this.#queries.invalidateQueries({ predicate });
    // A first reading goes on to its end, and may have begun before the change.
    if (isFirst) await this.#queries.invalidateQueries({ predicate });
  }
}

function pagesOf({ state }: Query): number {
  const data = state.data as { pages?: readonly unknown[] } | number | undefined;
  return typeof data === "object" ? (data.pages?.length ?? 0) : 0;
}

/** Does something again while it is asked for, never twice at a time. */
class Repeat {
  readonly #act: () => Promise<void>;
  readonly #pauseMs: number;
  #isAsked = false;
  #isBusy = false;

  constructor(act: () => Promise<void>, pauseMs: number) {
    this.#act = act;
    this.#pauseMs = pauseMs;
  }

  async ask(): Promise<void> {
    this.#isAsked = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#isAsked) {
      this.#isAsked = false;
      await this.#act();
      await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    }
    this.#isBusy = false;
  }
}
