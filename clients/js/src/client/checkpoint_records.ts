/** Reads the answers of the checkpoint calls as records. Values of states are plain JSON, as the server shows them. */

import { ProtocolError } from "../errors.js";
import { bytesIn, objectOf } from "../wire/answers.js";
import { bytesOfBase64 } from "../wire/base64.js";
import {
  anything,
  flag,
  json,
  list,
  number,
  optionalList,
  optionalNested,
  optionalNumber,
  optionalText,
  optionalTexts,
  recordOf,
  text,
  texts,
} from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";

/** Serialized bytes. */
const bytes = (raw: Record<string, unknown>, name: string) => bytesIn(raw, name);

/** The stored value of a channel: the tag of its codec, and bytes. */
export type StoredValue = ReturnType<typeof storedValue>;
const storedValue = recordOf<Schemas["ChannelValue"]>()("a stored value", {
  channel: text,
  tag: text,
  data: bytes,
});

/** A stored write of a task after the checkpoint. */
export type StoredWrite = ReturnType<typeof storedWrite>;
const storedWrite = recordOf<Schemas["TaskWrite"]>()("a stored write", {
  task_id: text,
  channel: text,
  tag: text,
  data: bytes,
});

/**
 * A checkpoint as it is stored. `skeleton` is LangGraph's checkpoint without its values. `values` and `writes` are serialized, and empty in
 * a list without values. Channels that are kept as writes have no value here: `values` of `client.checkpoints` shows them.
 */
export type Checkpoint = ReturnType<typeof checkpoint>;
export const checkpoint = recordOf<Schemas["CheckpointView"]>()("a checkpoint", {
  thread_id: text,
  checkpoint_ns: text,
  checkpoint_id: text,
  parent_checkpoint_id: optionalText,
  metadata: json,
  skeleton: json,
  values: list(storedValue),
  writes: list(storedWrite),
});

/** The newest id first, then by thread and namespace. A page can be empty and still have a cursor. */
export type CheckpointPage = ReturnType<typeof checkpointPage>;
export const checkpointPage = recordOf<Schemas["CheckpointPage"]>()("a page of checkpoints", {
  checkpoints: list(checkpoint),
  next_cursor: optionalText,
});

/**
 * A step of a thread. `changed` are channels with another version than before. `interrupts` counts the tasks that asked something there, and
 * `sizeBytes` what is stored beside the values.
 */
export type TimelineNode = ReturnType<typeof timelineNode>;
const timelineNode = recordOf<Schemas["TimelineNode"]>()("a step", {
  checkpoint_ns: text,
  checkpoint_id: text,
  parent_checkpoint_id: optionalText,
  created_at: optionalText,
  step: optionalNumber,
  source: optionalText,
  node: optionalText,
  changed: optionalTexts,
  size_bytes: number,
  writes: number,
  interrupts: number,
  error: flag,
  run_id: optionalText,
});

/** A namespace of a thread: the root graph, or a subgraph with the name of its agent. `newest` is the id of its newest checkpoint. */
export type TimelineNamespace = ReturnType<typeof timelineNamespace>;
const timelineNamespace = recordOf<Schemas["TimelineNamespace"]>()("a namespace", {
  checkpoint_ns: text,
  agent: optionalText,
  parent_checkpoint_id: optionalText,
  checkpoints: number,
  newest: text,
});

/** The newest id first, then by namespace. The first page alone has `namespaces`. */
export type TimelinePage = ReturnType<typeof timelinePage>;
export const timelinePage = recordOf<Schemas["TimelinePage"]>()("a page of steps", {
  generation: optionalText,
  nodes: list(timelineNode),
  namespaces: list(timelineNamespace),
  next_cursor: optionalText,
});

/** A value as it is stored: the tag of its codec, and bytes. */
export type RawValue = ReturnType<typeof rawValue>;
const rawValue = recordOf<Schemas["RawValue"]>()("a stored value", {
  tag: text,
  data: bytesOfText,
});

/** Bytes of an answer in JSON. */
function bytesOfText(raw: Record<string, unknown>, name: string): Uint8Array {
  const bytes = bytesOfBase64(text(raw, name));
  if (!bytes) throw new ProtocolError(`the answer has something else than base64 in ${name}`);
  return bytes;
}

/** The stored form of a channel: a value, or the seed and the writes of a delta channel, the oldest first. */
export type RawChannel = ReturnType<typeof rawChannel>;
const rawChannel = recordOf<Schemas["RawChannel"]>()("what is stored for a channel", {
  channel: text,
  value: optionalNested(rawValue),
  seed: optionalNested(rawValue),
  writes: list(rawValue),
});

const channelFields = recordOf<Schemas["ShownChannel"]>()("a channel", {
  channel: text,
  version: anything,
  tag: optionalText,
  size_bytes: number,
  is_delta: flag,
  raw: optionalNested(rawChannel),
});

/**
 * A channel and its value in plain JSON. A value that cannot be shown is `{ $opaque: { codec, size_bytes, reason } }`. `version` is a text or a
 * number. `tag` is the codec, absent for a channel that is kept as writes (`isDelta`). `sizeBytes` counts the decoded bytes.
 */
export type ShownChannel = ReturnType<typeof shownChannel>;
const shownChannel = withValue(channelFields);

/** The values of a checkpoint, in the order of the channels' names. */
export type CheckpointValues = ReturnType<typeof checkpointValues>;
export const checkpointValues = recordOf<Schemas["CheckpointValues"]>()("values", {
  thread_id: text,
  checkpoint_ns: text,
  checkpoint_id: text,
  channels: list(shownChannel),
});

const interruptFields = recordOf<Schemas["StateInterrupt"]>()("an interrupt", {
  id: optionalText,
  response_schema: anything,
});

/** A question of a task. */
export type StateInterrupt = ReturnType<typeof stateInterrupt>;
const stateInterrupt = withValue(interruptFields);

/** A task of a state. `path` is LangGraph's. `result` is what it wrote, once it has ended. */
export type StateTask = ReturnType<typeof stateTask>;
const stateTask = recordOf<Schemas["StateTask"]>()("a task", {
  id: optionalText,
  name: text,
  path: (raw, name) => listOf(raw[name]),
  interrupts: list(stateInterrupt),
  error: anything,
  result: anything,
});

const writeFields = recordOf<Schemas["StateWrite"]>()("a write", {
  task_id: text,
  channel: text,
  tag: text,
  raw: optionalNested(rawValue),
});

/** A write of a task since the checkpoint. */
export type StateWrite = ReturnType<typeof stateWrite>;
const stateWrite = withValue(writeFields);

const stateFields = recordOf<Schemas["State"]>()("a state", {
  thread_id: text,
  checkpoint_ns: text,
  checkpoint_id: text,
  parent_checkpoint_id: optionalText,
  created_at: optionalText,
  next: texts,
  tasks: list(stateTask),
  interrupts: list(stateInterrupt),
  writes: list(stateWrite),
  raw: optionalList(rawChannel),
});

/**
 * A state as the graph's `get_state` tells it, in plain JSON. `values` is an object by channel, or the value of a graph that has a single
 * unnamed one. A value that cannot be shown is `{ $opaque: { codec, size_bytes, reason } }`. `next` are names of the tasks that have still to run,
 * `createdAt` is the text of the client that made the checkpoint.
 */
export type State = ReturnType<typeof stateFields> & { values: unknown; metadata: unknown };
export function state(found: unknown): State {
  const { values, metadata } = objectOf<Schemas["State"]>(found, "a state");
  return { ...stateFields(found), values, metadata };
}

/** Reads the fields, and `value` as it is, which is there whatever it is. */
function withValue<T extends object>(fields: (found: unknown) => T) {
  return (found: unknown): T & { value: unknown } => {
    const read = fields(found);
    return { ...read, value: (found as { value?: unknown }).value };
  };
}

function listOf(found: unknown): unknown[] {
  return Array.isArray(found) ? found : [];
}
