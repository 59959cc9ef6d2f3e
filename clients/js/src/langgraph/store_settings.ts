/** What a store is made with, checked without any I/O. */

import { InvalidError } from "../errors.js";
import type { ConnectionOptions } from "../http/settings.js";
import type { Integers } from "../wire/document_value.js";
import { type StoreIndex, type StoreIndexConfig, storeIndexOf } from "./store_index.js";

/** Times to live are in minutes; the server keeps their fractions, hides what has expired at once and removes it by itself. */
export interface StoreTtlOptions {
  /** Of items that are put without a `ttl`. Default: they never expire. */
  defaultTtl?: number | null | undefined;
  /** Whether reads extend the lives of what they return. Default true. */
  refreshOnRead?: boolean | undefined;
  /** Taken for PostgresStore's sake: the server sweeps. */
  sweepIntervalMinutes?: number | undefined;
}

export interface ThreadkeepStoreOptions extends ConnectionOptions {
  ttl?: StoreTtlOptions | undefined;
  /** Searches by meaning. Absent: a `query` is a plain listing, as the reference has it. */
  index?: StoreIndexConfig | undefined;
  /**
   * Whole numbers of values that a `number` would change, such as 2 ** 53 + 1 written by Python: "bigint" (the default) keeps
   * them, "number" rounds them.
   */
  integers?: Integers | undefined;
}

export interface StoreSettings {
  integers: Integers;
  /** Minutes; null: never. */
  defaultTtl: number | null;
  refreshOnRead: boolean;
  index: StoreIndex | undefined;
}

const TTL_NAMES = new Set(["defaultTtl", "refreshOnRead", "sweepIntervalMinutes"]);

export function storeSettingsOf(options: ThreadkeepStoreOptions): StoreSettings {
  const { ttl = {}, integers = "bigint" } = options;
  if (integers !== "bigint" && integers !== "number") {
    throw new InvalidError('integers must be "bigint" or "number"', { field: "integers" });
  }
  const unknown = Object.keys(ttl).find((name) => !TTL_NAMES.has(name));
  if (unknown !== undefined) {
    throw new InvalidError(`ttl has no setting '${unknown}'`, { field: "ttl" });
  }
  const { defaultTtl = null, refreshOnRead = true } = ttl;
  if (defaultTtl !== null && !(defaultTtl >= 0)) {
    throw new InvalidError("ttl.defaultTtl must be minutes, 0 or more", {
      field: "ttl.defaultTtl",
    });
  }
  return { integers, defaultTtl, refreshOnRead, index: storeIndexOf(options.index) };
}
