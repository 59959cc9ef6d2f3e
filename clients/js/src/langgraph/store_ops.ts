/** Operations of the store as they travel, and their results as LangGraph's items. */

import type { MatchCondition, Operation } from "@langchain/langgraph-checkpoint";
import { searchBody as bodyOfSearch, countBody } from "../client/store_bodies.js";
import { type Item, itemPage, item as itemRecord, namespacesIn } from "../client/store_records.js";
import { InvalidError, type ThreadkeepError } from "../errors.js";
import { errorOfProblem } from "../problems.js";
import { numberIn, objectOf } from "../wire/answers.js";
import { documentText } from "../wire/document_text.js";
import type { Integers } from "../wire/document_value.js";
import { keyOnWire } from "../wire/ids.js";
import { minutesOf, optionalWholeNumber, wholeNumber } from "../wire/numbers.js";
import { wellFormed } from "../wire/packing.js";
import type { Schemas } from "../wire/schemas.js";
import { indexPut, indexSearch, type Wants } from "./embedding.js";
import { labelsOf, labelsOfPut } from "./namespaces.js";
import type {
  StoreCountOperation,
  StoreGetOperation,
  StoreOperation,
  StorePage,
  StorePutOperation,
  StoreSearchItem,
  StoreSearchOperation,
} from "./operations.js";
import type { StoreSettings } from "./store_settings.js";

/** One operation in the form of the wire, with exactly one entry. */
export type Wire = Schemas["StoreOp"];
/** Asks for one read more; throws what is wrong with it. */
export type Ask = (wire: Wire) => Promise<object>;

/** An operation, checked and ready to be sent. */
export interface Prepared {
  wire: Wire;
  /** Which item it changes; undefined for reads. */
  changes: string | undefined;
  /** About what it takes on the wire. */
  sizeBytes: number;
  /** Present where it cannot travel without vectors. */
  wants?: Wants | undefined;
  /** The caller's result, from the server's. Asks on where an answer ended at its limits. */
  finish(answer: object, ask: Ask): unknown;
}

/** Namespaces that the server lists at one time. */
const ROWS_MAX = 1_000;
const OVERHEAD_BYTES = 256;

/** The operation as the server takes it. Throws InvalidNamespaceError and InvalidError. */
export function prepared(operation: Operation | StoreOperation, settings: StoreSettings): Prepared {
  if (typeof operation !== "object" || operation === null) {
    throw new InvalidError("not an operation of a store", { field: "operations" });
  }
  if ("namespacePrefix" in operation) {
    return "wantsCount" in operation ? count(operation) : search(operation, settings);
  }
  if ("value" in operation) return change(operation, settings);
  if ("key" in operation) return get(operation, settings);
  if ("namespace" in operation) {
    throw new InvalidError("an operation with a namespace needs a key", { field: "key" });
  }
  return listNamespaces(operation);
}

/** The typed error of one operation; undefined where it went well. */
export function errorIn(answer: object): ThreadkeepError | undefined {
  const problem = (answer as { error?: unknown }).error;
  if (problem === undefined || problem === null) return undefined;
  const raw = objectOf<Schemas["StoreOpError"]>(problem, "error");
  return errorOfProblem(numberIn(raw, "status"), { ...raw });
}

function get(operation: StoreGetOperation, settings: StoreSettings): Prepared {
  const { namespace, key, refreshTtl = settings.refreshOnRead } = operation;
  const place = { namespace: labelsOf(namespace), key: keyOnWire(key) };
  return read({ get: { ...place, refresh_ttl: refreshTtl } }, (answer) => {
    const { item } = answer as Schemas["GotItem"];
    return item === undefined || item === null ? null : itemOf(itemRecord(item, settings.integers));
  });
}

function change(operation: StorePutOperation, settings: StoreSettings): Prepared {
  const { namespace, key, value, ifVersion } = operation;
  const labels = value === null ? labelsOf(namespace) : labelsOfPut(namespace);
  const place = {
    namespace: labels,
    key: keyOnWire(key),
    if_version: optionalWholeNumber(ifVersion, "ifVersion"),
  };
  const changes = JSON.stringify([...labels, String(key)]);
  if (value === null) {
    const wire = { delete: place } as Wire;
    return { wire, changes, sizeBytes: OVERHEAD_BYTES, finish: () => undefined };
  }
  const text = documentText(value, "value");
  const { ttl = settings.defaultTtl } = operation;
  const ttlMinutes = ttl === null ? undefined : minutesOf(ttl, "ttl");
  const put = { ...place, value: text, ttl_minutes: ttlMinutes } as unknown as Schemas["PutItem"];
  const wants = indexPut(put, text, operation.index, settings.index);
  return {
    wire: { put },
    changes,
    sizeBytes: OVERHEAD_BYTES + text.length + (wants?.sizeBytes ?? 0),
    wants,
    finish: (answer) => {
      const version = numberIn(answer as Schemas["ItemVersion"], "version");
      return operation.wantsVersion ? version : undefined;
    },
  };
}

function search(operation: StoreSearchOperation, settings: StoreSettings): Prepared {
  const limit = wholeNumber(operation.limit ?? 10, "limit");
  const mode = modeOf(operation, settings);
  const body = searchBody(operation, limit, mode, settings);
  const { query } = operation;
  const wants =
    settings.index && query && mode !== "text"
      ? indexSearch(body, query, settings.index)
      : undefined;
  const reading = read({ search: body }, async (answer, ask) => {
    const page = pageOf(answer, settings.integers);
    if (operation.wantsPage) return page;
    // An answer ends at its bytes and rows: the rest is asked for.
    while (page.nextCursor !== undefined && page.items.length < limit) {
      const { nextCursor: cursor, items } = page;
      const rest = { ...body, cursor, offset: 0, limit: limit - items.length };
      const more = pageOf(await ask({ search: rest }), settings.integers);
      items.push(...more.items);
      if (more.nextCursor === undefined) break;
      page.nextCursor = more.nextCursor;
    }
    return page.items;
  });
  return { ...reading, wants, sizeBytes: reading.sizeBytes + (wants?.sizeBytes ?? 0) };
}

/** Returns the mode of a search; undefined where the operation has none. */
function modeOf(
  { mode, query }: StoreSearchOperation,
  { index }: StoreSettings,
): StoreSearchOperation["mode"] {
  if (mode === undefined) return undefined;
  if (mode !== "vector" && mode !== "text" && mode !== "hybrid") {
    throw new InvalidError('mode must be "vector", "text" or "hybrid"', { field: "mode" });
  }
  if (!query) throw new InvalidError(`mode "${mode}" needs a query`, { field: "query" });
  if (mode !== "text" && index === undefined) {
    const detail = `mode "${mode}" needs a store with an index setting`;
    throw new InvalidError(detail, { field: "mode" });
  }
  return mode;
}

/** Without the query, except where its words count: a listing is what the reference answers without an index. */
function searchBody(
  operation: StoreSearchOperation,
  limit: number,
  mode: StoreSearchOperation["mode"],
  settings: StoreSettings,
): Schemas["SearchItems"] {
  const { filter, sortBy: sort, after, select, exact, values, query } = operation;
  return bodyOfSearch(labelsOf(operation.namespacePrefix, "namespacePrefix"), {
    ...{ filter, sort, select, exact, values, mode, limit },
    cursor: after === undefined ? undefined : wellFormed(after, "after"),
    query: mode === "text" || mode === "hybrid" ? (query ?? "") : undefined,
    offset: operation.offset ?? 0,
    refreshTtl: operation.refreshTtl ?? settings.refreshOnRead,
  }) as Schemas["SearchItems"];
}

function count({ namespacePrefix, filter, exact }: StoreCountOperation): Prepared {
  const body = countBody(labelsOf(namespacePrefix, "namespacePrefix"), { filter, exact });
  return read({ count: body } as Wire, (answer) => {
    return numberIn(answer as Schemas["ItemCount"], "count");
  });
}

function listNamespaces(operation: Extract<Operation, { matchConditions?: unknown }>): Prepared {
  const { matchConditions = [], maxDepth } = operation;
  const limit = wholeNumber(operation.limit ?? 100, "limit");
  const offset = wholeNumber(operation.offset ?? 0, "offset");
  const body: Schemas["ListNamespaces"] = { limit, offset };
  if (maxDepth !== undefined) body.max_depth = wholeNumber(maxDepth, "maxDepth");
  if (matchConditions.length > 0) body.conditions = matchConditions.map(conditionOf);
  return read({ list_namespaces: body }, async (answer, ask) => {
    const found = namespacesIn(answer);
    let last = found.length;
    while (last === ROWS_MAX && found.length < limit) {
      const rest = { ...body, offset: offset + found.length, limit: limit - found.length };
      const more = namespacesIn(await ask({ list_namespaces: rest }));
      found.push(...more);
      last = more.length;
    }
    return found;
  });
}

function read(wire: Wire, finish: Prepared["finish"]): Prepared {
  return { wire, changes: undefined, sizeBytes: OVERHEAD_BYTES, finish };
}

function conditionOf({ matchType, path }: MatchCondition): Schemas["NamespaceCondition"] {
  if (matchType !== "prefix" && matchType !== "suffix") {
    throw new InvalidError(`Unsupported match type: ${matchType}`, { field: "matchConditions" });
  }
  return { match: matchType, path: labelsOf(path, "path") };
}

function pageOf(answer: object, integers: Integers): StorePage {
  const { items, nextCursor } = itemPage(answer, integers);
  const page = { items: items.map(itemOf) };
  return nextCursor === undefined ? page : { ...page, nextCursor };
}

/** In LangGraph's words. Absent fields are absent there too. */
function itemOf({ ttlMinutes, value = {}, ...found }: Item): StoreSearchItem {
  const item = { ...found, value } as StoreSearchItem;
  if (ttlMinutes !== undefined) item.ttl = ttlMinutes;
  return item;
}
