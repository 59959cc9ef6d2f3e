/** The calls of the native client, typed by the server's document. */

import { ProtocolError } from "../errors.js";
import type { Connection, Request } from "../http/connection.js";
import type { CallOptions } from "../http/deadline.js";
import type { EventStream } from "../http/event_stream.js";
import { objectOf } from "../wire/answers.js";
import { type Integers, plainJson } from "../wire/document_value.js";
import { segmentOf } from "../wire/ids.js";
import { packed, textOf, wellFormed } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";
import type { AnswerOf, Body, GetPath, GotOf, Path, Query } from "../wire/schemas.js";

type Parameter = string | number | boolean | readonly string[] | undefined;
type Parameters = Record<string, Parameter>;
/** Values for the `{names}` of a path. */
type Segments = Readonly<Record<string, string | number>>;
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
    more: { idempotencyKey?: string; sizeBytes?: number; segments?: Segments } = {},
  ): Promise<AnswerOf<P>> {
    const { idempotencyKey, sizeBytes, segments } = more;
    const request = {
      path: pathOf(path, segments),
      body: packed(body, sizeBytes),
      isWrite: true,
      idempotencyKey,
    };
    return (await this.#connection.call(request)) as AnswerOf<P>;
  }

  /** A write that would be another one if it were done twice: a key of its own tells the server that it is a repetition. */
  async once<P extends Path>(path: P, body: Body<P>, sizeBytes?: number): Promise<AnswerOf<P>> {
    const more = { idempotencyKey: randomId(), ...(sizeBytes === undefined ? {} : { sizeBytes }) };
    return await this.write(path, body, more);
  }

  async get<P extends GetPath>(path: P, query: Query<P>, segments?: Segments): Promise<GotOf<P>> {
    const request = {
      method: "GET",
      path: pathOf(path, segments) + queryText(query as Parameters),
      isWrite: false,
    } as const;
    return (await this.#connection.call(request)) as GotOf<P>;
  }

  /** The same with parameters that come several times. */
  async getWith<P extends GetPath>(path: P, query: Pairs): Promise<GotOf<P>> {
    const place = path + pairsText(query);
    return (await this.#connection.call({
      method: "GET",
      path: place,
      isWrite: false,
    })) as GotOf<P>;
  }

  /** An address that the server made: without an origin of its own it is below this client's. */
  whole<A extends { url: string }>(address: A): A {
    return address.url.startsWith("/") ? { ...address, url: this.url + address.url } : address;
  }

  /** The same as JSON text, which has room for values that MessagePack has not: any name of a field, and any whole number. */
  async getJson<P extends GetPath>(
    path: P,
    query: Query<P>,
    integers: Integers,
  ): Promise<GotOf<P>> {
    const body = await this.#jsonBody(path, query);
    return objectOf<GotOf<P> & object>(plainJson(body, integers), "the answer");
  }

  /** The JSON text of the answer itself, in which numbers keep the form that the server gave them. */
  async getJsonText<P extends GetPath>(path: P, query: Query<P>): Promise<string> {
    return textOf(await this.#jsonBody(path, query));
  }

  async #jsonBody<P extends GetPath>(path: P, query: Query<P>): Promise<Uint8Array> {
    const headers = { accept: "application/json" };
    const place = path + queryText(query as Parameters);
    const request = { method: "GET", path: place, headers, isWrite: false } as const;
    return (await this.#connection.answer(request)).body;
  }

  async delete(
    path: "/v1/subjects" | "/v1/files/uploads/{upload_id}",
    query: Parameters,
    segments?: Segments,
  ): Promise<unknown> {
    const place = pathOf(path, segments) + queryText(query);
    return await this.#connection.call({ method: "DELETE", path: place, isWrite: true });
  }

  /** The same where the answer has no body. */
  async deleteSilently(path: "/api/storage/delete", query: Parameters): Promise<void> {
    const request = { method: "DELETE", path: path + queryText(query), isWrite: true } as const;
    await this.#connection.answer(request);
  }

  /** Server-sent events behind a position. Nothing is sent before the first is asked for. */
  events(
    path: "/v1/store/changes" | "/v1/threads/changes",
    query: Pairs,
    position: string | undefined,
  ): EventStream {
    return this.#connection.events((after) => {
      return path + pairsText(after === undefined ? query : [...query, ["after", after]]);
    }, position);
  }

  /** Where the server is, without a slash at the end. */
  get url(): string {
    return this.#connection.url;
  }

  /** A text of another form than the answers of the API. */
  async getText(path: "/metrics"): Promise<string> {
    return textOf((await this.#connection.answer(bytesAt(path, []))).body);
  }

  /** Bytes as they are. `query` may name a parameter several times. */
  async getBytes(path: "/v1/files/content", query: Pairs): Promise<Uint8Array> {
    return (await this.#connection.answer(bytesAt(path, query))).body;
  }

  /** Bytes as they arrive. */
  async getStream(
    path: "/v1/snapshots/archive" | "/api/storage/download",
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
   * Sends bytes as they are, again where an answer was lost: a file by the same key, so that it is put once; a part again in its place;
   * an archive is staged twice, and the one that no snapshot is taken with goes in a day. The answer is JSON.
   */
  async putBytes(
    path:
      | "/v1/files/content"
      | "/v1/snapshots/archive"
      | "/v1/files/uploads/{upload_id}/parts/{part}",
    query: Pairs,
    { bytes, mediaType = "application/octet-stream" }: SentBytes,
    segments?: Segments,
  ): Promise<unknown> {
    const idempotencyKey = path === "/v1/files/content" ? randomId() : undefined;
    const place = pathOf(path, segments) + pairsText(query);
    return await this.#sendBytes({ method: "PUT", path: place, idempotencyKey }, bytes, mediaType);
  }

  /** The same by POST, which replaces what is there. */
  async postBytes(
    path: "/api/storage/upload",
    query: Parameters,
    { bytes, mediaType = "application/octet-stream" }: SentBytes,
  ): Promise<unknown> {
    return await this.#sendBytes({ path: path + queryText(query) }, bytes, mediaType);
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

  /** Returns once the answer is a success. Its body does not matter. */
  async probe(path: "/healthz" | "/readyz"): Promise<void> {
    await this.#connection.answer({ method: "GET", path, isWrite: false });
  }
}

function bytesAt(path: string, query: Pairs): Request {
  const headers = { accept: "*/*" };
  return { method: "GET", path: path + pairsText(query), headers, isWrite: false };
}

/** Ids in a path keep any character. Throws InvalidError naming the segment. */
function pathOf(path: string, segments: Segments = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return segmentOf(String(segments[name]), name);
  });
}

/** Ids in a query keep any character. Entries that are undefined are left out; a list is a parameter several times. */
function queryText(query: Parameters): string {
  const given = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    const values = Array.isArray(value) ? value : [value];
    return values.map((one): [string, string] => [name, String(one)]);
  });
  return pairsText(given);
}

function pairsText(pairs: Pairs): string {
  const given = pairs.map(([name, value]) => [name, wellFormed(value, name)]);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
