/** Makes the bodies of the store calls, and checks arguments that the server cannot see. LangGraph's store sends the same bodies. */

import { InvalidError } from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import { documentText, filterText } from "../wire/document_text.js";
import type { Integers } from "../wire/document_value.js";
import { keyOnWire, namespaceOf } from "../wire/ids.js";
import { minutesOf, optionalWholeNumber } from "../wire/numbers.js";
import { exactText, wellFormed } from "../wire/packing.js";
import type { Body, Schemas } from "../wire/schemas.js";
import type { StoreFilter } from "./store_filter.js";

type SearchBody = Body<"/v1/store/search">;

export interface ReadItemOptions extends CallOptions {
  /** Whether this read extends the lives of the items that it returns. Default true. */
  refreshTtl?: boolean | undefined;
  /** Whole numbers that a `number` would change: "bigint" (the default) keeps them, "number" rounds them. */
  integers?: Integers | undefined;
}

export interface PutItemOptions extends CallOptions {
  /** The item expires after so many minutes without a put, or a read that refreshes. At most 52,560,000. Absent: never. */
  ttlMinutes?: number | undefined;
  /** The version that the item must have (0: there must be none), else VersionConflictError. Absent: the last put wins. */
  ifVersion?: number | undefined;
  /** Paths of the texts that the server makes vectors of, such as `a.b`, `list[*].text` and `$` for the whole value. */
  index?: readonly string[] | undefined;
  /** Vectors of your own, each of 1 to 4,096 numbers. `field` says which part of the value it stands for. */
  vectors?: readonly { field?: string; vector: readonly number[] }[] | undefined;
  /** The name of what made the vectors. Only vectors of one name are compared. */
  model?: string | undefined;
}

/** Conditions on items. All must hold. */
export interface ItemConditions extends CallOptions {
  /** Conditions on fields of the values. */
  filter?: StoreFilter | undefined;
  /** Only the namespace itself, nothing below it. */
  exact?: boolean | undefined;
}

export interface SearchItemsOptions extends ItemConditions, ReadItemOptions {
  /** Default 10. At most 1,000 items and about 4 MiB of values come at one time. */
  limit?: number | undefined;
  /** Matches to skip, at most 1,000,000. Not with a cursor. */
  offset?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
  /** Newest first ("created", the default, which puts do not change), "updated" or "key". */
  sort?: Schemas["ItemSort"] | undefined;
  /** Only these top-level fields of the values. */
  select?: readonly string[] | undefined;
  /** False: no values. */
  values?: boolean | undefined;
  /** Words for "text" and "hybrid"; for "vector" a text of which the server makes a vector. At most 1,024 bytes and 32 words. */
  query?: string | undefined;
  /** The nearest items come first. In place of `query`, or beside it for "hybrid". */
  queryVector?: readonly number[] | undefined;
  /** Default "vector" with a query. "text" and "hybrid" need a namespace with `textFields` (`putSetting`). */
  mode?: Schemas["SearchMode"] | undefined;
  /** The name of what made the vectors. */
  model?: string | undefined;
  /** The meaning of `score`: the cosine (the default), the negated distance, or the inner product. */
  metric?: Schemas["VectorMetric"] | undefined;
}

export interface NamespacesOptions extends CallOptions {
  /** Labels that the namespaces begin with. `*` stands for any one label. */
  prefix?: readonly string[] | undefined;
  /** Labels that they end with, in the same way. */
  suffix?: readonly string[] | undefined;
  /** Longer namespaces are cut to so many labels, and equal ones are one. */
  maxDepth?: number | undefined;
  /** Default 100, at most 1,000. */
  limit?: number | undefined;
  /** Namespaces to skip. */
  offset?: number | undefined;
}

export interface ListNamespacesOptions extends NamespacesOptions {
  /** True: with how many items each one holds, and at most 100 come at one time. */
  counts?: boolean | undefined;
  /** `nextCursor` of the page before, with the same arguments and no offset. */
  cursor?: string | undefined;
}

/** An item's name as it travels. */
export function itemName(
  namespace: readonly string[],
  key: string,
): { namespace: string[]; key: string } {
  return { namespace: namespaceOf(namespace), key: keyOnWire(key) };
}

/** The body of a put, and about how large it is. */
export function putBody(
  namespace: readonly string[],
  key: string,
  value: unknown,
  options: PutItemOptions,
): { body: Body<"/v1/store/put">; sizeBytes: number } {
  const text = documentText(value, "value");
  return { body: bodyOf(namespace, key, text, options), sizeBytes: text.length };
}

/** The body of a put whose value is JSON text already. */
export function textBody(
  namespace: readonly string[],
  key: string,
  text: string,
  options: PutItemOptions,
): Body<"/v1/store/put"> {
  return bodyOf(namespace, key, exactText(text, "text"), options);
}

function bodyOf(
  namespace: readonly string[],
  key: string,
  value: Uint8Array,
  options: PutItemOptions,
): Body<"/v1/store/put"> {
  const { ttlMinutes, ifVersion, index, vectors, model } = options;
  return {
    ...itemName(namespace, key),
    value,
    ttl_minutes: ttlMinutes === undefined ? undefined : minutesOf(ttlMinutes, "ttlMinutes"),
    if_version: optionalWholeNumber(ifVersion, "ifVersion"),
    index: index === undefined ? undefined : namesOf(index, "index"),
    vectors: vectors?.map(({ field, vector }) => {
      return { vector: [...vector], ...(field === undefined ? {} : { field }) };
    }),
    model,
  };
}

export function searchBody(prefix: string[], options: SearchItemsOptions): SearchBody {
  const { limit, offset, cursor, sort, exact, values, mode, model, metric } = options;
  const { query, queryVector, select, refreshTtl } = options;
  return {
    prefix,
    limit: optionalWholeNumber(limit, "limit"),
    offset: optionalWholeNumber(offset, "offset"),
    filter: filterText(options.filter, "filter"),
    exact,
    sort,
    cursor: cursor === undefined ? undefined : wellFormed(cursor, "cursor"),
    select: select === undefined ? undefined : namesOf(select, "select"),
    values,
    query: query === undefined ? undefined : wellFormed(query, "query"),
    query_vector: queryVector === undefined ? undefined : [...queryVector],
    mode,
    model,
    metric,
    refresh_ttl: refreshTtl,
  };
}

export function countBody(prefix: string[], options: ItemConditions): Body<"/v1/store/count"> {
  return { prefix, filter: filterText(options.filter, "filter"), exact: options.exact };
}

export function namespacesBody(options: ListNamespacesOptions): Body<"/v1/store/namespaces"> {
  const { prefix, suffix, maxDepth, limit, offset, counts, cursor } = options;
  const conditions = [
    ...(prefix ? [{ match: "prefix" as const, path: namespaceOf(prefix, "prefix") }] : []),
    ...(suffix ? [{ match: "suffix" as const, path: namespaceOf(suffix, "suffix") }] : []),
  ];
  return {
    conditions: conditions.length === 0 ? undefined : conditions,
    max_depth: optionalWholeNumber(maxDepth, "maxDepth"),
    limit: optionalWholeNumber(limit, "limit"),
    offset: optionalWholeNumber(offset, "offset"),
    counts,
    cursor: cursor === undefined ? undefined : wellFormed(cursor, "cursor"),
  };
}

/** Names of fields, or paths of them. */
export function namesOf(names: unknown, field: string): string[] {
  if (!Array.isArray(names)) {
    throw new InvalidError(`${field} must be a list of field names`, { field });
  }
  return names.map((name) => wellFormed(String(name), field));
}
