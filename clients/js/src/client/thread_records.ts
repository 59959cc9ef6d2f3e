/** Reads the server's answers about threads as records of the native client. Times are dates, sizes are bytes. */

import {
  anything,
  flag,
  json,
  list,
  nested,
  number,
  optionalAsIs,
  optionalFlag,
  optionalNested,
  optionalNumber,
  optionalText,
  optionalTime,
  recordOf,
  text,
  texts,
  time,
} from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";

/** A preview shows the first and the last message of a thread, its todos and its next tasks. Each text is one line of at most 200 characters. */
export type ThreadPreview = ReturnType<typeof threadPreview>;
const threadPreview = recordOf<Schemas["ThreadPreview"]>()("a preview", {
  first_human: optionalText,
  last_message: optionalNested(
    recordOf<Schemas["PreviewMessage"]>()("a message of a preview", { type: text, text }),
  ),
  messages: optionalNumber,
  todos: optionalNested(
    recordOf<Schemas["PreviewTodos"]>()("the todos of a preview", { done: number, total: number }),
  ),
  next: texts,
  interrupts: number,
  cut: flag,
});

/** A question of a task: `value` is what the graph gave to `interrupt`. */
export interface ThreadInterrupt {
  id: string | null;
  value: unknown;
}

const threadTtl = recordOf<Schemas["ShownThreadTtl"]>()("the ttl of a thread", {
  minutes: number,
  strategy: (raw, name) => text(raw, name) as Schemas["ThreadTtl"]["strategy"] & string,
  expires_at: time,
});

/** `forks`: checkpoints with more than one child. Two writers were at it, or somebody went back. Only where one is asked for. */
export type Thread = ReturnType<typeof thread>;
export const thread = recordOf<Schemas["Thread"]>()("a thread", {
  thread_id: text,
  created_at: time,
  updated_at: time,
  checkpoint_count: number,
  size_bytes: number,
  generation: text,
  last_step: optionalNumber,
  forks: optionalNumber,
  owner: optionalText,
  graph_id: optionalText,
  assistant_id: optionalText,
  user_id: optionalText,
  title: optionalText,
  title_from: (raw, name) => optionalText(raw, name) as TitleFrom | undefined,
  metadata: (raw, name) => (raw[name] === undefined ? {} : json(raw, name)) as Metadata,
  version: (raw, name) => optionalNumber(raw, name) ?? 0,
  ttl: optionalNested(threadTtl),
  // Servers of earlier releases send none of these.
  status: (raw, name) => optionalText(raw, name) as Schemas["ThreadStatus"] | undefined,
  state_updated_at: optionalTime,
  // Where a search includes them.
  preview: optionalNested(threadPreview),
  // An object by channel; of a graph with one unnamed value, the value.
  values: anything,
  values_preview: optionalFlag,
  interrupts: optionalAsIs<Record<string, ThreadInterrupt[]>>(),
  uuid: optionalText,
});

/** Tells where a title comes from: `set` by hand, `metadata` (the text in `metadata.title`), `first_message` (the first human text). */
export type TitleFrom = Schemas["TitleFrom"];

/** The metadata that callers set on a thread, and `graph_id`, `assistant_id` and `user_id` from the metadata of its checkpoints. */
export type Metadata = Record<string, unknown>;

export type CreatedThread = ReturnType<typeof createdThread>;
export const createdThread = recordOf<Schemas["CreatedThread"]>()("a created thread", {
  thread: nested(thread),
  created: flag,
});

export const updatedThread = recordOf<Schemas["UpdatedThread"]>()("an updated thread", {
  thread: nested(thread),
});

export const threadCount = recordOf<Schemas["ThreadCount"]>()("a count of threads", {
  count: number,
});

export const forkedThread = recordOf<Schemas["ForkedThread"]>()("a forked thread", {
  checkpoints: number,
});

/** `checkpoints`: those that stay. `safetySnapshotId`: the snapshot whose restore undoes the rewind. */
export type RewoundThread = ReturnType<typeof rewoundThread>;
export const rewoundThread = recordOf<Schemas["RewoundThread"]>()("a rewound thread", {
  dry_run: flag,
  checkpoints: number,
  checkpoints_removed: number,
  writes_removed: number,
  generation: text,
  safety_snapshot_id: optionalText,
});

export type ThreadPage = ReturnType<typeof threadPage>;
export const threadPage = recordOf<Schemas["ThreadPage"]>()("a page of threads", {
  threads: list(thread),
  next_cursor: optionalText,
});

export type ChannelStorage = ReturnType<typeof channelStorage>;
const channelStorage = recordOf<Schemas["ChannelStorage"]>()("what a channel takes", {
  channel: text,
  versions: number,
  logical_bytes: number,
  newest_bytes: number,
});

/** `logicalBytes` are as sent, `storedBytes` as stored, with all in the content scope shared with `sharedWith` threads. */
export type ThreadStorage = ReturnType<typeof threadStorage>;
export const threadStorage = recordOf<Schemas["ThreadStorage"]>()("what a thread takes", {
  logical_bytes: number,
  stored_bytes: number,
  content_bytes: number,
  share_saved: number,
  checkpoints: number,
  versions: number,
  writes: number,
  chunks: number,
  shared_with: number,
  channels: list(channelStorage),
});

/** A lease that is held. `fence` only grows; the latest holder has the greatest. */
export type Lease = ReturnType<typeof lease>;
export const lease = recordOf<Schemas["Lease"]>()("a lease", { fence: number, expires_at: time });
