/** `client.sessions`: logs and small documents of agents that are not LangGraph. */

import { DocumentNotFoundError, InvalidError, SessionNotFoundError } from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import { exact, isWellFormed, wellFormed } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";
import type { Schemas } from "../wire/schemas.js";
import type { Calls } from "./calls.js";
import {
  type Appended,
  appended,
  type Compacted,
  type CreatedSession,
  compacted,
  counted,
  createdSession,
  type FoundDocument,
  foundDocuments,
  type NamedDocument,
  type NewSessionEntry,
  namedDocuments,
  type SessionAddress,
  type SessionDocument,
  type SessionEntry,
  type SessionKindPage,
  type SessionList,
  type SessionPage,
  type SessionStream,
  type StoredDocument,
  sessionDocument,
  sessionKindPage,
  sessionList,
  sessionPage,
  storedDocument,
  streams,
} from "./session_records.js";

/** The user, the agent and the title of a session that a call creates. The first user and agent stay. */
export interface SessionOrigin {
  user?: string | undefined;
  agent?: string | undefined;
  title?: string | undefined;
}

/** A write that is sent again with the same key is the same write. */
export interface Repeatable extends CallOptions {
  /** Default: a new one for each call. */
  idempotencyKey?: string | undefined;
}

export interface AppendOptions extends Repeatable {
  /** Default "". */
  stream?: string | undefined;
  /** Only when this is the stream's last sequence number, else HeadMovedError. */
  ifHead?: number | undefined;
  /** Put with the entries, in one transaction. `ifVersion` 0: only if there is none. */
  document?: { name: string; content: string; ifVersion?: number | undefined } | undefined;
  create?: SessionOrigin | undefined;
}

export interface LoadOptions extends CallOptions {
  stream?: string | undefined;
  afterSeq?: number | undefined;
  limit?: number | undefined;
  /** So many of the last ones. */
  tail?: number | undefined;
  bytesMax?: number | undefined;
  /** The last ones that fit, by the estimate for messages of Agentrail; at least one. */
  tokenBudget?: number | undefined;
}

export interface ListSessionsOptions extends CallOptions {
  /** The first parts of the key. */
  keyPrefix?: readonly string[] | undefined;
  user?: string | undefined;
  /** Only sessions with entries in this stream; `updatedAtMs` is then the stream's. */
  stream?: string | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface ListSessionKindsOptions extends CallOptions {
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface CompactOptions extends Repeatable {
  stream?: string | undefined;
  /** The last entry that is archived. */
  throughSeq: number;
  expectedHead: number;
  /** How many entries that are; tells one compaction of the same stream from another. */
  count?: number | undefined;
  /** The archive becomes the stream of this name with the archive's id behind it. */
  archiveStreamPrefix: string;
  /** What stands in its place. `{archive_id}` in it is filled in. */
  replacement: readonly NewSessionEntry[];
  document?: { name: string; append: string } | undefined;
}

/** See above. A session comes into being with its first write; what is absent is undefined, and removing it no error. */
export class Sessions {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** No error when there is one: it keeps its user and agent. */
  async create(session: SessionAddress, origin: SessionOrigin = {}): Promise<CreatedSession> {
    return createdSession(
      await this.#calls.write("/v1/sessions/create", { ...addressOf(session), ...origin }),
    );
  }

  /** No entries write nothing and create nothing. */
  async append(
    session: SessionAddress,
    entries: readonly NewSessionEntry[],
    options: AppendOptions = {},
  ): Promise<Appended> {
    const { document } = options;
    const made = entries.map(entryOf);
    const sizeBytes = made.reduce((sum, entry) => sum + entry.data.length + 80, 0);
    const body = {
      ...addressOf(session),
      stream: streamOf(options.stream),
      entries: made,
      if_head: options.ifHead,
      document: document && {
        name: wellFormed(document.name, "name"),
        content: contentOf(document.content),
        ...(document.ifVersion === undefined ? {} : { if_version: document.ifVersion }),
      },
      create: options.create as Schemas["NewSession"] | undefined,
    };
    return appended(
      await this.#calls.with(options).write("/v1/sessions/append", body, once(options, sizeBytes)),
    );
  }

  /** One page of a stream, undefined when it was never written. */
  async load(session: SessionAddress, options: LoadOptions = {}): Promise<SessionPage | undefined> {
    const body = {
      ...addressOf(session),
      stream: streamOf(options.stream),
      after_seq: options.afterSeq,
      limit: options.limit,
      tail: options.tail,
      bytes_max: options.bytesMax,
      token_budget: options.tokenBudget,
    };
    const found = await orAbsent(SessionNotFoundError, () =>
      this.#calls.with(options).read("/v1/sessions/load", body),
    );
    return found && sessionPage(found);
  }

  /** Every entry of a stream, oldest first, undefined when it was never written. */
  async loadAll(session: SessionAddress, stream?: string): Promise<SessionEntry[] | undefined> {
    const first = await this.load(session, { stream });
    if (!first) return undefined;
    const entries = first.entries;
    for (let { more } = first; more; ) {
      const next = await this.load(session, { stream, afterSeq: entries.at(-1)?.seq });
      // Deleted in between, or a page that would be asked for again and again.
      if (!next || next.entries.length === 0) return next && entries;
      entries.push(...next.entries);
      more = next.more;
    }
    return entries;
  }

  async streams(session: SessionAddress): Promise<SessionStream[]> {
    return streams(await this.#calls.read("/v1/sessions/streams", addressOf(session))).streams;
  }

  /** One page of the sessions of a kind, newest first. */
  async list(kind: string, options: ListSessionsOptions = {}): Promise<SessionList> {
    const { keyPrefix, stream, user, limit, cursor } = options;
    const body = {
      kind,
      key_prefix: keyPrefix?.map((part) => wellFormed(part, "keyPrefix")),
      stream: stream === undefined ? undefined : wellFormed(stream, "stream"),
      user,
      limit,
      cursor,
    };
    return sessionList(await this.#calls.with(options).read("/v1/sessions/list", body));
  }

  /**
   * One page of the kinds of sessions that the caller may read, with how many they are, in the order of their names. It may have less than
   * `limit`, and even none, where there is a `nextCursor`.
   */
  async kinds(options: ListSessionKindsOptions = {}): Promise<SessionKindPage> {
    const { limit, cursor } = options;
    const calls = this.#calls.with(options);
    return sessionKindPage(await calls.read("/v1/sessions/kinds", { limit, cursor }));
  }

  /** One stream ("" is one, too), or without one everything of the session. */
  async delete(session: SessionAddress, stream?: string): Promise<void> {
    const only = stream === undefined ? undefined : wellFormed(stream, "stream");
    await this.#calls.write("/v1/sessions/delete", { ...addressOf(session), stream: only });
  }

  /** `ifVersion` 0: only if there is none. */
  async putDocument(
    session: SessionAddress,
    name: string,
    content: string,
    options: { ifVersion?: number | undefined } & CallOptions = {},
  ): Promise<StoredDocument> {
    const body = { ...documentOf(session, name, content), if_version: options.ifVersion };
    return storedDocument(
      await this.#calls
        .with(options)
        .write("/v1/sessions/documents/put", body, once({}, content.length)),
    );
  }

  async getDocument(session: SessionAddress, name: string): Promise<SessionDocument | undefined> {
    const body = { ...addressOf(session), name: wellFormed(name, "name") };
    const found = await orAbsent(DocumentNotFoundError, () =>
      this.#calls.read("/v1/sessions/documents/get", body),
    );
    return found && sessionDocument(found);
  }

  /** Behind what the document holds; makes it where there is none. */
  async appendDocument(
    session: SessionAddress,
    name: string,
    content: string,
    options: Repeatable = {},
  ): Promise<StoredDocument> {
    const body = documentOf(session, name, content);
    return storedDocument(
      await this.#calls
        .with(options)
        .write("/v1/sessions/documents/append", body, once(options, content.length)),
    );
  }

  async listDocuments(session: SessionAddress, namePrefix?: string): Promise<NamedDocument[]> {
    const prefix = namePrefix === undefined ? undefined : wellFormed(namePrefix, "namePrefix");
    const body = { ...addressOf(session), name_prefix: prefix };
    return namedDocuments(await this.#calls.read("/v1/sessions/documents/list", body)).documents;
  }

  /** The document of this name of every session of a kind. */
  async findDocuments(
    kind: string,
    name: string,
    options: { keyPrefix?: readonly string[] | undefined } & CallOptions = {},
  ): Promise<FoundDocument[]> {
    const key_prefix = options.keyPrefix?.map((part) => wellFormed(part, "keyPrefix"));
    const body = { kind, key_prefix, name: wellFormed(name, "name") };
    return foundDocuments(await this.#calls.with(options).read("/v1/sessions/documents/find", body))
      .documents;
  }

  async deleteDocument(session: SessionAddress, name: string): Promise<void> {
    const body = { ...addressOf(session), name: wellFormed(name, "name") };
    await this.#calls.write("/v1/sessions/documents/delete", body);
  }

  /** Count on, by 1 unless it says otherwise: the value afterwards. */
  async addToCounter(
    session: SessionAddress,
    counter: string,
    by?: number,
    options: Repeatable = {},
  ): Promise<number> {
    const body = { ...addressOf(session), counter: wellFormed(counter, "counter"), by };
    return counted(
      await this.#calls.with(options).write("/v1/sessions/counters/add", body, once(options)),
    ).value;
  }

  /** Archive the beginning of a stream and put something in its place, in one transaction. HeadMovedError when it moved. */
  async compact(session: SessionAddress, options: CompactOptions): Promise<Compacted> {
    const body = {
      ...addressOf(session),
      stream: wellFormed(options.stream ?? "", "stream"),
      through_seq: options.throughSeq,
      expected_head: options.expectedHead,
      count: options.count,
      archive_stream_prefix: wellFormed(options.archiveStreamPrefix, "archiveStreamPrefix"),
      replacement: options.replacement.map(entryOf),
      document: options.document && {
        name: wellFormed(options.document.name, "name"),
        append: contentOf(options.document.append),
      },
    };
    return compacted(
      await this.#calls.with(options).write("/v1/sessions/compact", body, once(options)),
    );
  }
}

/** A write that a second time would be another one. */
function once({ idempotencyKey = randomId() }: Repeatable, sizeBytes = 0) {
  return { idempotencyKey, sizeBytes };
}

function addressOf({ kind, key }: SessionAddress): { kind: string; key: string[] } {
  if (!Array.isArray(key)) throw new InvalidError("key must be a list of texts", { field: "key" });
  return { kind, key: key.map((part) => wellFormed(part, "key")) };
}

function streamOf(stream: string | undefined): string | undefined {
  return stream === undefined || stream === "" ? undefined : wellFormed(stream, "stream");
}

function entryOf({ id, data }: NewSessionEntry): { id?: string; data: Uint8Array } {
  const made = { data: exact(data, "data") };
  return id === undefined ? made : { id: wellFormed(id, "id"), ...made };
}

function documentOf(session: SessionAddress, name: string, content: string) {
  return {
    ...addressOf(session),
    name: wellFormed(name, "name"),
    content: contentOf(content),
  };
}

/** Any text: one that has no UTF-8 travels as its JSON. */
function contentOf(content: string): string | Uint8Array {
  return isWellFormed(content) ? content : exact(content, "content");
}

/** Undefined for exactly this absence: another 404 is not an answer about the thing. */
async function orAbsent<T>(
  absence: typeof SessionNotFoundError | typeof DocumentNotFoundError,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof absence) return undefined;
    throw error;
  }
}
