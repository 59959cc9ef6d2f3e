/** `client.threads`: reads, searches, changes, copies and deletes threads. */

import type { CallOptions } from "../http/deadline.js";
import { exactTextIn, numberIn } from "../wire/answers.js";
import { threadIdOf } from "../wire/ids.js";
import { exact, exactText, wellFormed } from "../wire/packing.js";
import type { Body, Query, Schemas } from "../wire/schemas.js";
import { timeText } from "../wire/times.js";
import type { Calls } from "./calls.js";
import { ThreadChanges, type ThreadChangesOptions } from "./changes.js";
import {
  type CreatedThread,
  createdThread,
  forkedThread,
  type Metadata,
  type RewoundThread,
  rewoundThread,
  type Thread,
  type ThreadPage,
  type ThreadStorage,
  thread,
  threadCount,
  threadPage,
  threadStorage,
  updatedThread,
} from "./thread_records.js";

type SearchBody = Body<"/v1/threads/search">;
type ListQuery = Query<"/v1/threads">;

/**
 * How a thread stands, as the newest checkpoint of the root graph, its writes and the lease say. `interrupted` waits for an answer, or has
 * tasks that nobody runs.
 */
export type ThreadStatus = Schemas["ThreadStatus"];

/** The time to live of a thread in minutes. The server deletes or prunes a thread that has not changed for so long. Setting it needs the right to delete the thread. */
export type ThreadTtl = Schemas["ThreadTtl"];

export interface ListThreadsOptions extends CallOptions {
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
  sort?: ListQuery["sort"];
  order?: ListQuery["order"];
  graphId?: string | undefined;
  assistantId?: string | undefined;
  userId?: string | undefined;
  prefix?: string | undefined;
}

export interface ForkThreadOptions extends CallOptions {
  checkpointId: string;
  /** Absent: the root graph. */
  checkpointNs?: string | undefined;
}

export interface RewindThreadOptions extends ForkThreadOptions {
  /** Say what would go, change nothing. */
  dryRun?: boolean | undefined;
  /** Keep the thread as it was as a snapshot. Default true. */
  safety?: boolean | undefined;
  /** The fence of the lease. Needed while somebody holds it. */
  fence?: number | undefined;
}

export interface DeleteThreadOptions extends CallOptions {
  /** The fence of the lease. Needed while somebody holds it. */
  fence?: number | undefined;
  /** The generation that was last read: ThreadRestoredError where the thread was restored in place since. */
  generation?: string | undefined;
}

export interface CreateThreadOptions extends CallOptions {
  /** Default: the server makes one. */
  threadId?: string | undefined;
  title?: string | undefined;
  metadata?: Readonly<Metadata> | undefined;
  ttl?: ThreadTtl | undefined;
}

export interface UpdateThreadOptions extends CallOptions {
  /** `null` takes the title away. */
  title?: string | null | undefined;
  /** Its fields take the place of those of the same names; the others stay. */
  metadata?: Readonly<Metadata> | undefined;
  /** The same as JSON text, which is kept as it is. In place of `metadata`. */
  metadataText?: string | undefined;
  /** No other field stays. Default false. */
  replaceMetadata?: boolean | undefined;
  /** `null` takes the ttl away. */
  ttl?: ThreadTtl | null | undefined;
  /** The version that the thread must have. */
  ifVersion?: number | undefined;
}

/** The metadata of a thread as JSON text, and the version of the thread that it is of. */
export interface MetadataText {
  text: string;
  version: number;
}

/** Conditions of a search. A thread must meet all of them. */
export interface ThreadConditions extends CallOptions {
  ids?: readonly string[] | undefined;
  /** Ids that begin with it. */
  prefix?: string | undefined;
  /** What their metadata contains: objects field by field, lists and all else as a whole. */
  metadata?: Readonly<Metadata> | undefined;
  /** What the values of their newest state contain, in the same way. The server opens each thread that meets the other conditions, at most 10,000. */
  values?: Readonly<Metadata> | undefined;
  /** Part of the title, in small or large letters, or the beginning of the id. */
  q?: string | undefined;
  graphId?: string | undefined;
  assistantId?: string | undefined;
  userId?: string | undefined;
  owner?: string | undefined;
  /** From this time on. */
  createdAfter?: Date | string | undefined;
  /** Before this time. */
  createdBefore?: Date | string | undefined;
  updatedAfter?: Date | string | undefined;
  updatedBefore?: Date | string | undefined;
  /** They stand as one of these, or as this one. */
  status?: ThreadStatus | readonly ThreadStatus[] | undefined;
}

export interface SearchThreadsOptions extends ThreadConditions {
  sort?: SearchBody["sort"];
  order?: SearchBody["order"];
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
  /**
   * What else comes with each thread that has checkpoints: `preview` says what it is about, `values` and `interrupts` are those of its newest
   * state. A page with them ends early at 8 MiB, and `nextCursor` goes on.
   */
  include?: readonly Schemas["ThreadPart"][] | undefined;
}

export class Threads {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Undefined where there is none, or it is not the caller's. */
  async get(threadId: string, options: CallOptions = {}): Promise<Thread | undefined> {
    const body = { thread_id: threadIdOf(threadId) };
    const { thread: found } = await this.#calls.with(options).read("/v1/threads/get", body);
    return found ? thread(found) : undefined;
  }

  /**
   * The metadata of a thread as its JSON text, with the version that `ifVersion` of an update takes: `1.0` stays `1.0`, and every whole
   * number has all of its digits. Undefined where there is no such thread.
   */
  async getMetadataText(
    threadId: string,
    options: CallOptions = {},
  ): Promise<MetadataText | undefined> {
    const body = { thread_id: threadIdOf(threadId) };
    const { thread: found } = await this.#calls.with(options).read("/v1/threads/get", body);
    if (!found) return undefined;
    return { text: exactTextIn(found, "metadata"), version: thread(found).version };
  }

  /** One page of threads. */
  async list(options: ListThreadsOptions = {}): Promise<ThreadPage> {
    const { limit, cursor, sort, order, prefix } = options;
    const { graphId: graph_id, assistantId: assistant_id, userId: user_id } = options;
    const query = { limit, cursor, sort, order, prefix, graph_id, assistant_id, user_id };
    return threadPage(await this.#calls.with(options).get("/v1/threads", query));
  }

  /** The bytes that a thread takes, by channel. Undefined where there is none. */
  async getStorage(
    threadId: string,
    options: CallOptions = {},
  ): Promise<ThreadStorage | undefined> {
    const query = { thread_id: threadIdOf(threadId) };
    const { storage } = await this.#calls.with(options).get("/v1/threads/storage", query);
    return storage ? threadStorage(storage) : undefined;
  }

  /**
   * Copy all checkpoints, values and writes into a thread that is not there or empty: how many checkpoints. Of a source that is not
   * there, 0. ThreadExistsError, ThreadTakenError, LeaseHeldError, QuotaExceededError.
   */
  async copy(source: string, target: string, options: CallOptions = {}): Promise<number> {
    const body = { source_thread_id: threadIdOf(source), target_thread_id: threadIdOf(target) };
    return numberIn(await this.#calls.with(options).once("/v1/threads/copy", body), "checkpoints");
  }

  /**
   * Make a thread of another one's state at a checkpoint, with what led to it: how many checkpoints it has. ThreadExistsError where
   * the target is there, NotFoundError where the source or the checkpoint is not.
   */
  async fork(source: string, target: string, options: ForkThreadOptions): Promise<number> {
    const { checkpointId, checkpointNs } = options;
    const body = {
      source: threadIdOf(source),
      target: threadIdOf(target),
      checkpoint_id: checkpointId,
      checkpoint_ns: checkpointNs,
    };
    return forkedThread(await this.#calls.with(options).once("/v1/threads/fork", body)).checkpoints;
  }

  /**
   * Put a thread back to one of its checkpoints: what a fork from there would have stays. Restoring the snapshot that is named in the
   * answer undoes it. NotFoundError without such a checkpoint; LeaseHeldError, FenceStaleError.
   */
  async rewind(threadId: string, options: RewindThreadOptions): Promise<RewoundThread> {
    const { checkpointId, checkpointNs, dryRun, safety, fence } = options;
    const body = {
      thread_id: threadIdOf(threadId),
      checkpoint_id: checkpointId,
      checkpoint_ns: checkpointNs,
      dry_run: dryRun,
      safety,
      fence,
    };
    return rewoundThread(await this.#calls.with(options).once("/v1/threads/rewind", body));
  }

  /**
   * Delete a thread with everything in it. No error where there is none. LeaseHeldError while somebody holds its lease, FenceStaleError
   * for a fence that is not the current one.
   */
  async delete(threadId: string, options: DeleteThreadOptions = {}): Promise<void> {
    const { fence, generation } = options;
    const body = { thread_id: threadIdOf(threadId), fence, generation };
    await this.#calls.with(options).write("/v1/threads/delete", body);
  }

  /** Follow the threads that change, for `for await`. Sends nothing before the first event is asked for. */
  changes(options: ThreadChangesOptions = {}): ThreadChanges {
    const { ids = [], prefix, after } = options;
    const query = ids.map((id): [string, string] => ["id", threadIdOf(id)]);
    if (prefix !== undefined) query.push(["prefix", wellFormed(prefix, "prefix")]);
    return new ThreadChanges(this.#calls.with(options).events("/v1/threads/changes", query, after));
  }

  /**
   * Make a thread without checkpoints; its first commit keeps id, title and metadata. Where it is there, it is answered as it is, with
   * `created: false`. ThreadTakenError where it is another subject's.
   */
  async create(options: CreateThreadOptions = {}): Promise<CreatedThread> {
    const { threadId, title, metadata, ttl } = options;
    const body = {
      thread_id: threadId === undefined ? undefined : threadIdOf(threadId),
      title: title === undefined ? undefined : wellFormed(title, "title"),
      metadata: metadata && exact(metadata, "metadata"),
      ttl,
    };
    return createdThread(await this.#calls.with(options).once("/v1/threads/create", body));
  }

  /** Change title, metadata and ttl; the thread as it is then. NotFoundError; VersionConflictError where the version is not `ifVersion`. */
  async update(threadId: string, options: UpdateThreadOptions = {}): Promise<Thread> {
    const { title, metadata, metadataText, ttl } = options;
    const body = {
      thread_id: threadIdOf(threadId),
      title: typeof title === "string" ? wellFormed(title, "title") : title,
      metadata:
        metadataText === undefined
          ? metadata && exact(metadata, "metadata")
          : exactText(metadataText, "metadataText"),
      replace_metadata: options.replaceMetadata,
      ttl,
      if_version: options.ifVersion,
    };
    const answer = await this.#calls.with(options).once("/v1/threads/update", body);
    return updatedThread(answer).thread;
  }

  /** One page of the threads that meet all conditions, the newest first. */
  async search(options: SearchThreadsOptions = {}): Promise<ThreadPage> {
    const { sort, order, limit, cursor } = options;
    const include = options.include && [...options.include];
    const body = { ...conditionsOf(options), sort, order, limit, cursor, include };
    return threadPage(await this.#calls.with(options).read("/v1/threads/search", body));
  }

  /** How many threads meet all conditions. */
  async count(options: ThreadConditions = {}): Promise<number> {
    const answer = await this.#calls.with(options).read("/v1/threads/count", conditionsOf(options));
    return threadCount(answer).count;
  }
}

/** The conditions as they travel. */
function conditionsOf(options: ThreadConditions): Body<"/v1/threads/count"> {
  const { ids, metadata, values, prefix, q, owner, status } = options;
  const { graphId: graph_id, assistantId: assistant_id, userId: user_id } = options;
  return {
    ids: ids?.map((id) => threadIdOf(id)),
    metadata: metadata && exact(metadata, "metadata"),
    values: values && exact(values, "values"),
    prefix,
    q: q === undefined ? undefined : wellFormed(q, "q"),
    owner,
    graph_id,
    assistant_id,
    user_id,
    created_after: timeText(options.createdAfter, "createdAfter"),
    created_before: timeText(options.createdBefore, "createdBefore"),
    updated_after: timeText(options.updatedAfter, "updatedAfter"),
    updated_before: timeText(options.updatedBefore, "updatedBefore"),
    status: typeof status === "string" ? [status] : status && [...status],
  };
}
