/** Operations of the store as they travel, and their results as LangGraph's items. */

import type { MatchCondition, Operation } from "@langchain/langgraph-checkpoint";
import { errorOfProblem, InvalidError, ProtocolError, type ThreadkeepError } from "../errors.js";
import {
  bytesIn,
  listIn,
  numberIn,
  objectOf,
  optionalTextIn,
  textIn,
  textsIn,
} from "../wire/answers.js";
import { documentText, filterText } from "../wire/document_text.js";
import { documentOf, type Integers } from "../wire/document_value.js";
import { wellFormed } from "../wire/packing.js";
import type { Schemas } from "../wire/schemas.js";
import { wideOnWire, wideTextIn } from "../wire/wide_text.js";
import { indexPut, indexSearch, type Wants } from "./embedding.js";
import { labelsOf, labelsOfPut } from "./namespaces.js";
import type {
  StoreCountOperation,
  StoreGetOperation,
  StoreItem,
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
    return item === undefined || item === null ? null : itemOf(item, settings.integers);
  });
}

function change(operation: StorePutOperation, settings: StoreSettings): Prepared {
  const { namespace, key, value, ifVersion } = operation;
  const labels = value === null ? labelsOf(namespace) : labelsOfPut(namespace);
  const place = {
    namespace: labels,
    key: keyOnWire(key),
    if_version: ifVersion === undefined ? undefined : wholeNumber(ifVersion, "ifVersion"),
  };
  const changes = JSON.stringify([...labels, String(key)]);
  if (value === null) {
    const wire = { delete: place } as Wire;
    return { wire, changes, sizeBytes: OVERHEAD_BYTES, finish: () => undefined };
  }
  const text = documentText(value, "value");
  const { ttl = settings.defaultTtl } = operation;
  const ttlMinutes = ttl === null ? undefined : minutes(ttl);
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

/** How the query is meant; undefined where nothing was said. */
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
  const { filter, sortBy, after, select, exact, values, query } = operation;
  const more = {
    filter: filterText(filter, "filter"),
    exact,
    sort: sortBy,
    cursor: after === undefined ? undefined : wellFormed(after, "after"),
    select: select === undefined ? undefined : namesOf(select, "select"),
    values,
    mode,
    query: mode === "text" || mode === "hybrid" ? wellFormed(query ?? "", "query") : undefined,
  };
  const body: Schemas["SearchItems"] = {
    prefix: labelsOf(operation.namespacePrefix, "namespacePrefix"),
    limit,
    offset: wholeNumber(operation.offset ?? 0, "offset"),
    refresh_ttl: operation.refreshTtl ?? settings.refreshOnRead,
  };
  const given = Object.entries(more).filter(([, value]) => value !== undefined);
  return Object.assign(body, Object.fromEntries(given));
}

function count({ namespacePrefix, filter, exact }: StoreCountOperation): Prepared {
  const body = {
    prefix: labelsOf(namespacePrefix, "namespacePrefix"),
    filter: filterText(filter, "filter"),
    exact,
  };
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
    const found = namespacesOf(answer);
    let last = found.length;
    while (last === ROWS_MAX && found.length < limit) {
      const rest = { ...body, offset: offset + found.length, limit: limit - found.length };
      const more = namespacesOf(await ask({ list_namespaces: rest }));
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
  const raw = answer as Schemas["ItemPage"];
  const items = listIn(raw, "items").map((item) => searchItemOf(item, integers));
  const nextCursor = optionalTextIn(raw, "next_cursor");
  return nextCursor === undefined ? { items } : { items, nextCursor };
}

function namespacesOf(answer: object): string[][] {
  const { namespaces } = answer as { namespaces?: unknown };
  if (!Array.isArray(namespaces)) throw new ProtocolError("the answer lacks namespaces");
  return namespaces.map((labels) => textsIn({ namespaces: labels }, "namespaces"));
}

function itemOf(found: unknown, integers: Integers): StoreItem {
  const raw = objectOf<Schemas["Item"]>(found, "item");
  const item: StoreItem = {
    value: raw.value === undefined ? {} : documentOf(bytesIn(raw, "value"), integers),
    key: wideTextIn(raw, "key"),
    namespace: textsIn(raw, "namespace"),
    createdAt: timeIn(raw, "created_at"),
    updatedAt: timeIn(raw, "updated_at"),
    version: numberIn(raw, "version"),
    sizeBytes: numberIn(raw, "size_bytes"),
  };
  if (optionalTextIn(raw, "expires_at") !== undefined) item.expiresAt = timeIn(raw, "expires_at");
  if (typeof raw.ttl_minutes === "number") item.ttl = raw.ttl_minutes;
  return item;
}

function searchItemOf(found: unknown, integers: Integers): StoreSearchItem {
  const { score } = objectOf<Schemas["Item"]>(found, "item");
  const item = itemOf(found, integers);
  return typeof score === "number" ? { ...item, score } : item;
}

function timeIn(raw: Schemas["Item"], name: "created_at" | "updated_at" | "expires_at"): Date {
  const time = new Date(textIn(raw, name));
  if (Number.isNaN(time.getTime())) throw new ProtocolError(`the answer's ${name} is no time`);
  return time;
}

/** A key, which may be any string, or a number for its text. */
export function keyOnWire(key: unknown): string {
  if (typeof key === "number" || typeof key === "bigint") return String(key);
  if (typeof key !== "string") throw new InvalidError("key must be text", { field: "key" });
  return wideOnWire(key);
}

/** For limits, offsets and versions. Throws InvalidError naming `field`. */
export function wholeNumber(value: unknown, field: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw new InvalidError(`${field} must be a whole number, 0 or more`, { field });
  }
  return value as number;
}

function minutes(value: unknown): number {
  if (typeof value !== "number" || !(value >= 0)) {
    throw new InvalidError("ttl must be minutes, 0 or more", { field: "ttl" });
  }
  return value;
}

function namesOf(names: unknown, field: string): string[] {
  if (!Array.isArray(names)) {
    throw new InvalidError(`${field} must be a list of field names`, { field });
  }
  return names.map((name) => wellFormed(String(name), field));
}
