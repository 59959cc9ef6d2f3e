/** The conditions of a search that an address names. */

import type { SearchItemsOptions, ServerInfo } from "threadkeep";
import type { StoreMode, StoreRoute } from "../../app/route.js";
import { isFields } from "../../content/fields.js";

export type Conditions = Pick<SearchItemsOptions, "filter" | "query" | "mode" | "sort">;

const MODES = { words: "text", meaning: "vector", hybrid: "hybrid" } as const;

/** Whether `q` of an address is a filter. */
export function isFilter(mode: StoreMode | undefined): mode is "filter" | undefined {
  return mode === undefined || mode === "filter";
}

/** Returns an error where the filter is no object of JSON. */
export function conditionsOf({ q, mode, filter }: StoreRoute): Conditions | Error {
  if (isFilter(mode)) {
    const text = q ?? filter;
    return text === undefined ? { sort: "updated" } : filterOf(text);
  }
  const found = filter === undefined ? {} : filterOf(filter);
  if (found instanceof Error) return found;
  return q === undefined
    ? { ...found, sort: "updated" }
    : { ...found, query: q, mode: MODES[mode] };
}

function filterOf(text: string): Pick<Conditions, "filter"> | Error {
  try {
    const filter: unknown = JSON.parse(text);
    if (isFields(filter)) return { filter: filter as NonNullable<Conditions["filter"]> };
    return new Error("The filter has to be an object of JSON");
  } catch (error) {
    return new Error(`The filter is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** Why the server has no search of this kind; undefined where it has one, or does not tell. */
export function reasonAgainst(mode: StoreMode, info: ServerInfo | undefined): string | undefined {
  if (mode !== "meaning" && mode !== "hybrid") return undefined;
  const isTold = info?.features !== undefined && info.features !== null;
  if (!isTold || info.features?.embeddings) return undefined;
  return "The server makes no vectors of texts: it has no --embeddings-url.";
}
