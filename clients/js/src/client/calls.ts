/** The calls of the native client, typed by the server's document. */

import { ProtocolError } from "../errors.js";
import type { Connection, Request } from "../http/connection.js";
import type { CallOptions } from "../http/deadline.js";
import { packed, textOf, wellFormed } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";
import type { AnswerOf, Body, GetPath, GotOf, Path, Query } from "../wire/schemas.js";

type Parameters = Record<string, string | number | undefined>;
type Pairs = readonly (readonly [string, string])[];

/** Many small things are stored more slowly than one large one. */
const IMPORTED_BYTES_PER_MS = 100;

export interface SentBytes {
  bytes: Uint8Array | Blob;
  mediaType?: string | undefined;
}

/** Sends over one connection. */
export class Calls {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The same calls within other limits, where there are some. */
  with({ timeoutMs, signal }: CallOptions): Calls {
    if (timeoutMs === undefined && signal === undefined) return this;
    return new Calls(this.#connection.withOptions({ timeoutMs, signal }));
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
    const idempotencyKey = randomId();
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
    return (await this.#connection.answer(bytesAt(path, query))).body;
  }

  /** Bytes as they arrive. */
  async getStream(
    path: "/v1/snapshots/archive",
    query: Pairs,
  ): Promise<ReadableStream<Uint8Array>> {
    return await this.#connection.stream(bytesAt(path, query));
  }

  /** The same for what takes a body to ask for it. */
  async readStream(
    path: "/v1/export",
    body: Body<"/v1/export">,
  ): Promise<ReadableStream<Uint8Array>> {
    const headers = { accept: "*/*" };
    return await this.#connection.stream({ path, body: packed(body), headers, isWrite: false });
  }

  /**
   * Sends bytes as they are, again where an answer was lost: a file by the same key, so that it is put once; an archive is staged
   * twice, and the one that no snapshot is taken with goes in a day. The answer is JSON.
   */
  async putBytes(
    path: "/v1/files/content" | "/v1/snapshots/archive",
    query: Pairs,
    { bytes, mediaType = "application/octet-stream" }: SentBytes,
  ): Promise<unknown> {
    const idempotencyKey = path === "/v1/files/content" ? randomId() : undefined;
    const request = { method: "PUT", path: path + pairsText(query), idempotencyKey } as const;
    return await this.#sendBytes(request, bytes, mediaType);
  }

  /**
   * Sends a file that is imported, again where an answer was lost and it is no stream: what was imported by then is unchanged. The
   * server takes it as fast as it can store what is in it.
   */
  async postFile(
    path: "/v1/import",
    query: Pairs,
    file: Uint8Array | Blob | ReadableStream<Uint8Array>,
    mediaType: string,
  ): Promise<unknown> {
    const request = { path: path + pairsText(query), bytesPerMs: IMPORTED_BYTES_PER_MS };
    return await this.#sendBytes(request, file, mediaType);
  }

  async #sendBytes(
    request: Pick<Request, "method" | "path" | "bytesPerMs" | "idempotencyKey">,
    bytes: Uint8Array | Blob | ReadableStream<Uint8Array>,
    mediaType: string,
  ): Promise<unknown> {
    const { status, body } = await this.#connection.answer({
      ...request,
      headers: { accept: "application/json", "content-type": mediaType },
      body: bytes as Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>,
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

function bytesAt(path: string, query: Pairs): Request {
  const headers = { accept: "*/*" };
  return { method: "GET", path: path + pairsText(query), headers, isWrite: false };
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
