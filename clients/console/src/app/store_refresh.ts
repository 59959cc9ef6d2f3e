/** Reads views of items and of files anew when items change. Each view says beside its query which changes touch it. */

import type { Query, QueryClient } from "@tanstack/react-query";
import { hasFewPages, Repeat, readAnew, restAfter } from "./refresh.js";

/** An item that was put or deleted, or has expired. A file is an item, with its path as the key. */
export interface ChangedItem {
  namespace: readonly string[];
  key: string;
}

/** Says of a query of the store or of files which changes touch it. */
export interface FollowedItems {
  isTouchedBy(change: ChangedItem): boolean;
  /** Whether the server has much to do for it, or much to send, so that it is read less often. */
  isCostly?(query: Query): boolean;
}

declare module "@tanstack/react-query" {
  interface Register {
    queryMeta: { items?: FollowedItems | undefined };
  }
}

/** Between two readings of what changes all the time. */
const PAUSE_MS = 1_000;
const COSTLY_PAUSE_MS = 15_000;

export class StoreRefresh {
  readonly #queries: QueryClient;
  readonly #usual: Touched;
  readonly #costly: Touched;

  constructor(queries: QueryClient) {
    this.#queries = queries;
    this.#usual = new Touched(queries, PAUSE_MS);
    this.#costly = new Touched(queries, COSTLY_PAUSE_MS);
  }

  /** Undefined: any item may have changed. */
  onChange(change: ChangedItem | undefined): void {
    for (const query of this.#queries.getQueryCache().getAll()) {
      const items = query.meta?.items;
      if (!items || (change !== undefined && !items.isTouchedBy(change))) continue;
      if (hasFewPages(query)) (items.isCostly?.(query) ? this.#costly : this.#usual).add(query);
    }
  }
}

/** Queries that wait to be read anew. */
class Touched {
  readonly #repeat: Repeat;
  #waiting = new Set<Query>();

  constructor(queries: QueryClient, pauseMs: number) {
    const read = async () => {
      const touched = this.#waiting;
      this.#waiting = new Set();
      await readAnew(queries, (query) => touched.has(query));
    };
    this.#repeat = new Repeat(read, (tookMs) => restAfter(tookMs, pauseMs));
  }

  add(query: Query): void {
    this.#waiting.add(query);
    void this.#repeat.ask();
  }
}

/** Makes a query follow one item. */
export function followedItem(namespace: readonly string[], key: string): FollowedItems {
  return { isTouchedBy: (change) => change.key === key && isSame(change.namespace, namespace) };
}

/** Whether two namespaces are one. */
export function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && isBelow(one, other);
}

/** Whether a namespace is this one, or below it. */
export function isBelow(namespace: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((label, at) => label === namespace[at]);
}
