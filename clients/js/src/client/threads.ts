/** `client.threads`: what people set of threads, and searches by it. */

import type { CallOptions } from "../http/deadline.js";
import { threadIdOf } from "../wire/ids.js";
import { exact, wellFormed } from "../wire/packing.js";
import type { Body, Schemas } from "../wire/schemas.js";
import { timeText } from "../wire/times.js";
import type { Calls } from "./calls.js";
import {
  type CreatedThread,
  createdThread,
  type Metadata,
  type Thread,
  type ThreadPage,
  threadCount,
  threadPage,
  updatedThread,
} from "./records.js";

type SearchBody = Body<"/v1/threads/search">;

/**
 * How a thread stands, as the newest checkpoint of the root graph, its writes and the lease say. `interrupted` waits for an answer, or has
 * tasks that nobody runs.
 */
export type ThreadStatus = Schemas["ThreadStatus"];

/** The time to live of a thread in minutes. The server deletes or prunes a thread that has not changed for so long. Setting it needs the right to delete the thread. */
export type ThreadTtl = Schemas["ThreadTtl"];

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
  /** No other field stays. Default false. */
  replaceMetadata?: boolean | undefined;
  /** `null` takes the ttl away. */
  ttl?: ThreadTtl | null | undefined;
  /** The version that the thread must have. */
  ifVersion?: number | undefined;
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
  /** What else comes with each thread: `preview` says what it is about. */
  include?: readonly Schemas["ThreadPart"][] | undefined;
}

export class Threads {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
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
    const { title, metadata, ttl } = options;
    const body = {
      thread_id: threadIdOf(threadId),
      title: typeof title === "string" ? wellFormed(title, "title") : title,
      metadata: metadata && exact(metadata, "metadata"),
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
