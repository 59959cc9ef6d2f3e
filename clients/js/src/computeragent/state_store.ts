/**
 * The StateStore of `kind: "http"`: one snapshot of the server has a sandbox's record, its conversation and its working directory.
 * Loading only reads; rolling the conversation back is a call of its own.
 */

import { Client } from "../client/client.js";
import type { SessionAddress } from "../client/session_records.js";
import type { Restored, Snapshot } from "../client/snapshot_records.js";
import { InvalidError, ProtocolError } from "../errors.js";
import { type HttpStoreHost, settingsOf } from "./builders.js";
import { uuid5 } from "./uuid5.js";

/** What ComputerAgent knows of a sandbox that it saved. Fields that are not named here are kept as well. */
export interface SandboxRecord {
  snapshotId: string;
  sourceSandboxId: string;
  sourceSessionId: string;
  takenAt: string | number;
  config?: unknown;
  turnCount?: number;
  usage?: unknown;
  sessionStoreRef?: { kind: string; options?: unknown; sessionId: string };
  workdirBytes?: number;
  workdirFileCount?: number;
  [more: string]: unknown;
}

export interface SandboxSnapshot extends SandboxRecord {
  /** A tar, compressed with gzip or not; what is loaded is compressed. */
  workdirTar?: Uint8Array;
}

export interface ListedSnapshot extends SandboxRecord {
  sizeBytes: number;
}

export interface ListStatesFilter {
  sourceSandboxId?: string | undefined;
  /** Those that were taken then or later. */
  since?: string | number | Date | undefined;
  limit?: number | undefined;
}

/** Methods are bound. Failures throw the types of `threadkeep`. */
export interface HttpStateStore {
  /** Whole or not at all. Saving it again changes nothing; another one of the same id is refused. */
  save(snap: SandboxSnapshot): Promise<{ snapshotId: string; sizeBytes: number }>;
  /** Null where there is none. Changes nothing: the conversation stays as it is. */
  load(snapshotId: string): Promise<SandboxSnapshot | null>;
  /** Newest first, without working directories. */
  list(filter?: ListStatesFilter): Promise<ListedSnapshot[]>;
  /** No error where there is none. */
  delete(snapshotId: string): Promise<void>;
  /**
   * `"snapshot"`: the conversation is again what it was, and whoever still writes to it gets ThreadRestoredError. `"latest"` leaves
   * it as it is.
   */
  restoreConversation(
    snapshotId: string,
    which: "snapshot" | "latest",
  ): Promise<Restored | undefined>;
}

/** The document of a snapshot. */
interface Kept {
  record: SandboxRecord;
}

type ByteTransform = ReadableWritablePair<Uint8Array, Uint8Array>;

/** So that other snapshots of the tenant are not taken for ComputerAgent's. */
const MARK = { made_by: "computeragent" };
const SOURCE = "source_sandbox";
/** One for all sandboxes: what is saved of a restored one is mostly that of the one before. */
const WORKSPACE = "computeragent";
/** The Claude engine resumes its sessions under this id of ComputerAgent's. */
const ENGINE_NAMESPACE = "f8d9cb1a-3e7e-4d8d-9aa4-1d3f8d7b6c2e";
const SESSION_KIND = "claude";
const PAGE_SNAPSHOTS = 100;

/** The store of `stateStores: { http: httpStateStore }`, with the options of `httpSessionStore`. */
export function httpStateStore(options?: unknown, host: HttpStoreHost = {}): HttpStateStore {
  const { connection, projectKey } = settingsOf(options, host);
  const client = new Client(connection);
  return {
    save: (snap) => save(client, projectKey, snap, connection.apiKey),
    load: (snapshotId) => load(client, snapshotId),
    list: (filter) => list(client, filter ?? {}),
    delete: (snapshotId) => client.snapshots.delete(snapshotId),
    restoreConversation: (snapshotId, which) => restoreConversation(client, snapshotId, which),
  };
}

async function save(
  client: Client,
  projectKey: string,
  snap: SandboxSnapshot,
  credential: string | undefined,
): Promise<{ snapshotId: string; sizeBytes: number }> {
  const { workdirTar, ...record } = snap;
  if (credential !== undefined && JSON.stringify(record).includes(credential)) {
    throw new InvalidError("the record holds the key or token of this store", { field: "config" });
  }
  const { snapshotId: id, sourceSandboxId } = record;
  const sessionId = record.sessionStoreRef?.sessionId ?? record.sourceSessionId;
  // Whoever unpacks it made it: its links are ComputerAgent's business.
  const archive =
    workdirTar && (await client.snapshots.putArchive(WORKSPACE, workdirTar, { links: "any" }));
  const taken = await client.snapshots.take({
    snapshotId: id,
    threads: (await client.getThread(sessionId)) ? [sessionId] : [],
    sessions: await sessionsOf(client, projectKey, sessionId),
    labels: { ...MARK, [SOURCE]: sourceSandboxId },
    archive,
    document: { record } satisfies Kept,
  });
  return { snapshotId: taken.snapshotId, sizeBytes: taken.sizeBytes };
}

async function load(client: Client, snapshotId: string): Promise<SandboxSnapshot | null> {
  const found = await client.snapshots.get(snapshotId);
  if (!found || found.labels["made_by"] !== MARK.made_by) return null;
  const { record } = keptIn(found);
  if (found.archive === undefined) return record;
  const tar = await client.snapshots.getArchive(snapshotId);
  const packed = tar.pipeThrough(new CompressionStream("gzip") as ByteTransform);
  return { ...record, workdirTar: new Uint8Array(await new Response(packed).arrayBuffer()) };
}

async function list(client: Client, filter: ListStatesFilter): Promise<ListedSnapshot[]> {
  const { sourceSandboxId, since, limit = Number.POSITIVE_INFINITY } = filter;
  const from = since === undefined ? Number.NEGATIVE_INFINITY : new Date(since).getTime();
  if (Number.isNaN(from)) throw new InvalidError("since is no time", { field: "since" });
  const labels = sourceSandboxId === undefined ? MARK : { ...MARK, [SOURCE]: sourceSandboxId };
  const found: ListedSnapshot[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.snapshots.list({ labels, limit: PAGE_SNAPSHOTS, cursor });
    for (const one of page.snapshots) {
      if (found.length >= limit || one.takenAt.getTime() < from) return found;
      found.push({ ...keptIn(one).record, sizeBytes: one.sizeBytes });
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

async function restoreConversation(
  client: Client,
  snapshotId: string,
  which: "snapshot" | "latest",
): Promise<Restored | undefined> {
  if (which === "latest") return undefined;
  if (which !== "snapshot") {
    throw new InvalidError("restoreConversation is snapshot or latest", {
      field: "restoreConversation",
    });
  }
  return await client.snapshots.restore(snapshotId, { threads: "all", sessions: "all" });
}

/** The logs of a session, as engines name them: by its id, or by one made of it. */
async function sessionsOf(
  client: Client,
  projectKey: string,
  sessionId: string,
): Promise<SessionAddress[]> {
  const ids = [sessionId, await uuid5(sessionId, ENGINE_NAMESPACE)];
  const named = ids.map((id) => ({ kind: SESSION_KIND, key: [projectKey, id] }));
  const streams = await Promise.all(named.map((one) => client.sessions.streams(one)));
  return named.filter((_, at) => streams[at]?.length !== 0);
}

function keptIn({ document, snapshotId }: Snapshot): Kept {
  if (typeof document !== "object" || document === null || !("record" in document)) {
    throw new ProtocolError(`the snapshot ${snapshotId} has no record of ComputerAgent's`);
  }
  return document as Kept;
}
