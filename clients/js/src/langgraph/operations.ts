/** What a store can be asked beyond LangGraph's operations, and what its answers tell beyond LangGraph's items. */

import type {
  GetOperation,
  Item,
  ListNamespacesOperation,
  PutOperation,
  SearchItem,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import type { CallOptions } from "../http/deadline.js";

/** An item with its version, for `ifVersion`, and with what the server knows of its life. */
export interface StoreItem extends Item {
  version: number;
  /** Of the value's JSON text. */
  sizeBytes: number;
  /** Absent: never. */
  expiresAt?: Date;
  /** Minutes that a put, or a read that refreshes, gives it. */
  ttl?: number;
}

export interface StoreSearchItem extends SearchItem, StoreItem {}

/** A page of a search. `nextCursor` is absent on the last one. */
export interface StorePage {
  items: StoreSearchItem[];
  nextCursor?: string;
}

/** `timeoutMs` and `signal` count for an operation that is a batch of its own. */
export interface StoreGetOperation extends GetOperation, CallOptions {
  /** Whether this read extends the item's life. */
  refreshTtl?: boolean | undefined;
}

export interface StorePutOperation extends PutOperation, CallOptions {
  /** Minutes. Absent: the store's default; null: never. */
  ttl?: number | null | undefined;
  /** The version that the item must have; 0: there must be no item. */
  ifVersion?: number | undefined;
  /** The result is the new version. */
  wantsVersion?: boolean | undefined;
}

/** Of a search with more than LangGraph can say. */
export interface StoreSearchExtras extends CallOptions {
  /** Only the namespace itself, nothing below it. */
  exact?: boolean | undefined;
  /** Newest first ("created", the default, which puts do not change), "updated" or "key". */
  sortBy?: "created" | "updated" | "key" | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  after?: string | undefined;
  /** Only these top-level fields of the values. */
  select?: readonly string[] | undefined;
  /** False: no values. */
  values?: boolean | undefined;
  refreshTtl?: boolean | undefined;
  /**
   * How `query` is meant: by meaning ("vector", the default of a store with an `index`), by words of the namespace's
   * `text_fields`, or by both.
   */
  mode?: "text" | "vector" | "hybrid" | undefined;
}

export interface StoreSearchOperation extends SearchOperation, StoreSearchExtras {
  /** The result is a `StorePage`. */
  wantsPage?: boolean | undefined;
}

/** The result is how many items there are. */
export interface StoreCountOperation extends SearchOperation, CallOptions {
  wantsCount: true;
  exact?: boolean | undefined;
}

export type StoreOperation =
  | StoreGetOperation
  | StorePutOperation
  | StoreSearchOperation
  | StoreCountOperation
  | ListNamespacesOperation;
