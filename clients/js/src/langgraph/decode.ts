/** From the answers of the server to the tuples of the base saver. */

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
  maxChannelVersion,
  TASKS,
} from "@langchain/langgraph-checkpoint";
import { CodecError } from "../errors.js";
import { bytesIn, jsonIn, listIn, objectOf, optionalTextIn, textIn } from "../wire/answers.js";
import type { Schemas } from "../wire/schemas.js";
import { configOf, isAbsent, jsonSerializer, type Serializer } from "./encode.js";

/** How the Python package writes versions: LangGraph for Python compares them as text. */
const PYTHON_VERSION = /^\d{32}\./;

/** One checkpoint of an answer, taken apart and checked, its values not yet deserialized. */
export class View {
  readonly raw: Schemas["CheckpointView"];
  readonly threadId: string;
  readonly checkpointNs: string;
  readonly checkpointId: string;
  readonly parentId: string | undefined;

  constructor(raw: Schemas["CheckpointView"]) {
    this.raw = objectOf(raw, "checkpoint");
    this.threadId = textIn(raw, "thread_id");
    this.checkpointNs = textIn(raw, "checkpoint_ns");
    this.checkpointId = textIn(raw, "checkpoint_id");
    this.parentId = optionalTextIn(raw, "parent_checkpoint_id");
  }

  get parentConfig(): RunnableConfig | undefined {
    if (this.parentId === undefined) return undefined;
    return configOf(this.threadId, this.checkpointNs, this.parentId);
  }
}

/** The tuple of a checkpoint; every call deserializes anew, so that nothing is shared. */
export async function tupleOf(
  view: View,
  serde: Serializer,
  firstVersion: () => string | number,
): Promise<CheckpointTuple> {
  const { raw } = view;
  const skeleton = jsonIn(raw, "skeleton") as Partial<Checkpoint>;
  refusePython(view, skeleton);
  const stored = listIn(raw, "values").filter(isThere);
  const sends = (skeleton.v ?? 4) < 4 ? listIn(raw, "pending_sends").filter(isThere) : [];
  const [metadata, values, pendingWrites, tasks] = await Promise.all([
    jsonSerializer.loadsTyped("json", bytesIn(raw, "metadata")) as Promise<CheckpointMetadata>,
    Promise.all(
      stored.map(async (value) => [value.channel, await loadedIn(value, serde)] as const),
    ),
    Promise.all(
      listIn(raw, "writes")
        .filter(isThere)
        .map(async (write): Promise<[string, string, unknown]> => {
          return [textIn(write, "task_id"), textIn(write, "channel"), await loadedIn(write, serde)];
        }),
    ),
    Promise.all(sends.map((send) => loadedIn({ ...send, channel: TASKS }, serde))),
  ]);
  // Made at once, because a channel may be called __proto__.
  const channelValues: Record<string, unknown> = Object.fromEntries(values);
  const checkpoint = { ...skeleton, channel_values: channelValues } as Checkpoint;
  // The server keeps the sends of a parent that was pruned, so the parent itself does not count.
  if (tasks.length > 0) {
    channelValues[TASKS] = tasks;
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : firstVersion();
  }
  const { parentConfig } = view;
  return {
    config: configOf(view.threadId, view.checkpointNs, view.checkpointId),
    checkpoint,
    metadata,
    ...(parentConfig === undefined ? {} : { parentConfig }),
    pendingWrites,
  };
}

function isThere(entry: { tag: string; data?: Schemas["DataAnswered"] | null }): boolean {
  return !isAbsent(textIn(entry, "tag"), bytesIn(entry, "data"));
}

function loadedIn(
  entry: { channel: string; tag: string; data: Schemas["DataAnswered"] },
  serde: Serializer,
): Promise<unknown> {
  return loaded(serde, textIn(entry, "channel"), textIn(entry, "tag"), bytesIn(entry, "data"));
}

/** One stored value. An unknown tag, such as one of another language, is a CodecError. */
export async function loaded(
  serde: Serializer,
  channel: string,
  tag: string,
  data: Uint8Array,
): Promise<unknown> {
  try {
    // Bytes of other tags may be given to the caller as they are, who may write into them.
    return await serde.loadsTyped(tag, tag === "json" ? data : data.slice());
  } catch (cause) {
    if (!(cause instanceof Error && cause.message.startsWith("Unknown serialization type"))) {
      throw cause;
    }
    throw new CodecError(
      `channel ${JSON.stringify(channel)} was stored with codec ${JSON.stringify(tag)}, which ` +
        `${serde.constructor.name} cannot read: it was written by a client of another language, ` +
        "or with another serializer",
      { cause },
    );
  }
}

/** A thread of the Python package can have no value at all yet, and its versions have no successor here. */
function refusePython(view: View, skeleton: Partial<Checkpoint>): void {
  const versions: unknown[] = Object.values(skeleton.channel_versions ?? {});
  if (versions.some((version) => typeof version === "string" && PYTHON_VERSION.test(version))) {
    throw new CodecError(
      `thread ${JSON.stringify(view.threadId)} was written by LangGraph for Python, whose ` +
        "checkpoints LangGraph.js cannot continue",
    );
  }
}
