/** `client.snapshots`: frozen copies of threads, namespaces and sessions, and their return. */

import { InvalidError, SnapshotNotFoundError } from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import { exact, wellFormed } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";
import type { Calls } from "./calls.js";
import type { SessionAddress } from "./session_records.js";
import type { Repeatable } from "./sessions.js";
import {
  type Restored,
  restored,
  type Snapshot,
  type SnapshotPage,
  type StagedArchive,
  snapshot,
  snapshotPage,
  stagedArchive,
} from "./snapshot_records.js";

const ARCHIVE = "/v1/snapshots/archive";

/** What to freeze, all of it at one moment. */
export interface TakeOptions extends CallOptions {
  /** The same id with the same contents is the same snapshot. Default: one is made. */
  snapshotId?: string | undefined;
  /** A thread comes with its history; with `history: "head"`, the newest state of each of its namespaces only. */
  threads?: readonly (string | { threadId: string; history?: "all" | "head" | undefined })[];
  /** Each with everything below it, files included. */
  namespaces?: readonly (readonly string[])[];
  sessions?: readonly SessionAddress[];
  /** Of `putArchive`: its id, or all of its answer. */
  archive?: string | StagedArchive | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
  /** Anything that JSON has a form for. */
  document?: unknown;
  /** Default: it stays until it is deleted. */
  expiresInSeconds?: number | undefined;
}

/** Which parts of a snapshot: all, or some. Without `into`, in place. */
export type Parts<Part> = "all" | readonly Part[];

export interface PutArchiveOptions extends CallOptions {
  /** Of the tar without packing, in hex: refused where it is another. */
  sha256?: string | undefined;
  /** Links lead to something inside of the archive, unless any are allowed. Default `"inside"`. */
  links?: "inside" | "any" | undefined;
}

export interface RestoreOptions extends Repeatable {
  threads?: Parts<{ threadId: string; into?: string | undefined }> | undefined;
  /** What lies below it goes below `into`. */
  namespaces?:
    | Parts<{ namespace: readonly string[]; into?: readonly string[] | undefined }>
    | undefined;
  /** `into` is another key of the kind. */
  sessions?: Parts<SessionAddress & { into?: readonly string[] | undefined }> | undefined;
  /** With a key of the whole tenant: of a subject's threads and sessions that are made, whose they are to be. */
  subjects?: Readonly<Record<string, string>> | undefined;
  /** Only say what would change. */
  dryRun?: boolean | undefined;
  /** Take a snapshot of what is there now, where something is restored in place. Default true. */
  safety?: boolean | undefined;
  /** The caller's leases of threads that are written to. */
  leases?: readonly { threadId: string; fence: number }[] | undefined;
}

export interface ListSnapshotsOptions extends CallOptions {
  /** Only those that have all of these. */
  labels?: Readonly<Record<string, string>> | undefined;
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same labels. */
  cursor?: string | undefined;
}

export class Snapshots {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Whole or not at all. NotFoundError for a thread, a session or an archive that is not there. An archive is of the same moment only
   * if nobody wrote to the workspace between its `stagedAt` and `takenAt`.
   */
  async take(options: TakeOptions): Promise<Snapshot> {
    const { document, labels } = options;
    const body = {
      // Made here, so that a take can be sent again.
      snapshot_id: options.snapshotId ?? `snap_${randomId().replaceAll("-", "")}`,
      threads: options.threads?.map((one) => {
        const { threadId, history } = typeof one === "string" ? { threadId: one } : one;
        return { thread_id: wellFormed(threadId, "threads"), history: history ?? "all" };
      }),
      namespaces: options.namespaces?.map((one) => textsOf(one, "namespaces")),
      sessions: options.sessions?.map(addressOf),
      archive: typeof options.archive === "object" ? options.archive.archiveId : options.archive,
      labels: labels && { ...labels },
      document: document === undefined ? undefined : exact(document, "document"),
      expires_in_seconds: options.expiresInSeconds,
    };
    return snapshot(await this.#calls.with(options).write("/v1/snapshots/take", body));
  }

  /**
   * Stages a tar of a workspace for the next `take`: plain, or packed with gzip or zstd. What archives of one workspace have in common is
   * kept once. It goes in a day if no snapshot is taken with it. A file is read as it is sent: `await fs.openAsBlob(path)`.
   */
  async putArchive(
    workspace: string,
    archive: Uint8Array | Blob,
    options: PutArchiveOptions = {},
  ): Promise<StagedArchive> {
    if (!(archive instanceof Uint8Array || archive instanceof Blob)) {
      throw new InvalidError("archive must be a Uint8Array or a Blob", { field: "archive" });
    }
    const query: [string, string][] = [["workspace", workspace]];
    if (options.sha256 !== undefined) query.push(["sha256", options.sha256]);
    if (options.links !== undefined) query.push(["links", options.links]);
    const sent = { bytes: archive, mediaType: "application/x-tar" };
    return stagedArchive(await this.#calls.with(options).putBytes(ARCHIVE, query, sent));
  }

  /**
   * The archive of a snapshot as it arrives, without packing. A restore does not touch it: unpack it where it belongs. The stream
   * asks for the rest when a connection is lost; it fails with TransportError, or with what the server then says.
   * SnapshotNotFoundError, and ArchiveNotFoundError where the snapshot has none.
   */
  async getArchive(
    snapshotId: string,
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return await this.#calls.with(options).getStream(ARCHIVE, [["snapshot_id", snapshotId]]);
  }

  async get(snapshotId: string): Promise<Snapshot | undefined> {
    const body = { snapshot_id: wellFormed(snapshotId, "snapshotId") };
    try {
      return snapshot(await this.#calls.read("/v1/snapshots/get", body));
    } catch (error) {
      if (error instanceof SnapshotNotFoundError) return undefined;
      throw error;
    }
  }

  /** One page, newest first. */
  async list(options: ListSnapshotsOptions = {}): Promise<SnapshotPage> {
    const { labels, limit, cursor } = options;
    const body = { limit, cursor, labels: labels && { ...labels } };
    return snapshotPage(await this.#calls.with(options).read("/v1/snapshots/list", body));
  }

  /** What was restored from it stays. No error when there is none. */
  async delete(snapshotId: string): Promise<void> {
    const body = { snapshot_id: wellFormed(snapshotId, "snapshotId") };
    await this.#calls.write("/v1/snapshots/delete", body);
  }

  /**
   * Everything in place, or the parts that are named, whole or not at all. In place it is afterwards as it was: what came later
   * goes, into a snapshot of its own with `safety`, and savers that still run get ThreadRestoredError. What is restored `into`
   * another id, namespace or key must not be there: ThreadExistsError, NamespaceExistsError, SessionExistsError.
   */
  async restore(snapshotId: string, options: RestoreOptions = {}): Promise<Restored> {
    const { threads, namespaces, sessions, idempotencyKey = randomId() } = options;
    const body = {
      snapshot_id: wellFormed(snapshotId, "snapshotId"),
      threads: partsOf(threads, ({ threadId, into }) => {
        return { thread_id: wellFormed(threadId, "threads"), ...intoOf(into) };
      }),
      namespaces: partsOf(namespaces, ({ namespace, into }) => {
        const target = into && textsOf(into, "namespaces");
        return { namespace: textsOf(namespace, "namespaces"), ...intoOf(target) };
      }),
      sessions: partsOf(sessions, ({ into, ...address }) => {
        return { ...addressOf(address), ...intoOf(into && textsOf(into, "sessions")) };
      }),
      subjects: options.subjects && { ...options.subjects },
      dry_run: options.dryRun,
      safety: options.safety,
      leases: options.leases?.map(({ threadId, fence }) => ({ thread_id: threadId, fence })),
    };
    return restored(
      await this.#calls.with(options).write("/v1/snapshots/restore", body, { idempotencyKey }),
    );
  }
}

function partsOf<Part, Wire>(
  parts: Parts<Part> | undefined,
  wire: (part: Part) => Wire,
): "all" | Wire[] | undefined {
  return typeof parts === "string" || parts === undefined ? parts : parts.map(wire);
}

function intoOf<Target>(into: Target | undefined): { into?: Target } {
  return into === undefined ? {} : { into };
}

/** A session as it travels. */
export function addressOf({ kind, key }: SessionAddress): { kind: string; key: string[] } {
  return { kind, key: textsOf(key, "sessions") };
}

/** A name of several texts as it travels. */
export function textsOf(found: readonly string[], field: string): string[] {
  if (!Array.isArray(found)) {
    throw new InvalidError(`${field}: a name is an array of texts`, { field });
  }
  return found.map((text) => wellFormed(text, field));
}
