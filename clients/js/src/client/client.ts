/** `Client`: threads, files, leases, retention, tokens, subjects, usage and audit, natively. */

import { InvalidError } from "../errors.js";
import { Connection } from "../http/connection.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { threadIdOf } from "../wire/ids.js";
import type { Query, Schemas } from "../wire/schemas.js";
import { Calls } from "./calls.js";
import { Files } from "./files.js";
import {
  nothingPruned,
  type PruneOptions,
  type PruneReport,
  pruneBody,
  pruneReport,
} from "./prune.js";
import {
  type AuditPage,
  auditPage,
  type ErasureReceipt,
  erasureReceipt,
  type Identity,
  identity,
  type Lease,
  lease,
  type RetentionPolicy,
  type RetentionReportPage,
  retentionDue,
  retentionPolicy,
  retentionReportPage,
  type Thread,
  type ThreadPage,
  type ThreadStorage,
  thread,
  threadPage,
  threadStorage,
  type Usage,
  usage,
} from "./records.js";
import { Sessions } from "./sessions.js";
import { Tokens } from "./tokens.js";

type ThreadsQuery = Query<"/v1/threads">;

export interface ListThreadsOptions {
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
  sort?: ThreadsQuery["sort"];
  order?: ThreadsQuery["order"];
  graphId?: string | undefined;
  assistantId?: string | undefined;
  userId?: string | undefined;
  prefix?: string | undefined;
}

export interface AuditOptions {
  since?: Date | string | undefined;
  until?: Date | string | undefined;
  act?: string | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface RetentionPolicyOptions {
  /** Absent: of all threads that have no policy of their own. */
  threadId?: string | undefined;
  expireAfterSeconds?: number | undefined;
  keepLast?: number | undefined;
  olderThanSeconds?: number | undefined;
  /** Threads that wait for an answer do not expire, and keep what a resume needs. Default true. */
  keepInterrupted?: boolean | undefined;
  /** Only report what would go: begin with this. */
  dryRun?: boolean | undefined;
}

/**
 * The native client. `url` and `apiKey` default to THREADKEEP_URL and THREADKEEP_API_KEY. Constructing does no I/O and there
 * is nothing to close. Failures throw the types of this package; undefined means that a thing does not exist, or is not the
 * caller's.
 */
export class Client {
  /** Make, narrow and revoke tokens. */
  readonly tokens: Tokens;
  readonly subjects: Subjects;
  /** Files of namespaces. */
  readonly files: Files;
  /** Logs and small documents of agents that are not LangGraph. */
  readonly sessions: Sessions;
  readonly #calls: Calls;

  constructor(options: ConnectionOptions = {}) {
    this.#calls = new Calls(new Connection(settingsOf(options)));
    this.sessions = new Sessions(this.#calls);
    this.tokens = new Tokens(this.#calls);
    this.subjects = new Subjects(this.#calls);
    this.files = new Files(this.#calls);
  }

  async getThread(threadId: string): Promise<Thread | undefined> {
    const body = { thread_id: threadIdOf(threadId) };
    const { thread: found } = await this.#calls.read("/v1/threads/get", body);
    return found ? thread(found) : undefined;
  }

  /** What a thread takes, by channel. */
  async getThreadStorage(threadId: string): Promise<ThreadStorage | undefined> {
    const query = { thread_id: threadIdOf(threadId) };
    const { storage } = await this.#calls.get("/v1/threads/storage", query);
    return storage ? threadStorage(storage) : undefined;
  }

  /** One page of threads. */
  async listThreads(options: ListThreadsOptions = {}): Promise<ThreadPage> {
    const { graphId, assistantId, userId, ...more } = options;
    const query = { ...more, graph_id: graphId, assistant_id: assistantId, user_id: userId };
    return threadPage(await this.#calls.get("/v1/threads", query));
  }

  /** Take the lease of a thread. Throws LeaseHeldError while another holder has it. */
  async acquireLease(
    threadId: string,
    holder: string,
    { ttlSeconds }: { ttlSeconds: number },
  ): Promise<Lease> {
    const body = { thread_id: threadIdOf(threadId), holder, ttl_seconds: ttlSeconds };
    return lease(await this.#calls.write("/v1/threads/lease/acquire", body));
  }

  /** Keep a lease. Throws FenceStaleError when it was lost. */
  async renewLease(
    threadId: string,
    holder: string,
    { fence, ttlSeconds }: { fence: number; ttlSeconds: number },
  ): Promise<Lease> {
    const body = { thread_id: threadIdOf(threadId), holder, fence, ttl_seconds: ttlSeconds };
    return lease(await this.#calls.write("/v1/threads/lease/renew", body));
  }

  /** Give a lease back. */
  async releaseLease(
    threadId: string,
    holder: string,
    { fence }: { fence: number },
  ): Promise<void> {
    const body = { thread_id: threadIdOf(threadId), holder, fence };
    await this.#calls.write("/v1/threads/lease/release", body);
  }

  /** Remove checkpoints, but for the `keepLast` newest of each namespace (1 by default). */
  async pruneThreads(
    threadIds: readonly string[],
    options: PruneOptions = {},
  ): Promise<PruneReport> {
    const body = pruneBody(threadIds, options);
    if (body.thread_ids.length === 0) return nothingPruned(options.dryRun === true);
    return pruneReport(await this.#calls.write("/v1/checkpoints/prune", body));
  }

  /** Let the server remove by itself. A thread's policy without any limit exempts the thread. */
  async putRetentionPolicy(options: RetentionPolicyOptions): Promise<RetentionPolicy> {
    const { policy } = await this.#calls.write("/v1/retention/policies/put", {
      thread_id: options.threadId,
      expire_after_seconds: options.expireAfterSeconds,
      keep_last: options.keepLast,
      older_than_seconds: options.olderThanSeconds,
      keep_interrupted: options.keepInterrupted,
      dry_run: options.dryRun,
    });
    return retentionPolicy(policy);
  }

  /** A thread's own policy, or without an id the tenant's. */
  async getRetentionPolicy(threadId?: string): Promise<RetentionPolicy | undefined> {
    const body = { thread_id: threadId };
    const { policy } = await this.#calls.read("/v1/retention/policies/get", body);
    return policy ? retentionPolicy(policy) : undefined;
  }

  /** No error when there is none. */
  async deleteRetentionPolicy(threadId?: string): Promise<void> {
    await this.#calls.write("/v1/retention/policies/delete", { thread_id: threadId });
  }

  /** Make a thread's policy due now, or all of the tenant: how many are. Their reports follow. */
  async runRetention(threadId?: string): Promise<number> {
    const answer = await this.#calls.write("/v1/retention/run", { thread_id: threadId });
    return retentionDue(answer).policies;
  }

  /** One page of reports, newest first. */
  async listRetentionReports(
    options: { threadId?: string; limit?: number; cursor?: string } = {},
  ): Promise<RetentionReportPage> {
    const { threadId, ...more } = options;
    const query = { thread_id: threadId, ...more };
    return retentionReportPage(await this.#calls.get("/v1/retention/reports", query));
  }

  /** What the tenant has, at most 10 seconds ago, and what it may have. For keys of the whole tenant. */
  async usage(): Promise<Usage> {
    return usage(await this.#calls.get("/v1/usage", {}));
  }

  /** One page of the audit log, newest first. For keys of the whole tenant. */
  async audit(options: AuditOptions = {}): Promise<AuditPage> {
    const { since, until, ...more } = options;
    const query = { ...more, since: timeText(since, "since"), until: timeText(until, "until") };
    return auditPage(await this.#calls.get("/v1/audit", query));
  }

  /** Every declared limit of the server by its name there. */
  async limits(): Promise<Schemas["Limits"]> {
    return await this.#calls.get("/v1/limits", {});
  }

  /** Who the server takes this client for. */
  async whoami(): Promise<Identity> {
    return identity(await this.#calls.get("/v1/whoami", {}));
  }

  /** Returns when the server answers that it lives, else throws. */
  async healthz(): Promise<void> {
    await this.#calls.probe("/healthz");
  }
}

/** `client.subjects`: whom keys and tokens speak for. */
class Subjects {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Erase a subject: its keys, its threads with everything in them, its items. Needs a key of the whole tenant. Repeat it
   * after a failure: it removes the rest. Revoke tokens of the subject first.
   */
  async delete(subject: string): Promise<ErasureReceipt> {
    return erasureReceipt(await this.#calls.delete("/v1/subjects", { subject }));
  }
}

function timeText(time: Date | string | undefined, field: string): string | undefined {
  if (!(time instanceof Date)) return time;
  if (Number.isNaN(time.getTime())) throw new InvalidError(`${field} is no valid time`, { field });
  return time.toISOString();
}
