/** The calls of the native client, typed by the server's document. */

import { ProtocolError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { packed, textOf, wellFormed } from "../wire/packing.js";
import type { AnswerOf, Body, GetPath, GotOf, Path, Query } from "../wire/schemas.js";

type Parameters = Record<string, string | number | undefined>;
type Pairs = readonly (readonly [string, string])[];

export interface SentBytes {
  bytes: Uint8Array;
  mediaType?: string | undefined;
}

/** Sends over one connection. */
export class Calls {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** A read that takes a body. */
  async read<P extends Path>(path: P, body: Body<P>): Promise<AnswerOf<P>> {
    const request = { path, body: packed(body), isWrite: false };
    return (await this.#connection.call(request)) as AnswerOf<P>;
  }

  /** `idempotencyKey`: of a write that a second time would be another one. `sizeBytes`: about how large it is. */
  async write<P extends Path>(
    path: P,
    body: Body<P>,
    more: { idempotencyKey?: string; sizeBytes?: number } = {},
  ): Promise<AnswerOf<P>> {
    const { idempotencyKey, sizeBytes } = more;
    const request = { path, body: packed(body, sizeBytes), isWrite: true, idempotencyKey };
    return (await this.#connection.call(request)) as AnswerOf<P>;
  }

  /** A write that would be another one if it were done twice: a key of its own tells the server that it is a repetition. */
  async once<P extends Path>(path: P, body: Body<P>): Promise<AnswerOf<P>> {
    const idempotencyKey = crypto.randomUUID();
    const request = { path, body: packed(body), isWrite: true, idempotencyKey };
    return (await this.#connection.call(request)) as AnswerOf<P>;
  }

  async get<P extends GetPath>(path: P, query: Query<P>): Promise<GotOf<P>> {
    const request = {
      method: "GET",
      path: path + queryText(query as Parameters),
      isWrite: false,
    } as const;
    return (await this.#connection.call(request)) as GotOf<P>;
  }

  async delete(path: "/v1/subjects", query: { subject: string }): Promise<unknown> {
    const request = { method: "DELETE", path: path + queryText(query), isWrite: true } as const;
    return await this.#connection.call(request);
  }

  /** Bytes as they are. `query` may name a parameter several times. */
  async getBytes(path: "/v1/files/content", query: Pairs): Promise<Uint8Array> {
    const headers = { accept: "*/*" };
    const request = {
      method: "GET",
      path: path + pairsText(query),
      headers,
      isWrite: false,
    } as const;
    return (await this.#connection.answer(request)).body;
  }

  /** Sends bytes as they are; a repetition of the same ones changes nothing. The answer is JSON. */
  async putBytes(
    path: "/v1/files/content",
    query: Pairs,
    { bytes, mediaType = "application/octet-stream" }: SentBytes,
  ): Promise<unknown> {
    const { status, body } = await this.#connection.answer({
      method: "PUT",
      path: path + pairsText(query),
      headers: { accept: "application/json", "content-type": mediaType },
      body: bytes as Uint8Array<ArrayBuffer>,
      isWrite: true,
    });
    try {
      return JSON.parse(textOf(body));
    } catch (cause) {
      throw new ProtocolError("the answer is not JSON", { status, cause });
    }
  }

  /** Whether something of the server answers at all. */
  async probe(path: "/healthz"): Promise<void> {
    await this.#connection.answer({ method: "GET", path, isWrite: false });
  }
}

/** Ids in a query keep any character. Entries that are undefined are left out. */
function queryText(query: Parameters): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, String(value)] as const],
  );
  return pairsText(given);
}

function pairsText(pairs: Pairs): string {
  const given = pairs.map(([name, value]) => [name, wellFormed(value, name)]);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
