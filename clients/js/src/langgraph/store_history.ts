/** Earlier versions of items. These calls go to the server at once, not through `batch`. */

import { Calls } from "../client/calls.js";
import { Store } from "../client/store.js";
import type { ItemVersion } from "../client/store_records.js";
import type { Connection } from "../http/connection.js";
import type { CallOptions } from "../http/deadline.js";
import type { Integers } from "../wire/document_value.js";
import { wholeNumber } from "../wire/numbers.js";
import { labelsOfPut } from "./namespaces.js";

/** A version of an item: the present one (`current`), or an earlier one. */
export interface StoreItemVersion {
  version: number;
  current: boolean;
  /** When it was put. */
  updatedAt: Date;
  sizeBytes: number;
  /** Minutes. Absent: it never expired. */
  ttl?: number;
  /** Absent where values were not asked for. */
  // biome-ignore lint/suspicious/noExplicitAny: what LangGraph calls a value
  value?: Record<string, any>;
}

export interface HistoryOptions extends CallOptions {
  /** True: with the values. */
  values?: boolean | undefined;
  /** Default: all. */
  limit?: number | undefined;
}

/** Reads and restores over one connection. */
export class StoreHistory {
  readonly #store: Store;
  readonly #integers: Integers;

  constructor(connection: Connection, integers: Integers) {
    this.#store = new Store(new Calls(connection));
    this.#integers = integers;
  }

  /** As many pages as it takes. */
  async list(
    namespace: string[],
    key: string,
    { limit, ...options }: HistoryOptions,
  ): Promise<StoreItemVersion[]> {
    const labels = labelsOfPut(namespace);
    const most = limit === undefined ? Number.POSITIVE_INFINITY : wholeNumber(limit, "limit");
    const found: StoreItemVersion[] = [];
    let cursor: string | undefined;
    while (found.length < most) {
      const rest = limit === undefined ? undefined : most - found.length;
      const asked = { ...options, cursor, limit: rest, integers: this.#integers };
      const page = await this.#store.history(labels, key, asked);
      found.push(...page.versions.map(versionOf));
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    return found;
  }

  async get(
    namespace: string[],
    key: string,
    version: number,
    options: CallOptions,
  ): Promise<StoreItemVersion | null> {
    const asked = { ...options, integers: this.#integers };
    const found = await this.#store.getVersion(labelsOfPut(namespace), key, version, asked);
    return found === undefined ? null : versionOf(found);
  }

  /** Sent again after a lost reply it is answered like the first time. */
  async restore(
    namespace: string[],
    key: string,
    version: number,
    options: CallOptions & { ifVersion?: number | undefined },
  ): Promise<number> {
    return await this.#store.restore(labelsOfPut(namespace), key, version, options);
  }
}

/** In LangGraph's words. */
function versionOf({ ttlMinutes, ...version }: ItemVersion): StoreItemVersion {
  return ttlMinutes === undefined ? version : { ...version, ttl: ttlMinutes };
}
