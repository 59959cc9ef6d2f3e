/**
 * `sessionStoreCheckpointer`: a checkpointer of LangGraph.js over any session store. It costs what such a store can do: every
 * read loads the whole log, and every step adds its whole state to it. A server's own checkpointer (`httpCheckpointer`) reads
 * one checkpoint and stores differences.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { SessionKey, SessionStore } from "../claude/contract.js";
import { InvalidError } from "../errors.js";
import { tupleOf } from "../langgraph/decode.js";
import {
  checkpointOp,
  configOf,
  type Serializer,
  targetOf,
  writesOp,
} from "../langgraph/encode.js";
import { historyIn, type Stored } from "../langgraph/history.js";
import { ANSWERS_NEWEST, loadedHistory } from "../langgraph/reads.js";
import { threadIdOf } from "../wire/ids.js";
import type { Schemas } from "../wire/schemas.js";
import { PROJECT_KEY } from "./builders.js";
import {
  checkpointEntry,
  deletionEntry,
  type Place,
  SessionLog,
  writesEntry,
} from "./session_log.js";

export interface SessionSaverOptions {
  /** Whose log holds the checkpoints, of all threads of this saver. */
  sessionId: string;
  /** Default "computeragent". */
  projectKey?: string | undefined;
  /** A log of its own below the session, where the store has such. Default: the session's main one. */
  subpath?: string | undefined;
  /** Default: LangGraph's own. */
  serde?: Serializer | undefined;
}

/** What is needed of a store. */
export type Log = Pick<SessionStore, "append" | "load">;

/** A checkpointer whose state is in the log of one session. Other entries of the log are left alone. */
export function sessionStoreCheckpointer(
  store: Log,
  options: SessionSaverOptions,
): SessionStoreSaver {
  return new SessionStoreSaver(store, options);
}

export class SessionStoreSaver extends BaseCheckpointSaver {
  readonly #store: Log;
  readonly #key: SessionKey;

  constructor(store: Log, options: SessionSaverOptions) {
    super(options.serde);
    const { sessionId, projectKey = PROJECT_KEY, subpath } = options;
    if (typeof sessionId !== "string" || sessionId === "") {
      throw new InvalidError("sessionId must be a text", { field: "sessionId" });
    }
    this.#store = store;
    this.#key = { projectKey, sessionId, ...(subpath ? { subpath } : {}) };
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const thread: unknown = config.configurable?.["thread_id"];
    if (thread === undefined || thread === null) return undefined;
    const { threadId, checkpointNs, checkpointId } = targetOf(config);
    const log = await this.#load();
    const point = log.find(threadId, checkpointNs, checkpointId);
    return point && this.#tuple(log, point);
  }

  async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const before: unknown = options.before?.configurable?.["checkpoint_id"];
    const { limit, filter } = options;
    const log = await this.#load();
    const found = log.newestFirst((point) => {
      return (
        isOr(thread_id, point.threadId) &&
        isOr(checkpoint_ns, point.checkpointNs) &&
        isOr(checkpoint_id || undefined, point.checkpointId) &&
        (!before || point.checkpointId < String(before))
      );
    });
    let left = limit ?? Number.POSITIVE_INFINITY;
    for (const point of found) {
      if (left <= 0) return;
      if (filter && !contains(log.metadata(point), filter)) continue;
      left -= 1;
      yield await this.#tuple(log, point);
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const target = targetOf(config);
    const op = await checkpointOp(this.serde, { target, checkpoint, metadata, newVersions });
    const { checkpoint: made } = op.body as { checkpoint: Schemas["Checkpoint"] };
    const place = placeOf(target.threadId, op);
    const entry = checkpointEntry({
      ...place,
      parentId: target.checkpointId,
      skeleton: made.skeleton,
      metadata: made.metadata,
      values: [
        ...made.values.map((value) => newValueOf(value, true)),
        ...(await this.#carried(checkpoint, newVersions)),
      ],
    });
    await this.#store.append(this.#key, [entry]);
    return configOf(place.threadId, place.checkpointNs, place.checkpointId);
  }

  /** `taskPath` orders the writes of a checkpoint: by path, task id and position, strings by code point. */
  async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const target = targetOf(config);
    const op = await writesOp(this.serde, { target, writes, taskId, taskPath, seq: 0 });
    if (!op) return;
    const { writes: made } = op.body as { writes: Schemas["Writes"] };
    const stored = made.writes.map((write) => ({
      idx: write.idx,
      channel: write.channel,
      ...storedOf(write),
    }));
    const task = { id: made.task_id, path: taskPath };
    const entry = writesEntry(placeOf(target.threadId, op), task, stored);
    await this.#store.append(this.#key, [entry]);
  }

  /** Marks the thread as gone: a log only grows, and its bytes stay until the session goes. */
  async deleteThread(threadId: string): Promise<void> {
    await this.#store.append(this.#key, [deletionEntry(threadIdOf(threadId))]);
  }

  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { threadId, checkpointNs, checkpointId } = targetOf(options.config);
    const log = await this.#load();
    const isAsked = checkpointId !== undefined || ANSWERS_NEWEST;
    const point = isAsked ? log.find(threadId, checkpointNs, checkpointId) : undefined;
    const chain = point && log.chain(point);
    const target = { parentId: point?.head.parent, bases: new Map(), channels: new Set<string>() };
    const loaded = options.channels.map(async (channel) => {
      const history = chain
        ? historyIn(chain, checkpointNs, target, channel)
        : { seed: undefined, writes: [] };
      return [channel, await loadedHistory(this.serde, channel, history)] as const;
    });
    return Object.fromEntries(await Promise.all(loaded));
  }

  async #load(): Promise<SessionLog> {
    return new SessionLog((await this.#store.load(this.#key)) ?? []);
  }

  #tuple(log: SessionLog, point: Parameters<SessionLog["view"]>[0]): Promise<CheckpointTuple> {
    return tupleOf(log.view(point), this.serde, () => this.getNextVersion(undefined));
  }

  /** Values of the state that this put does not bring. */
  async #carried(checkpoint: Checkpoint, newVersions: ChannelVersions) {
    const { channel_values: values = {}, channel_versions: versions } = checkpoint;
    const carried = Object.entries(versions).filter(([channel]) => {
      return Object.hasOwn(values, channel) && !Object.hasOwn(newVersions, channel);
    });
    return await Promise.all(
      carried.map(async ([channel, version]) => {
        const [tag, data] = await this.serde.dumpsTyped(values[channel]);
        return { channel, version: JSON.stringify(version), tag, data, isOwn: false };
      }),
    );
  }
}

function placeOf(threadId: string, op: { checkpointNs: string; checkpointId: string }): Place {
  return { threadId, checkpointNs: op.checkpointNs, checkpointId: op.checkpointId };
}

function newValueOf(value: Schemas["NewValue"], isOwn: boolean) {
  const version = new TextDecoder().decode(value.version);
  return { channel: value.channel, version, ...storedOf(value), isOwn };
}

/** Made by an encoder that shortens nothing, so the data are bytes. */
function storedOf(entry: { tag: string; data?: Schemas["DataIn"] | null }): Stored {
  return { tag: entry.tag, data: (entry.data as Uint8Array | undefined) ?? new Uint8Array() };
}

/** A condition that is not there holds. */
function isOr(wanted: unknown, found: string): boolean {
  return wanted === undefined || wanted === null || String(wanted) === found;
}

/** Objects and lists by containment, everything else by equality, as the server's filter does. */
function contains(found: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(found) && wanted.every((one) => found.some((other) => contains(other, one)))
    );
  }
  if (typeof wanted === "object" && wanted !== null) {
    if (typeof found !== "object" || found === null || Array.isArray(found)) return false;
    return Object.entries(wanted).every(([name, value]) => {
      return (
        Object.hasOwn(found, name) && contains((found as Record<string, unknown>)[name], value)
      );
    });
  }
  return found === wanted;
}
