/** `client.store`: items of namespaces, their versions and settings, and the feed of their changes. */

import type { CallOptions } from "../http/deadline.js";
import { numberIn } from "../wire/answers.js";
import type { Integers } from "../wire/document_value.js";
import { namespaceOf } from "../wire/ids.js";
import { optionalWholeNumber, positiveNumber, wholeNumber } from "../wire/numbers.js";
import type { Calls } from "./calls.js";
import { type ChangesOptions, ItemChanges } from "./changes.js";
import { entriesOf } from "./pages.js";
import {
  countBody,
  type ItemConditions,
  itemName,
  type ListNamespacesOptions,
  type NamespacesOptions,
  namesOf,
  namespacesBody,
  type PutItemOptions,
  putBody,
  type ReadItemOptions,
  type SearchItemsOptions,
  searchBody,
  textBody,
} from "./store_bodies.js";
import {
  type GotNamespaceSetting,
  gotNamespaceSetting,
  type Item,
  type ItemPage,
  type ItemText,
  type ItemValue,
  type ItemVersion,
  type ItemVersionPage,
  item,
  itemPage,
  itemText,
  itemVersion,
  itemVersionPage,
  type LargeNamespace,
  largestNamespaces,
  type NamespacePage,
  type NamespaceSetting,
  namespacePage,
  namespaceSettingPut,
  namespaceSettings,
  namespacesIn,
} from "./store_records.js";

type Namespace = readonly string[];

/** Items of one page of a scan. */
const SCANNED_ITEMS = 200;

export interface ScanItemsOptions
  extends Omit<SearchItemsOptions, "cursor" | "offset" | "limit" | "sort"> {
  /** "key" (the default) or "created": orders that puts do not change. */
  sort?: "created" | "key" | undefined;
  /** Items of one request. Default 200. */
  pageItems?: number | undefined;
}

export interface ItemHistoryOptions extends CallOptions {
  /** True: with the values. */
  values?: boolean | undefined;
  /** Default 100, at most 1,000. */
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
  integers?: Integers | undefined;
}

export interface NamespaceSettingOptions extends CallOptions {
  /** Paths of the fields whose words are indexed; `$` stands for all texts of a value, [] for none. Absent: a shorter prefix says it. */
  textFields?: readonly string[] | undefined;
  /** Earlier versions that an item keeps, 0 to 1,000. Absent: a shorter prefix says it, else 10 for items that look like files. */
  history?: number | undefined;
}

/**
 * Items are objects of JSON under a namespace and a key; files of `client.files` are items too. Failures throw the types of this package;
 * undefined means that there is no item, or that it is not the caller's.
 */
export class Store {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Create an item, or replace its whole value: the new version. VersionConflictError where it does not have the version `ifVersion`,
   * InvalidError for a value that cannot be stored, TooLargeError, QuotaExceededError.
   */
  async put(
    namespace: Namespace,
    key: string,
    value: Readonly<ItemValue>,
    options: PutItemOptions = {},
  ): Promise<number> {
    const { body, sizeBytes } = putBody(namespace, key, value, options);
    const answer = await this.#calls.with(options).once("/v1/store/put", body, sizeBytes);
    return numberIn(answer, "version");
  }

  async get(
    namespace: Namespace,
    key: string,
    options: ReadItemOptions = {},
  ): Promise<Item | undefined> {
    const { refreshTtl, integers = "bigint" } = options;
    const body = { ...itemName(namespace, key), refresh_ttl: refreshTtl };
    const { item: found } = await this.#calls.with(options).read("/v1/store/get", body);
    return found ? item(found, integers) : undefined;
  }

  /**
   * The same with the value as its JSON text: `1.0` stays `1.0`, every whole number has all of its digits, and bytes are as they travel
   * (clients/PROTOCOL.md, "Bytes in documents").
   */
  async getText(
    namespace: Namespace,
    key: string,
    options: Omit<ReadItemOptions, "integers"> = {},
  ): Promise<ItemText | undefined> {
    const body = { ...itemName(namespace, key), refresh_ttl: options.refreshTtl };
    const { item: found } = await this.#calls.with(options).read("/v1/store/get", body);
    return found ? itemText(found) : undefined;
  }

  /** `put` of a value that is JSON text, which is kept as it is. InvalidError for a text that is no object of JSON. */
  async putText(
    namespace: Namespace,
    key: string,
    text: string,
    options: PutItemOptions = {},
  ): Promise<number> {
    const body = textBody(namespace, key, text, options);
    const answer = await this.#calls.with(options).once("/v1/store/put", body, text.length);
    return numberIn(answer, "version");
  }

  /** No error where there is none, unless `ifVersion` asks for one: VersionConflictError. */
  async delete(
    namespace: Namespace,
    key: string,
    options: { ifVersion?: number | undefined } & CallOptions = {},
  ): Promise<void> {
    const body = {
      ...itemName(namespace, key),
      if_version: optionalWholeNumber(options.ifVersion, "ifVersion"),
    };
    await this.#calls.with(options).once("/v1/store/delete", body);
  }

  /**
   * One page of the items below a prefix (`exact`: in the namespace itself), by filter, by words or by meaning. SearchNeedsPlaintextError
   * for words and vectors where the tenant is encrypted; InvalidError naming the wrong option.
   */
  async search(prefix: Namespace, options: SearchItemsOptions = {}): Promise<ItemPage> {
    const body = searchBody(namespaceOf(prefix, "prefix"), options);
    const answer = await this.#calls.with(options).read("/v1/store/search", body);
    return itemPage(answer, options.integers ?? "bigint");
  }

  /** Every item below a prefix, each once, whatever others write meanwhile; those created or deleted meanwhile may be missing. */
  async *scan(
    prefix: Namespace,
    options: ScanItemsOptions = {},
  ): AsyncGenerator<Item, void, undefined> {
    const { pageItems = SCANNED_ITEMS, sort = "key", ...more } = options;
    const limit = positiveNumber(pageItems, "pageItems");
    yield* entriesOf(
      (cursor) => this.search(prefix, { ...more, sort, limit, cursor }),
      (page) => page.items,
    );
  }

  /** How many items below a prefix meet the conditions. */
  async count(prefix: Namespace, options: ItemConditions = {}): Promise<number> {
    const body = countBody(namespaceOf(prefix, "prefix"), options);
    return numberIn(await this.#calls.with(options).read("/v1/store/count", body), "count");
  }

  /** One page of the namespaces that hold items, in the order of their labels; with `counts`, how many items each one holds. */
  async listNamespaces(options: ListNamespacesOptions = {}): Promise<NamespacePage> {
    const body = namespacesBody(options);
    return namespacePage(await this.#calls.with(options).read("/v1/store/namespaces", body));
  }

  /** The namespaces of `listNamespaces` alone. */
  async namespaces(options: NamespacesOptions = {}): Promise<string[][]> {
    const body = namespacesBody(options);
    return namespacesIn(await this.#calls.with(options).read("/v1/store/namespaces", body));
  }

  /**
   * The namespaces below a prefix whose items have the most bytes, the largest first, at most 100 (`limit`, default 10). The server goes
   * through all items there: UnavailableError where they are too many for its time.
   */
  async largestNamespaces(
    prefix: Namespace = [],
    options: { limit?: number | undefined } & CallOptions = {},
  ): Promise<LargeNamespace[]> {
    const limit = optionalWholeNumber(options.limit, "limit");
    const body = { prefix: namespaceOf(prefix, "prefix"), limit };
    const path = "/v1/store/namespaces/largest";
    return largestNamespaces(await this.#calls.with(options).read(path, body)).namespaces;
  }

  /**
   * One page of the versions of an item that are kept, the present one first; empty where there is no item. Items that look like files
   * keep 10 earlier versions, others none, unless their namespace declares another number.
   */
  async history(
    namespace: Namespace,
    key: string,
    options: ItemHistoryOptions = {},
  ): Promise<ItemVersionPage> {
    const { values = false, limit, cursor, integers = "bigint" } = options;
    const body = {
      ...itemName(namespace, key),
      values,
      limit: optionalWholeNumber(limit, "limit"),
      cursor,
    };
    const answer = await this.#calls.with(options).read("/v1/store/history", body);
    return itemVersionPage(answer, integers);
  }

  /** A version with its value; undefined where it is not kept. */
  async getVersion(
    namespace: Namespace,
    key: string,
    version: number,
    options: { integers?: Integers | undefined } & CallOptions = {},
  ): Promise<ItemVersion | undefined> {
    const body = { ...itemName(namespace, key), version: wholeNumber(version, "version") };
    const answer = await this.#calls.with(options).read("/v1/store/history/get", body);
    return answer.version ? itemVersion(answer.version, options.integers ?? "bigint") : undefined;
  }

  /** Put the value of an earlier version as a new one: its number. NotFoundError where it is not kept, VersionConflictError. */
  async restore(
    namespace: Namespace,
    key: string,
    version: number,
    options: { ifVersion?: number | undefined } & CallOptions = {},
  ): Promise<number> {
    const body = {
      ...itemName(namespace, key),
      version: wholeNumber(version, "version"),
      if_version: optionalWholeNumber(options.ifVersion, "ifVersion"),
    };
    const answer = await this.#calls.with(options).once("/v1/store/history/restore", body);
    return numberIn(answer, "version");
  }

  /**
   * Declare how the items of a namespace and all below it are indexed and kept; replaces what it declared. The longest prefix that says
   * something counts, for each of both by itself. [] is the whole tenant. SearchNeedsPlaintextError where the tenant is encrypted.
   */
  async putSetting(
    namespace: Namespace,
    options: NamespaceSettingOptions,
  ): Promise<NamespaceSetting> {
    const { textFields, history } = options;
    const body = {
      namespace: namespaceOf(namespace),
      text_fields: textFields === undefined ? undefined : namesOf(textFields, "textFields"),
      history: optionalWholeNumber(history, "history"),
    };
    const answer = await this.#calls.with(options).write("/v1/store/settings/put", body);
    return namespaceSettingPut(answer).setting;
  }

  /** The setting of a namespace, and the effective one for its items. */
  async getSetting(namespace: Namespace, options: CallOptions = {}): Promise<GotNamespaceSetting> {
    const body = { namespace: namespaceOf(namespace) };
    return gotNamespaceSetting(
      await this.#calls.with(options).read("/v1/store/settings/get", body),
    );
  }

  /** Delete a setting: those of shorter prefixes apply again. No error where there is none. */
  async deleteSetting(namespace: Namespace, options: CallOptions = {}): Promise<void> {
    const body = { namespace: namespaceOf(namespace) };
    await this.#calls.with(options).write("/v1/store/settings/delete", body);
  }

  /** Settings of the namespaces below a prefix, at most 1,000, in the order of their labels. */
  async listSettings(
    prefix: Namespace = [],
    options: CallOptions = {},
  ): Promise<NamespaceSetting[]> {
    const body = { prefix: namespaceOf(prefix, "prefix") };
    const answer = await this.#calls.with(options).read("/v1/store/settings/list", body);
    return namespaceSettings(answer).settings;
  }

  /** Follow the changes of items below a prefix, for `for await`. Sends nothing before the first event is asked for. */
  changes(prefix: Namespace = [], options: ChangesOptions = {}): ItemChanges {
    const query = namespaceOf(prefix, "prefix").map((label): [string, string] => ["ns", label]);
    if (options.exact) query.push(["exact", "true"]);
    const events = this.#calls.with(options).events("/v1/store/changes", query, options.after);
    return new ItemChanges(events);
  }
}
