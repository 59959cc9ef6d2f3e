/**
 * From the arguments of the base saver to the bodies of the protocol. Values are serialized here, at call time. Skeleton,
 * versions and filters travel as the JSON text made here, metadata as the text of LangGraph's own serializer.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
  getCheckpointId,
  MemorySaver,
  type PendingWrite,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import { InvalidError, TooLargeError } from "../errors.js";
import { idOf, threadIdOf } from "../wire/ids.js";
import { exact, wellFormed } from "../wire/packing.js";
import type { Schemas } from "../wire/schemas.js";
import { BYTES_MIN } from "./differences.js";

export type Serializer = BaseCheckpointSaver["serde"];

/** Tag of a channel whose version moved and that has no value: absent, which is not null. */
export const EMPTY = "empty";

/**
 * Whether a stored value is none: marked as absent, or a function or symbol, of which LangGraph's serializer makes JSON text of
 * no bytes. MemorySaver has no such channel either.
 */
export function isAbsent(tag: string, data: Uint8Array): boolean {
  return tag === EMPTY || (tag === "json" && data.length === 0);
}

/** As the server has it, `value_bytes_max` in GET /v1/limits. */
export const VALUE_BYTES_MAX = 256 * 1024 * 1024;

/** LangGraph's default serializer, whose text is JSON: metadata must be, so that it can be filtered. */
export const jsonSerializer: Serializer = new MemorySaver().serde;

/** The three keys of a config that matter. An absent id means the latest. */
export interface Target {
  threadId: string;
  checkpointNs: string;
  checkpointId: string | undefined;
}

/**
 * A value that may travel as a difference: where it is in the body, and the place it stands at in its thread. A value that
 * is not stored is only compared (the carried ones of a fork).
 */
export interface Value {
  entry: { data?: Schemas["DataIn"] | null };
  place: string;
  data: Uint8Array;
  isStored: boolean;
}

/** One operation of a commit, and its checkpoint. `sizeBytes` is about that of the whole. */
export interface Op {
  body: Schemas["CommitOp"];
  values: Value[];
  checkpointNs: string;
  checkpointId: string;
  /** The id of the checkpoint that it goes on from: a put's parent, or that of the writes. */
  basedOn: string | undefined;
  isPut: boolean;
  sizeBytes: number;
}

/** Read a config. An absent, empty or null id is the same as none. */
export function targetOf(config: RunnableConfig): Target {
  const keys = config.configurable ?? {};
  if (keys["thread_id"] === undefined || keys["thread_id"] === null) {
    throw new InvalidError(
      'config needs a "thread_id" in "configurable", so that it is known which thread is meant',
      { field: "thread_id" },
    );
  }
  return {
    threadId: threadIdOf(keys["thread_id"]),
    checkpointNs: idOf(keys["checkpoint_ns"] ?? "", "checkpoint_ns"),
    checkpointId: idOf(getCheckpointId(config), "checkpoint_id") || undefined,
  };
}

/** A config of exactly the three keys. */
export function configOf(threadId: string, checkpointNs: string, checkpointId: string) {
  return {
    configurable: {
      thread_id: threadId,
      checkpoint_ns: checkpointNs,
      checkpoint_id: checkpointId,
    },
  };
}

export interface Put {
  target: Target;
  checkpoint: Checkpoint;
  metadata: CheckpointMetadata;
  newVersions: ChannelVersions;
}

/** The operation of a put: the skeleton, and the values of the channels with new versions. */
export async function checkpointOp(serde: Serializer, put: Put): Promise<Op> {
  const { target, checkpoint, metadata, newVersions } = put;
  const { channel_values: values = {}, ...skeleton } = checkpoint;
  const checkpointId = idOf(checkpoint.id, "checkpoint.id");
  const parts = new Parts(serde, target.checkpointNs);
  const [[tag, metadataText], ...made] = await Promise.all([
    jsonSerializer.dumpsTyped(metadata),
    ...Object.entries(newVersions).map((version) => parts.value(version, values, true)),
  ]);
  if (tag !== "json") throw new InvalidError("metadata is not JSON", { field: "metadata" });
  const body: Schemas["Checkpoint"] = {
    checkpoint_ns: target.checkpointNs,
    checkpoint_id: checkpointId,
    ...(target.checkpointId === undefined ? {} : { parent_checkpoint_id: target.checkpointId }),
    skeleton: exact(skeleton, "checkpoint"),
    metadata: metadataText,
    values: made,
  };
  if (metadata?.source === "fork") {
    // A copied checkpoint has values of one that is no ancestor; these tell which are meant.
    const carried = Object.entries(checkpoint.channel_versions).filter(
      ([channel]) => Object.hasOwn(values, channel) && !Object.hasOwn(newVersions, channel),
    );
    body.carried = await Promise.all(carried.map((version) => parts.value(version, values, false)));
  }
  const sizeBytes = body.skeleton.length + metadataText.length;
  const basedOn = target.checkpointId;
  return parts.op({ checkpoint: body }, checkpointId, { basedOn, isPut: true, sizeBytes });
}

export interface PutWrites {
  target: Target;
  writes: readonly PendingWrite[];
  taskId: string;
  /** Where the task stands in its step. The server orders the writes of a checkpoint by it, then by task id and position. */
  taskPath: string;
  seq: number;
}

/**
 * The operation of a putWrites: position is identity, but for the special channels. Undefined where there is nothing to store:
 * an empty list is checked like any other.
 */
export async function writesOp(serde: Serializer, put: PutWrites): Promise<Op | undefined> {
  const { checkpointNs, checkpointId } = put.target;
  if (checkpointId === undefined) {
    throw new InvalidError('config needs a "checkpoint_id" in "configurable"', {
      field: "checkpoint_id",
    });
  }
  const parts = new Parts(serde, checkpointNs);
  const made = await Promise.all(put.writes.map((write, position) => parts.write(write, position)));
  const writes = made.filter((write) => write !== undefined);
  const body: Schemas["Writes"] = {
    checkpoint_ns: checkpointNs,
    checkpoint_id: checkpointId,
    task_id: idOf(put.taskId, "task_id"),
    ...(put.taskPath === "" ? {} : { task_path: idOf(put.taskPath, "task_path") }),
    seq: put.seq,
    writes,
  };
  if (writes.length === 0) return undefined;
  const sizeBytes = put.taskPath.length;
  const about = { basedOn: checkpointId, isPut: false, sizeBytes };
  return parts.op({ writes: body }, checkpointId, about);
}

/** Serializes the values of one operation and keeps the large ones apart. */
class Parts {
  readonly #serde: Serializer;
  readonly #checkpointNs: string;
  readonly #values: Value[] = [];
  #sizeBytes = 0;

  constructor(serde: Serializer, checkpointNs: string) {
    this.#serde = serde;
    this.#checkpointNs = checkpointNs;
  }

  /** An entry of `values` or `carried`. */
  async value(
    [name, version]: [string, string | number],
    values: Record<string, unknown>,
    isStored: boolean,
  ): Promise<Schemas["NewValue"]> {
    const channel = wellFormed(name, "channel");
    const found = { channel, version: exact(versionOf(version), "newVersions") };
    if (!Object.hasOwn(values, name)) return { ...found, tag: EMPTY };
    const [tag, data] = await this.#serialized(values[name]);
    if (isAbsent(tag, data)) return { ...found, tag: EMPTY };
    return this.#placed({ ...found, tag, data }, "v", isStored);
  }

  /** An entry of `writes`; undefined for a value that no serializer keeps. */
  async write(
    [name, value]: PendingWrite,
    position: number,
  ): Promise<Schemas["NewWrite"] | undefined> {
    const channel = wellFormed(name, "channel");
    const idx = Object.hasOwn(WRITES_IDX_MAP, name) ? (WRITES_IDX_MAP[name] ?? position) : position;
    const [tag, data] = await this.#serialized(value);
    if (isAbsent(tag, data)) return undefined;
    return this.#placed({ idx, channel, tag, data }, "w", true);
  }

  op(
    body: Schemas["CommitOp"],
    checkpointId: string,
    about: Pick<Op, "basedOn" | "isPut" | "sizeBytes">,
  ): Op {
    return {
      body,
      values: this.#values,
      checkpointNs: this.#checkpointNs,
      checkpointId,
      basedOn: about.basedOn,
      isPut: about.isPut,
      sizeBytes: about.sizeBytes + this.#sizeBytes + 300,
    };
  }

  async #serialized(value: unknown): Promise<[string, Uint8Array]> {
    const [tag, data] = await this.#serde.dumpsTyped(value);
    if (tag === "json") return [tag, data];
    // Bytes of the caller, which can change as long as he likes.
    return [wellFormed(tag, "tag"), data.slice()];
  }

  #placed<Entry extends { channel: string; data: Uint8Array }>(
    entry: Entry,
    kind: "v" | "w",
    isStored: boolean,
  ): Entry {
    checkSize(entry.channel, entry.data);
    this.#sizeBytes += entry.channel.length + entry.data.length + 60;
    if (entry.data.length >= BYTES_MIN) {
      const place = placeOf(kind, this.#checkpointNs, entry.channel);
      this.#values.push({ entry, place, data: entry.data, isStored });
    }
    return entry;
  }
}

/** The error names the channel, and comes before anything is sent. */
function checkSize(channel: string, { length }: Uint8Array): void {
  if (length <= VALUE_BYTES_MAX) return;
  throw new TooLargeError(
    `the value of channel ${JSON.stringify(channel)} has ${length} bytes, and value_bytes_max is ${VALUE_BYTES_MAX} bytes`,
    { field: channel, limit: VALUE_BYTES_MAX },
  );
}

/** Where a value stands: in a checkpoint (v) or among its writes (w). */
export function placeOf(kind: "v" | "w", checkpointNs: string, channel: string): string {
  return `${kind}|${checkpointNs}|${channel}`;
}

function versionOf(version: string | number): string | number {
  if (typeof version === "string" || Number.isFinite(version)) return version;
  throw new InvalidError("a version is a number or text", { field: "newVersions" });
}
