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

/** What has no fields: a value of JSON, bytes, or a time, which is compared as its ISO text. */
type FilterScalar = string | number | bigint | boolean | null | Date | Uint8Array;

export type FilterValue =
  | FilterScalar
  | readonly FilterValue[]
  | { readonly [name: string]: FilterValue };

/** Order is typed: numbers by value, strings by code point, nothing across types. */
export interface FilterOperators {
  $eq?: FilterValue;
  /** There is a value, and it is another one. */
  $ne?: FilterValue;
  $gt?: string | number | bigint | Date;
  $gte?: string | number | bigint | Date;
  $lt?: string | number | bigint | Date;
  $lte?: string | number | bigint | Date;
  $in?: readonly FilterValue[];
  $nin?: readonly FilterValue[];
  $exists?: boolean;
  $not?: FilterCondition;
}

/** Conditions by field. No field begins with a `$`: that is an operator. */
type FieldConditions = { readonly [field: string]: FilterCondition } & {
  readonly [operator: `$${string}`]: never;
};

/** A value; operators; or an object that must have these fields. */
export type FilterCondition =
  | FilterScalar
  | readonly FilterValue[]
  | FilterOperators
  | FieldConditions;

type AllOrAny =
  | { readonly $or: readonly StoreFilter[] }
  | { readonly $and: readonly StoreFilter[] };

/** All must hold. A field with dots is that field, or else the path through objects. */
export type StoreFilter = {
  readonly $and?: readonly StoreFilter[];
  readonly $or?: readonly StoreFilter[];
  readonly $not?: FieldConditions | AllOrAny;
} & { readonly [field: string]: FilterCondition | readonly StoreFilter[] | AllOrAny };

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
