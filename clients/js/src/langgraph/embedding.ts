/**
 * Vectors for operations of the store: texts by field paths, embedded here, in one call for what travels together. Paths and
 * texts are those of LangGraph.js, so that an `index` means what it means to InMemoryStore.
 */

import { InvalidError } from "../errors.js";
import { textOf } from "../wire/packing.js";
import type { Schemas } from "../wire/schemas.js";
import { textsAt } from "./field_path.js";
import { pathsOf, type StoreIndex, type VectorSource } from "./store_index.js";

type VectorOf = (text: string) => Uint8Array;
type ClientSource = Extract<VectorSource, { by: "client" }>;
type Put = Schemas["PutItem"];
type Search = Schemas["SearchItems"];

/** What an operation needs embedded before it can travel. */
export interface Wants {
  texts: readonly string[];
  query?: string;
  /** About what the vectors take on the wire. */
  sizeBytes: number;
  /** Puts the vectors where they travel. */
  take(vectors: { ofText: VectorOf; ofQuery: VectorOf }): void;
}

const ENTRY_BYTES = 64;
const NUMBER_BYTES = 4;

/** What `put` takes along: paths for the server, or vectors once there are any. `value` is the item's JSON text. */
export function indexPut(
  put: Put,
  value: Uint8Array,
  index: false | string[] | null | undefined,
  settings: StoreIndex | undefined,
): Wants | undefined {
  const isAsked = index !== undefined && index !== null && index !== false;
  const own = isAsked ? pathsOf(index, "index") : undefined;
  if (index === false || settings === undefined) return undefined;
  const paths = own ?? [...settings.fields];
  const { source } = settings;
  if (source.by === "server") {
    put.index = paths;
    return undefined;
  }
  const named = namedTexts(JSON.parse(textOf(value)), paths);
  if (named.length === 0) return undefined;
  return {
    texts: named.map(([, text]) => text),
    sizeBytes: named.length * (ENTRY_BYTES + source.dims * NUMBER_BYTES),
    take: ({ ofText }) => {
      const vectors = named.map(([field, text]) => ({ field, vector: ofText(text) }));
      Object.assign(put, { vectors, model: source.model });
    },
  };
}

/** What a search takes along that goes by vectors. */
export function indexSearch(
  search: Search,
  query: string,
  settings: StoreIndex,
): Wants | undefined {
  const { source, metric } = settings;
  search.metric = metric;
  if (source.by === "server") {
    search.query = query;
    return undefined;
  }
  return {
    texts: [],
    query,
    sizeBytes: source.dims * NUMBER_BYTES,
    take: ({ ofQuery }) => {
      Object.assign(search, { query_vector: ofQuery(query), model: source.model });
    },
  };
}

/** Embeds for all of them: one call for the texts, one for each distinct query. */
export async function embed(wants: readonly Wants[], { source }: StoreIndex): Promise<void> {
  if (wants.length === 0 || source.by === "server") return;
  const texts = [...new Set(wants.flatMap((want) => want.texts))];
  const queries = [...new Set(wants.flatMap(({ query }) => (query === undefined ? [] : [query])))];
  const { embeddings } = source;
  const [ofTexts, ofQueries] = await Promise.all([
    texts.length > 0 ? embeddings.embedDocuments(texts) : [],
    Promise.all(queries.map((query) => embeddings.embedQuery(query))),
  ]);
  const vectors = {
    ofText: vectorsOf(texts, ofTexts, source),
    ofQuery: vectorsOf(queries, ofQueries, source),
  };
  for (const want of wants) want.take(vectors);
}

/** Texts with the names of their fields; of a path to several, each has its number. */
function namedTexts(value: unknown, paths: readonly string[]): [string, string][] {
  return paths.flatMap((path) => {
    const texts = textsAt(value, path);
    return texts.map((text, at): [string, string] => [
      texts.length === 1 ? path : `${path}.${at}`,
      text,
    ]);
  });
}

function vectorsOf(texts: readonly string[], vectors: unknown, source: ClientSource): VectorOf {
  if (!Array.isArray(vectors) || vectors.length !== texts.length) {
    const count = Array.isArray(vectors) ? vectors.length : "no";
    throw wrong(`returned ${count} vectors for ${texts.length} texts`);
  }
  const found = new Map(texts.map((text, at) => [text, bytesOf(vectors[at], source.dims)]));
  return (text) => found.get(text) as Uint8Array;
}

/** 32-bit floats, little-endian. */
function bytesOf(vector: unknown, dims: number): Uint8Array {
  if (!Array.isArray(vector) && !(vector instanceof Float32Array))
    throw wrong("returned no vector");
  if (vector.length !== dims) {
    const detail = `index.embeddings returned a vector of ${vector.length} numbers, index.dims is ${dims}`;
    throw new InvalidError(detail, { field: "index.dims", limit: dims });
  }
  const bytes = new DataView(new ArrayBuffer(dims * NUMBER_BYTES));
  for (const [at, number] of vector.entries()) {
    if (typeof number !== "number" || !Number.isFinite(Math.fround(number))) {
      throw wrong("returned a vector with something that is no finite 32-bit number");
    }
    bytes.setFloat32(at * NUMBER_BYTES, number, true);
  }
  return new Uint8Array(bytes.buffer);
}

function wrong(what: string): InvalidError {
  return new InvalidError(`index.embeddings ${what}`, { field: "index.embeddings" });
}
