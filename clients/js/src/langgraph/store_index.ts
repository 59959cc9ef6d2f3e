/** The setting `index` of a store, checked when the store is made, without any I/O. */

import type { IndexConfig } from "@langchain/langgraph-checkpoint";
import { InvalidError } from "../errors.js";

/** As `embeddings`: the server makes the vectors, in the background. `dims` is not needed then. */
export const EMBED_ON_SERVER = "threadkeep:server";
const METRICS = ["cosine", "l2", "inner_product"] as const;
const MODEL_CHARACTERS_MAX = 128;

/** What `score` is: the cosine, the negated distance, or the inner product. */
export type VectorMetric = (typeof METRICS)[number];
/** What is used of LangChain's embeddings. */
export type TextEmbeddings = Pick<IndexConfig["embeddings"], "embedDocuments" | "embedQuery">;

interface StoreIndexChoices {
  /** Paths of the texts that are embedded. Default `["$"]`, the whole value. */
  fields?: string[] | undefined;
  /** Default "cosine". */
  distanceMetric?: VectorMetric | undefined;
}

/** What InMemoryStore takes, and more. */
export interface ClientIndexConfig extends StoreIndexChoices {
  /** Numbers of a vector. */
  dims: number;
  embeddings: TextEmbeddings;
  /**
   * Name of what makes the vectors. Only vectors of one name are compared. By default the name of the embeddings where they
   * have one, else `default-` and the dimensions.
   */
  model?: string | undefined;
}

export interface ServerIndexConfig extends StoreIndexChoices {
  embeddings: typeof EMBED_ON_SERVER;
  dims?: number | undefined;
}

export type StoreIndexConfig = ClientIndexConfig | ServerIndexConfig;

/** Who makes the vectors. */
export type VectorSource =
  | { by: "server" }
  | { by: "client"; embeddings: TextEmbeddings; dims: number; model: string };

export interface StoreIndex {
  fields: readonly string[];
  metric: VectorMetric;
  source: VectorSource;
}

const NAMES = new Set(["dims", "embeddings", "fields", "distanceMetric", "model"]);

/** Throws InvalidError, which names the setting. */
export function storeIndexOf(index: StoreIndexConfig | null | undefined): StoreIndex | undefined {
  if (index === undefined || index === null) return undefined;
  if (typeof index !== "object") throw wrong("index", "must be an object");
  const unknown = Object.keys(index).find((name) => !NAMES.has(name) && !name.startsWith("__"));
  if (unknown !== undefined) throw wrong("index", `has no setting '${unknown}'`);
  const { fields = ["$"], distanceMetric: metric = "cosine" } = index;
  if (!METRICS.includes(metric)) {
    throw wrong("index.distanceMetric", `must be one of ${METRICS.join(", ")}`);
  }
  return { fields: pathsOf(fields, "index.fields"), metric, source: sourceOf(index) };
}

/** A list of paths. Throws InvalidError naming `field`. */
export function pathsOf(paths: unknown, field: string): string[] {
  if (!Array.isArray(paths) || !paths.every((path) => typeof path === "string")) {
    throw wrong(field, "must be a list of paths");
  }
  return [...paths];
}

function sourceOf(index: StoreIndexConfig): VectorSource {
  if (index.embeddings === EMBED_ON_SERVER) {
    if ("model" in index) throw wrong("index.model", "is the server's where it makes the vectors");
    return { by: "server" };
  }
  const { dims, embeddings } = index as ClientIndexConfig;
  if (!Number.isSafeInteger(dims) || dims < 1) {
    throw wrong("index.dims", "must be a whole number, 1 or more");
  }
  const { embedDocuments, embedQuery } = embeddings ?? {};
  if (typeof embedDocuments !== "function" || typeof embedQuery !== "function") {
    throw wrong("index.embeddings", "must be embeddings of LangChain, or EMBED_ON_SERVER");
  }
  const { model = modelOf(embeddings, dims) } = index as ClientIndexConfig;
  if (typeof model !== "string" || model === "" || model !== plain(model)) {
    throw wrong("index.model", "must be a name of visible ASCII characters");
  }
  return { by: "client", embeddings, dims, model };
}

/** As the Python package names them, so that both find each other's vectors. */
function modelOf(embeddings: TextEmbeddings, dims: number): string {
  const { model, modelName } = embeddings as { model?: unknown; modelName?: unknown };
  const named = [model, modelName].find((name) => typeof name === "string" && name !== "");
  return plain((named as string | undefined) ?? `default-${dims}`);
}

function plain(name: string): string {
  const visible = Array.from(name, (it) => (/^[!-~]$/.test(it) && !/['"\\]/.test(it) ? it : "-"));
  return visible.slice(0, MODEL_CHARACTERS_MAX).join("");
}

function wrong(field: string, what: string): InvalidError {
  return new InvalidError(`${field} ${what}`, { field });
}
