/** `ThreadkeepStore`: the long-term memory of LangGraph.js on a threadkeep server. */

import { BaseStore, type Operation, type OperationResults } from "@langchain/langgraph-checkpoint";
import { entriesOf } from "../client/pages.js";
import type { StoreFilter } from "../client/store_filter.js";
import { InvalidError, VersionConflictError } from "../errors.js";
import { Connection } from "../http/connection.js";
import type { CallOptions } from "../http/deadline.js";
import { optionsOf, settingsOf } from "../http/settings.js";
import { showAs } from "../http/shown.js";
import { labelsOf, labelsOfPut } from "./namespaces.js";
import type {
  StoreCountOperation,
  StoreItem,
  StorePage,
  StorePutOperation,
  StoreSearchExtras,
  StoreSearchItem,
  StoreSearchOperation,
} from "./operations.js";
import { StoreCalls } from "./store_calls.js";
import { type HistoryOptions, StoreHistory, type StoreItemVersion } from "./store_history.js";
import { prepared } from "./store_ops.js";
import {
  type StoreSettings,
  storeSettingsOf,
  type ThreadkeepStoreOptions,
} from "./store_settings.js";
import { Ticks } from "./ticks.js";

const PAGE_ITEMS = 200;
const EDIT_ATTEMPTS = 64;
const PAUSE_MS_FIRST = 2;
const PAUSE_MS_MAX = 250;

// biome-ignore lint/suspicious/noExplicitAny: what LangGraph calls a value
export type StoreValue = Record<string, any>;
type Index = false | string[];

export interface PutOptions extends CallOptions {
  /** Minutes. Absent: the store's default; null: never. */
  ttl?: number | null | undefined;
  /** Only if the item has this version (0: there is none), else VersionConflictError. */
  ifVersion?: number | undefined;
}

export interface SearchOptions extends StoreSearchExtras {
  filter?: StoreFilter | undefined;
  /** Default 10. */
  limit?: number | undefined;
  offset?: number | undefined;
  query?: string | undefined;
}

export interface ScanOptions
  extends Omit<SearchOptions, "limit" | "offset" | "after" | "sortBy" | "query" | "mode"> {
  /** Default "key". */
  sortBy?: "created" | "key" | undefined;
  /** Items of one request. Default 200. */
  pageItems?: number | undefined;
}

/** What a store with other limits has in common with the one that it was made of. */
class Shared {
  constructor(
    readonly settings: StoreSettings,
    readonly connection: Connection,
  ) {}
}

/**
 * Items on a threadkeep server. `url` and `apiKey` default to THREADKEEP_URL and THREADKEEP_API_KEY. Constructing does no
 * I/O, there is nothing to start, stop or close, and one object serves any number of users and threads. Failures throw the
 * types of `threadkeep`, or LangGraph's InvalidNamespaceError; null means that an item does not exist and nothing else.
 */
export class ThreadkeepStore extends BaseStore {
  readonly #settings: StoreSettings;
  readonly #connection: Connection;
  readonly #calls: StoreCalls;
  readonly #ticks: Ticks;
  readonly #history: StoreHistory;

  constructor(options?: ThreadkeepStoreOptions);
  constructor(url: string, apiKey?: string);
  constructor(given: ThreadkeepStoreOptions | string | Shared = {}, apiKey?: string) {
    super();
    const { settings, connection } = given instanceof Shared ? given : sharedOf(given, apiKey);
    this.#settings = settings;
    this.#connection = connection;
    this.#calls = new StoreCalls(connection, settings.index);
    this.#history = new StoreHistory(connection, settings.integers);
    this.#ticks = new Ticks(connection.url, (ops, deadline) => this.#calls.apart(ops, deadline));
    showAs(this, connection.url);
  }

  /** The store of an address, as other stores are made. Does no I/O. */
  static fromConnString(
    url: string,
    options: Omit<ThreadkeepStoreOptions, "url"> = {},
  ): ThreadkeepStore {
    return new ThreadkeepStore({ ...options, url });
  }

  /** A store with other limits over the same connection. Changes of one item keep their order within each of both. */
  withOptions(options: CallOptions): ThreadkeepStore {
    const shared = new Shared(this.#settings, this.#connection.withOptions(options));
    return new ThreadkeepStore(shared as ThreadkeepStoreOptions);
  }

  /** Checks that the server answers and takes the key. There is nothing to set up. */
  async setup(): Promise<void> {
    await this.#connection.call({ method: "GET", path: "/v1/whoami", isWrite: false });
  }

  /**
   * Everything goes through this. Several operations are one: reads see the state from before, changes happen all or none,
   * of several changes of one item the last one counts; over 1,000 operations or 16 MiB they travel in several requests,
   * reads first. Single operations of one turn of the event loop travel together, each with an outcome of its own.
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const ops = operations.map((operation) => prepared(operation, this.#settings));
    const [only] = ops;
    const results =
      ops.length === 1 && only
        ? [await this.#ticks.run(only, this.#connection.deadline(operations[0] as CallOptions))]
        : await this.#calls.together(ops);
    return results as OperationResults<Op>;
  }

  override async get(
    namespace: string[],
    key: string,
    options: { refreshTtl?: boolean | undefined } & CallOptions = {},
  ): Promise<StoreItem | null> {
    return (await this.#one({ namespace, key, ...options })) as StoreItem | null;
  }

  override async put(
    namespace: string[],
    key: string,
    value: StoreValue,
    index?: Index,
    options: PutOptions = {},
  ): Promise<void> {
    await this.#one(putOf(namespace, key, value, { ...options, index }));
  }

  /** The same, and the item's new version. */
  async putVersioned(
    namespace: string[],
    key: string,
    value: StoreValue,
    options: PutOptions & { index?: Index | undefined } = {},
  ): Promise<number> {
    const op = { ...putOf(namespace, key, value, options), wantsVersion: true };
    return (await this.#one(op)) as number;
  }

  override async delete(
    namespace: string[],
    key: string,
    options: Omit<PutOptions, "ttl"> = {},
  ): Promise<void> {
    await this.#one({ namespace, key, value: null, ...options } as StorePutOperation);
  }

  /**
   * Below a prefix (`exact`: in the namespace itself), newest first; puts do not move an item. With a `query` and an `index`:
   * the nearest first, each with its `score`, then those without vectors.
   */
  override async search(
    namespacePrefix: string[],
    options: SearchOptions = {},
  ): Promise<StoreSearchItem[]> {
    return (await this.#one(searchOf(namespacePrefix, options))) as StoreSearchItem[];
  }

  /** One page of a search, with the cursor of the next one for `after`. */
  async searchPage(namespacePrefix: string[], options: SearchOptions = {}): Promise<StorePage> {
    const op = { ...searchOf(namespacePrefix, options), wantsPage: true };
    return (await this.#one(op)) as StorePage;
  }

  /**
   * Every item below a prefix, each once, whatever others write meanwhile. Items that are created or deleted while the
   * scan runs may or may not be in it.
   */
  async *scan(
    namespacePrefix: string[],
    options: ScanOptions = {},
  ): AsyncGenerator<StoreSearchItem, void, undefined> {
    const { pageItems: limit = PAGE_ITEMS, sortBy = "key", ...more } = options;
    if (!(limit >= 1)) {
      throw new InvalidError("pageItems must be at least 1", { field: "pageItems" });
    }
    yield* entriesOf(
      (after) => this.searchPage(namespacePrefix, { ...more, sortBy, limit, after }),
      (page) => page.items,
    );
  }

  /** How many items there are below a prefix. */
  async count(
    namespacePrefix: string[],
    options: Pick<SearchOptions, "filter" | "exact" | keyof CallOptions> = {},
  ): Promise<number> {
    const op = { namespacePrefix, ...options, wantsCount: true } as StoreCountOperation;
    return (await this.#one(op)) as number;
  }

  /**
   * Read an item, change its value, put it back if nobody else did meanwhile, else again. `change` gets the value (null
   * when there is no item) and returns the new one, or null to delete; it may run several times. The answer is what was
   * stored. Throws VersionConflictError after so many attempts (64).
   */
  async edit(
    namespace: string[],
    key: string,
    change: (value: StoreValue | null) => StoreValue | null | Promise<StoreValue | null>,
    options: Omit<PutOptions, "ifVersion"> & { index?: Index; attempts?: number } = {},
  ): Promise<StoreValue | null> {
    const { attempts = EDIT_ATTEMPTS, index, ttl, timeoutMs, signal } = options;
    const limits = { timeoutMs, signal };
    labelsOfPut(namespace);
    for (let attempt = 1; ; attempt++) {
      const found = await this.get(namespace, key, limits);
      const value = await change(found === null ? null : found.value);
      if (value === null && found === null) return null;
      const ifVersion = found?.version ?? 0;
      try {
        if (value === null) await this.delete(namespace, key, { ifVersion, ...limits });
        else await this.put(namespace, key, value, index, { ttl, ifVersion, ...limits });
        return value;
      } catch (error) {
        if (!(error instanceof VersionConflictError) || attempt >= attempts) throw error;
        await pause(attempt);
      }
    }
  }

  /**
   * The versions of an item that are kept, the present one first; [] where there is no item. Items that look like files keep
   * 10 earlier versions, others none, unless their namespace declares another number.
   */
  async history(
    namespace: string[],
    key: string,
    options: HistoryOptions = {},
  ): Promise<StoreItemVersion[]> {
    return await this.#history.list(namespace, key, options);
  }

  /** A version with its value; null where it is not kept. */
  async getVersion(
    namespace: string[],
    key: string,
    version: number,
    options: CallOptions = {},
  ): Promise<StoreItemVersion | null> {
    return await this.#history.get(namespace, key, version, options);
  }

  /** Puts the value of an earlier version as a new one; answers its number. Throws NotFoundError where it is not kept. */
  async restore(
    namespace: string[],
    key: string,
    version: number,
    options: Omit<PutOptions, "ttl"> = {},
  ): Promise<number> {
    return await this.#history.restore(namespace, key, version, options);
  }

  async #one(operation: Operation): Promise<unknown> {
    const [result] = await this.batch([operation]);
    return result;
  }
}

function putOf(
  namespace: string[],
  key: string,
  value: StoreValue,
  { index, ttl, ifVersion, timeoutMs, signal }: PutOptions & { index?: Index | undefined },
): StorePutOperation {
  if (value === null || value === undefined) {
    throw new InvalidError("value must be an object; `delete` removes an item", { field: "value" });
  }
  const op: StorePutOperation = { namespace, key, value, ttl, ifVersion, timeoutMs, signal };
  return index === undefined ? op : { ...op, index };
}

function searchOf(namespacePrefix: string[], options: SearchOptions): StoreSearchOperation {
  labelsOf(namespacePrefix, "namespacePrefix");
  return { namespacePrefix, limit: 10, offset: 0, ...options } as StoreSearchOperation;
}

/** At random, so that editors do not meet again. */
function pause(attempt: number): Promise<void> {
  const longest = Math.min(PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** attempt);
  return new Promise((resolve) => setTimeout(resolve, Math.random() * longest));
}

function sharedOf(given: ThreadkeepStoreOptions | string, apiKey: string | undefined): Shared {
  const options = optionsOf(given, apiKey);
  return new Shared(storeSettingsOf(options), new Connection(settingsOf(options)));
}
