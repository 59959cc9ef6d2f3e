/** Earlier versions of items. These calls go to the server at once, not through `batch`. */

import { ProtocolError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import type { CallOptions } from "../http/deadline.js";
import { bytesIn, listIn, numberIn, objectOf, optionalTextIn, textIn } from "../wire/answers.js";
import { documentOf, type Integers } from "../wire/document_value.js";
import { packed } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";
import type { AnswerOf, Body, Path, Schemas } from "../wire/schemas.js";
import { labelsOfPut } from "./namespaces.js";
import { keyOnWire, wholeNumber } from "./store_ops.js";

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

const VERSIONS = "/v1/store/history";
const ONE = "/v1/store/history/get";
const RESTORE = "/v1/store/history/restore";

/** Reads and restores over one connection. */
export class StoreHistory {
  readonly #connection: Connection;
  readonly #integers: Integers;

  constructor(connection: Connection, integers: Integers) {
    this.#connection = connection;
    this.#integers = integers;
  }

  /** As many pages as it takes. */
  async list(
    namespace: string[],
    key: string,
    { values = false, limit, ...options }: HistoryOptions,
  ): Promise<StoreItemVersion[]> {
    const place = placeOf(namespace, key);
    const most = limit === undefined ? Number.POSITIVE_INFINITY : wholeNumber(limit, "limit");
    const found: StoreItemVersion[] = [];
    let cursor: string | undefined;
    while (found.length < most) {
      const rest = limit === undefined ? undefined : most - found.length;
      const body: Body<typeof VERSIONS> = { ...place, values, cursor, limit: rest };
      const page = await this.#read<typeof VERSIONS>(VERSIONS, body, options);
      found.push(...listIn(page, "versions").map((it) => versionOf(it, this.#integers)));
      cursor = optionalTextIn(page, "next_cursor");
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
    const body = { ...placeOf(namespace, key), version: wholeNumber(version, "version") };
    const { version: found } = await this.#read<typeof ONE>(ONE, body, options);
    return found === undefined || found === null ? null : versionOf(found, this.#integers);
  }

  /** Sent again after a lost reply it is answered like the first time. */
  async restore(
    namespace: string[],
    key: string,
    version: number,
    { ifVersion, ...options }: CallOptions & { ifVersion?: number | undefined },
  ): Promise<number> {
    const body: Body<typeof RESTORE> = {
      ...placeOf(namespace, key),
      version: wholeNumber(version, "version"),
      if_version: ifVersion === undefined ? undefined : wholeNumber(ifVersion, "ifVersion"),
    };
    const answer = await this.#connection.call({
      path: RESTORE,
      body: packed(body),
      isWrite: true,
      idempotencyKey: randomId(),
      options,
    });
    return numberIn(answer as AnswerOf<typeof RESTORE>, "version");
  }

  async #read<P extends Path>(path: P, body: Body<P>, options: CallOptions): Promise<AnswerOf<P>> {
    const request = { path, body: packed(body), isWrite: false, options };
    const answer = await this.#connection.call(request);
    return answer as AnswerOf<P>;
  }
}

function placeOf(namespace: string[], key: string): { namespace: string[]; key: string } {
  return { namespace: labelsOfPut(namespace), key: keyOnWire(key) };
}

function versionOf(found: unknown, integers: Integers): StoreItemVersion {
  const raw = objectOf<Schemas["ItemVersionOf"]>(found, "version");
  const updatedAt = new Date(textIn(raw, "updated_at"));
  if (Number.isNaN(updatedAt.getTime()) || typeof raw.current !== "boolean") {
    throw new ProtocolError("a version of an item cannot be read");
  }
  const version: StoreItemVersion = {
    version: numberIn(raw, "version"),
    current: raw.current,
    updatedAt,
    sizeBytes: numberIn(raw, "size_bytes"),
  };
  if (typeof raw.ttl_minutes === "number") version.ttl = raw.ttl_minutes;
  const hasValue = raw.value !== undefined && raw.value !== null;
  if (hasValue) version.value = documentOf(bytesIn(raw, "value"), integers);
  return version;
}
