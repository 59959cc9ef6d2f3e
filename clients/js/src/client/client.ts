/** `Client`: threads, checkpoints, items, files, sessions, snapshots, exports, leases, retention, tokens, usage and audit, natively. */

import { Connection } from "../http/connection.js";
import type { CallOptions } from "../http/deadline.js";
import { type ConnectionOptions, optionsOf, settingsOf } from "../http/settings.js";
import { showAs } from "../http/shown.js";
import { threadIdOf } from "../wire/ids.js";
import type { Schemas } from "../wire/schemas.js";
import { timeText } from "../wire/times.js";
import { type AuditTextPage, auditTextPage } from "./audit_text.js";
import { Calls } from "./calls.js";
import { Checkpoints } from "./checkpoints.js";
import { Drive } from "./drive.js";
import { wholeFile } from "./export_frames.js";
import { Files } from "./files.js";
import { Keys } from "./keys.js";
import { Operator } from "./operator.js";
import type { PruneOptions, PruneReport } from "./prune.js";
import {
  type AuditPage,
  auditPage,
  type Identity,
  identity,
  type RetentionPolicy,
  type RetentionPolicyPage,
  type RetentionReportPage,
  retentionDue,
  retentionPolicy,
  retentionPolicyPage,
  retentionReportPage,
  type ServerInfo,
  serverInfo,
  type Usage,
  usage,
} from "./records.js";
import { Sessions } from "./sessions.js";
import { Snapshots } from "./snapshots.js";
import { Store } from "./store.js";
import { Subjects } from "./subjects.js";
import {
  type Lease,
  lease,
  type Thread,
  type ThreadPage,
  type ThreadStorage,
} from "./thread_records.js";
import { type ForkThreadOptions, type ListThreadsOptions, Threads } from "./threads.js";
import { Tokens } from "./tokens.js";
import {
  checksFirst,
  EXPORT,
  type ExportOptions,
  exportBody,
  fileOf,
  IMPORT,
  type Imported,
  type ImportOptions,
  imported,
  importQuery,
  MEDIA_TYPE,
  requireNoConflict,
} from "./transfers.js";
import { Uploads } from "./uploads.js";

export interface AuditOptions extends CallOptions {
  since?: Date | string | undefined;
  until?: Date | string | undefined;
  act?: string | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
}

export interface RetentionPolicyOptions extends CallOptions {
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
  /** List, make, narrow and revoke tokens. */
  readonly tokens: Tokens;
  /** List, make and revoke the keys of the own tenant. */
  readonly keys: Keys;
  /** Tenants with their keys, quotas and signing secrets. For keys of operators. */
  readonly operator: Operator;
  /** List the subjects of the tenant with what they have, and erase one. */
  readonly subjects: Subjects;
  /** Files of namespaces. */
  readonly files: Files;
  /** Files that are sent in parts, and go on after an interruption. */
  readonly uploads: Uploads;
  /** The files of one subject as one tree. */
  readonly drive: Drive;
  /** Items of namespaces, their versions and settings, and the feed of their changes. */
  readonly store: Store;
  /** Checkpoints, and states as plain JSON. */
  readonly checkpoints: Checkpoints;
  /** Logs and small documents of agents that are not LangGraph. */
  readonly sessions: Sessions;
  /** Frozen copies of threads, namespaces and sessions, and their return. */
  readonly snapshots: Snapshots;
  /** Threads, their titles and metadata, and searches by them. */
  readonly threads: Threads;
  readonly #connection: Connection;
  readonly #calls: Calls;

  constructor(options?: ConnectionOptions);
  constructor(url: string, apiKey?: string);
  constructor(given: ConnectionOptions | string | Connection = {}, apiKey?: string) {
    const isMade = given instanceof Connection;
    const connection = isMade ? given : new Connection(settingsOf(optionsOf(given, apiKey)));
    this.#connection = connection;
    this.#calls = new Calls(connection);
    this.sessions = new Sessions(this.#calls);
    this.snapshots = new Snapshots(this.#calls);
    this.threads = new Threads(this.#calls);
    this.tokens = new Tokens(this.#calls);
    this.keys = new Keys(this.#calls);
    this.operator = new Operator(this.#calls);
    this.subjects = new Subjects(this.#calls);
    this.files = new Files(this.#calls);
    this.uploads = new Uploads(this.#calls);
    this.drive = new Drive(this.#calls);
    this.store = new Store(this.#calls);
    this.checkpoints = new Checkpoints(this.#calls);
    showAs(this, connection.url);
  }

  /** A client with other limits over the same connection. */
  withOptions(options: CallOptions): Client {
    return new Client(this.#connection.withOptions(options) as ConnectionOptions);
  }

  /** `threads.get`. */
  async getThread(threadId: string): Promise<Thread | undefined> {
    return await this.threads.get(threadId);
  }

  /** `threads.getStorage`. */
  async getThreadStorage(threadId: string): Promise<ThreadStorage | undefined> {
    return await this.threads.getStorage(threadId);
  }

  /** `threads.list`. */
  async listThreads(options: ListThreadsOptions = {}): Promise<ThreadPage> {
    return await this.threads.list(options);
  }

  /** `threads.fork`. */
  async forkThread(source: string, target: string, options: ForkThreadOptions): Promise<number> {
    return await this.threads.fork(source, target, options);
  }

  /** Take the lease of a thread. Throws LeaseHeldError while another holder has it. */
  async acquireLease(
    threadId: string,
    holder: string,
    options: { ttlSeconds: number } & CallOptions,
  ): Promise<Lease> {
    const body = { thread_id: threadIdOf(threadId), holder, ttl_seconds: options.ttlSeconds };
    return lease(await this.#calls.with(options).write("/v1/threads/lease/acquire", body));
  }

  /** Keep a lease. Throws FenceStaleError when it was lost. */
  async renewLease(
    threadId: string,
    holder: string,
    options: { fence: number; ttlSeconds: number } & CallOptions,
  ): Promise<Lease> {
    const { fence, ttlSeconds } = options;
    const body = { thread_id: threadIdOf(threadId), holder, fence, ttl_seconds: ttlSeconds };
    return lease(await this.#calls.with(options).write("/v1/threads/lease/renew", body));
  }

  /** Give a lease back. */
  async releaseLease(
    threadId: string,
    holder: string,
    options: { fence: number } & CallOptions,
  ): Promise<void> {
    const body = { thread_id: threadIdOf(threadId), holder, fence: options.fence };
    await this.#calls.with(options).write("/v1/threads/lease/release", body);
  }

  /** Take a lease from whoever has it: their next write is refused. For keys of the whole tenant. */
  async breakLease(threadId: string): Promise<void> {
    await this.#calls.write("/v1/threads/lease/break", { thread_id: threadIdOf(threadId) });
  }

  /** `checkpoints.prune`. */
  async pruneThreads(
    threadIds: readonly string[],
    options: PruneOptions = {},
  ): Promise<PruneReport> {
    return await this.checkpoints.prune(threadIds, options);
  }

  /** Let the server remove by itself. A thread's policy without any limit exempts the thread. */
  async putRetentionPolicy(options: RetentionPolicyOptions): Promise<RetentionPolicy> {
    const { policy } = await this.#calls.with(options).write("/v1/retention/policies/put", {
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

  /** One page of all policies: the tenant's own, then those of threads by their ids. */
  async listRetentionPolicies(
    options: { limit?: number | undefined; cursor?: string | undefined } & CallOptions = {},
  ): Promise<RetentionPolicyPage> {
    const { limit, cursor } = options;
    const calls = this.#calls.with(options);
    return retentionPolicyPage(await calls.get("/v1/retention/policies", { limit, cursor }));
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
    options: { threadId?: string; limit?: number; cursor?: string } & CallOptions = {},
  ): Promise<RetentionReportPage> {
    const { threadId, limit, cursor } = options;
    const query = { thread_id: threadId, limit, cursor };
    return retentionReportPage(await this.#calls.with(options).get("/v1/retention/reports", query));
  }

  /**
   * Everything of the tenant, or the parts that are named, as one file that arrives as it is read. **It is not encrypted**, whatever the
   * database is. Each thread, session and item is of one moment, all of them together are not. The stream fails with TransportError
   * where the file ends too early: what came is no file then, and is asked for again. NotFoundError (SessionNotFoundError,
   * SnapshotNotFoundError) for a part that is not there. For keys of the whole tenant.
   */
  async export(options: ExportOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const stream = await this.#calls.with(options).readStream(EXPORT, exportBody(options));
    return stream.pipeThrough(wholeFile());
  }

  /**
   * Reads a file of an export into the tenant: what became of it. Bytes and a `Blob` (`await fs.openAsBlob(path)`, read as it is sent)
   * are sent twice, first as a dry run: nothing comes of a file that is damaged or cut off (ExportFileError), or of which something is
   * there with other contents (ImportConflictError, unless `overwrite` replaces it). A stream is sent once, where the runtime can send
   * streams, and so is anything with `checkFirst: false`: each thread, session, item and snapshot is imported whole or not at all, and
   * what stands before the place that ends it has been imported by then.
   *
   * `dryRun` says what would happen, counts conflicts, and changes nothing. What is there as in the file stays. LeaseHeldError for a
   * thread whose lease somebody has and that is to be replaced; QuotaExceededError. After an error the same import goes on where it ended;
   * after a lost connection, or where the server was too busy, all but a stream is sent again: what came before then counts as
   * unchanged. The parts of a stream that were read are gone: export again, or collect its bytes. For keys of the whole tenant.
   */
  async import(
    file: Uint8Array | Blob | ReadableStream<Uint8Array>,
    options: ImportOptions = {},
  ): Promise<Imported> {
    const sent = fileOf(file);
    const send = async (asked: ImportOptions) =>
      imported(
        await this.#calls.with(options).postFile(IMPORT, importQuery(asked), sent, MEDIA_TYPE),
      );
    if (checksFirst(sent, options)) requireNoConflict(await send({ ...options, dryRun: true }));
    return await send(options);
  }

  /** What the tenant has, at most 10 seconds ago, and what it may have. For keys of the whole tenant. */
  async usage(): Promise<Usage> {
    return usage(await this.#calls.get("/v1/usage", {}));
  }

  /** One page of the audit log, newest first. For keys of the whole tenant. */
  async audit(options: AuditOptions = {}): Promise<AuditPage> {
    return auditPage(await this.#calls.with(options).get("/v1/audit", auditQuery(options)));
  }

  /** The same with each event as its JSON text: times keep their microseconds, and `details` all digits. */
  async auditText(options: AuditOptions = {}): Promise<AuditTextPage> {
    const calls = this.#calls.with(options);
    return auditTextPage(await calls.getJsonText("/v1/audit", auditQuery(options)));
  }

  /** Every declared limit of the server by its name there. */
  async limits(): Promise<Schemas["Limits"]> {
    return await this.#calls.get("/v1/limits", {});
  }

  /** Who the server takes this client for. */
  async whoami(): Promise<Identity> {
    return identity(await this.#calls.get("/v1/whoami", {}));
  }

  /** What the server is, and what it has been set up with. */
  async info(): Promise<ServerInfo> {
    return serverInfo(await this.#calls.get("/v1/info", {}));
  }

  /**
   * The counts of the server in the text format of Prometheus, for all tenants together. NotFoundError where the server shows them on a
   * listener of its own. For keys and tokens that read the whole tenant.
   */
  async metrics(options: CallOptions = {}): Promise<string> {
    return await this.#calls.with(options).getText("/metrics");
  }

  /** Returns when the server answers that it lives, else throws. It says nothing about the storage. Not for pages of other origins. */
  async health(options: CallOptions = {}): Promise<void> {
    await this.#calls.with(options).probe("/healthz");
  }

  /** `health`. */
  async healthz(): Promise<void> {
    await this.health();
  }

  /**
   * Returns when the server can serve: its storage answers. Until then it is asked again, for `timeoutMs`; then UnavailableError, or
   * TransportError where nobody answers. Not for pages of other origins, which may call `whoami`.
   */
  async ready(options: CallOptions = {}): Promise<void> {
    await this.#calls.with(options).probe("/readyz");
  }
}

function auditQuery({ since, until, act, limit, cursor }: AuditOptions) {
  const [from, to] = [timeText(since, "since"), timeText(until, "until")];
  return { act, limit, cursor, since: from, until: to };
}
