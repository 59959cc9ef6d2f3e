/**
 * Checkpoints as entries of a session's log. Each holds its whole state, so that it can be read without another one, as text:
 * stores need not know more of an entry than that it is JSON. Entries are only ever added; a later one of the same checkpoint
 * replaces the one before, and a removed thread has a mark.
 */

import type { SessionStoreEntry } from "../claude/contract.js";
import { CodecError } from "../errors.js";
import { View } from "../langgraph/decode.js";
import { isAbsent } from "../langgraph/encode.js";
import { type Chain, chainOf, type Node, type Stored, type Write } from "../langgraph/history.js";
import { base64Of, bytesOfBase64 } from "../wire/base64.js";
import { textOf } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";

const CHECKPOINT = "threadkeep_checkpoint";
const WRITES = "threadkeep_writes";
const DELETED = "threadkeep_deleted";
const SENDS = "__pregel_tasks";

/** Codec and bytes: as text where they are JSON, else as base64. */
type Packed = [tag: string, data: string];

/** What is known of a checkpoint without its values. `own`: channel and version of each value that it brought. */
interface Head {
  parent?: string;
  own: [channel: string, version: string][];
}
interface Body {
  skeleton: string;
  metadata: string;
  values: [channel: string, version: string, ...value: Packed][];
}
interface WritesBody {
  task: string;
  /** Absent: none, as of entries of earlier versions. */
  path?: string;
  writes: [idx: number, channel: string, ...value: Packed][];
}

export interface Place {
  threadId: string;
  checkpointNs: string;
  checkpointId: string;
}

export interface NewCheckpoint extends Place {
  parentId: string | undefined;
  skeleton: Uint8Array;
  metadata: Uint8Array;
  /** `isOwn`: it came with this checkpoint, and was not carried from one before. */
  values: (Stored & { channel: string; version: string; isOwn: boolean })[];
}

export function checkpointEntry(checkpoint: NewCheckpoint): SessionStoreEntry {
  const { parentId, values } = checkpoint;
  const own = values.filter(({ isOwn }) => isOwn);
  const head: Head = {
    ...(parentId === undefined ? {} : { parent: parentId }),
    own: own.map(({ channel, version }) => [channel, version]),
  };
  const body: Body = {
    skeleton: textOf(checkpoint.skeleton),
    metadata: textOf(checkpoint.metadata),
    values: values.map(({ channel, version, ...value }) => [channel, version, ...packedOf(value)]),
  };
  return entryOf(CHECKPOINT, checkpoint, JSON.stringify(head), JSON.stringify(body));
}

export function writesEntry(
  place: Place,
  task: { id: string; path: string },
  writes: (Stored & { idx: number; channel: string })[],
): SessionStoreEntry {
  const packed = writes.map(({ idx, channel, ...value }) => [idx, channel, ...packedOf(value)]);
  const path = task.path === "" ? {} : { path: task.path };
  const body = { task: task.id, ...path, writes: packed };
  return entryOf(WRITES, place, "{}", JSON.stringify(body));
}

export function deletionEntry(threadId: string): SessionStoreEntry {
  return entryOf(DELETED, { threadId, checkpointNs: "", checkpointId: "" }, "{}", "{}");
}

function entryOf(type: string, place: Place, head: string, body: string): SessionStoreEntry {
  return {
    type,
    uuid: randomId(),
    timestamp: new Date().toISOString(),
    thread_id: place.threadId,
    checkpoint_ns: place.checkpointNs,
    checkpoint_id: place.checkpointId,
    head,
    body,
  };
}

interface Point extends Place {
  head: Head;
  body: string;
}

interface KnownWrite extends Stored {
  idx: number;
  channel: string;
  taskId: string;
  taskPath: string;
}

/** What the entries of one `load` say. Bodies are read when they are asked for. */
export class SessionLog {
  readonly #points = new Map<string, Point>();
  readonly #writes = new Map<string, string[]>();
  /** Values that some checkpoint brought: thread, namespace, channel, version. */
  readonly #known = new Set<string>();

  constructor(entries: readonly SessionStoreEntry[]) {
    const seen = new Set<string>();
    for (const entry of entries) {
      // Stores that do not look at `uuid` may hold an entry twice.
      if (entry.uuid !== undefined && seen.has(entry.uuid)) continue;
      if (entry.uuid !== undefined) seen.add(entry.uuid);
      if (entry.type === CHECKPOINT) this.#addPoint(entry);
      else if (entry.type === WRITES) this.#addWrites(entry);
      else if (entry.type === DELETED) this.#forget(textAt(entry, "thread_id"));
    }
  }

  /** The checkpoint of this id, without one the latest. */
  find(threadId: string, checkpointNs: string, checkpointId: string | undefined) {
    if (checkpointId !== undefined) {
      return this.#points.get(keyOf({ threadId, checkpointNs, checkpointId }));
    }
    const [latest] = this.newestFirst((point) => {
      return point.threadId === threadId && point.checkpointNs === checkpointNs;
    });
    return latest;
  }

  newestFirst(matches: (point: Place) => boolean): Point[] {
    const found = [...this.#points.values()].filter(matches);
    return found.sort((a, b) => compare(b.checkpointId, a.checkpointId));
  }

  /** As the server would answer it. */
  view(point: Point): View {
    const { threadId, checkpointNs, checkpointId } = point;
    const body = JSON.parse(point.body) as Body;
    const parent = point.head.parent;
    const isOld = ((JSON.parse(body.skeleton) as { v?: number }).v ?? 4) < 4;
    const sends =
      isOld && parent !== undefined
        ? this.#writesOf({ ...point, checkpointId: parent }).filter((it) => it.channel === SENDS)
        : [];
    return new View({
      thread_id: threadId,
      checkpoint_ns: checkpointNs,
      checkpoint_id: checkpointId,
      parent_checkpoint_id: parent ?? null,
      skeleton: new TextEncoder().encode(body.skeleton),
      metadata: new TextEncoder().encode(body.metadata),
      values: this.#valuesOf(point, body).map(([channel, { tag, data }]) => {
        return { channel, tag, data };
      }),
      writes: this.#writesOf(point).map(({ taskId, channel, tag, data }) => {
        return { task_id: taskId, channel, tag, data };
      }),
      pending_sends: sends.map(({ tag, data }) => ({ tag, data })),
      bases: [],
    });
  }

  metadata(point: Point): Record<string, unknown> {
    const { metadata } = JSON.parse(point.body) as Body;
    return JSON.parse(metadata) as Record<string, unknown>;
  }

  /** The ancestors of a checkpoint, for histories of channels. */
  chain(point: Point): Chain {
    const nodes: Node[] = [];
    const seen = new Set<string>();
    for (let id = point.head.parent; id !== undefined && !seen.has(id); ) {
      seen.add(id);
      const ancestor = this.#points.get(keyOf({ ...point, checkpointId: id }));
      if (!ancestor) break;
      nodes.push(this.#nodeOf(ancestor));
      id = ancestor.head.parent;
    }
    return chainOf(
      nodes.map((node) => [point.checkpointNs, node.checkpointId, node] as const),
      [],
    );
  }

  #nodeOf(point: Point): Node {
    const writes = new Map<string, Write[]>();
    for (const { channel, ...write } of this.#writesOf(point)) {
      writes.set(channel, [...(writes.get(channel) ?? []), write]);
    }
    const seeds = new Map(this.#valuesOf(point, JSON.parse(point.body) as Body));
    const { checkpointId, head } = point;
    return { checkpointId, parentId: head.parent, seeds, writes, bases: new Map() };
  }

  /** Own values, and carried ones that are known to have been brought by another checkpoint. */
  #valuesOf(point: Point, { values }: Body): [string, Stored][] {
    const own = new Set(point.head.own.map(([channel]) => channel));
    return values.flatMap(([channel, version, ...packed]): [string, Stored][] => {
      const isThere = own.has(channel) || this.#known.has(knownAs(point, channel, version));
      const value = storedOf(packed);
      return isThere && !isAbsent(value.tag, value.data) ? [[channel, value]] : [];
    });
  }

  /** By path, task and position. Of one position the first write counts, of a special one the last. */
  #writesOf(place: Place): KnownWrite[] {
    const found = new Map<string, KnownWrite>();
    for (const text of this.#writes.get(keyOf(place)) ?? []) {
      const { task, path = "", writes } = JSON.parse(text) as WritesBody;
      for (const [idx, channel, ...packed] of writes) {
        const key = JSON.stringify([task, idx]);
        if (idx >= 0 && found.has(key)) continue;
        found.set(key, { idx, channel, taskId: task, taskPath: path, ...storedOf(packed) });
      }
    }
    return [...found.values()].sort((a, b) => {
      return compare(a.taskPath, b.taskPath) || compare(a.taskId, b.taskId) || a.idx - b.idx;
    });
  }

  #addPoint(entry: SessionStoreEntry): void {
    const place = placeIn(entry);
    const head = JSON.parse(textAt(entry, "head")) as Head;
    const before = this.#points.get(keyOf(place));
    // A checkpoint that is put again as its own child keeps its parent.
    if (head.parent === place.checkpointId) {
      delete head.parent;
      if (before?.head.parent !== undefined) head.parent = before.head.parent;
    }
    this.#points.set(keyOf(place), { ...place, head, body: textAt(entry, "body") });
    for (const [channel, version] of head.own) this.#known.add(knownAs(place, channel, version));
  }

  #addWrites(entry: SessionStoreEntry): void {
    const key = keyOf(placeIn(entry));
    const texts = this.#writes.get(key) ?? [];
    texts.push(textAt(entry, "body"));
    this.#writes.set(key, texts);
  }

  #forget(threadId: string): void {
    const isOfThread = (key: string) => (JSON.parse(key) as string[])[0] === threadId;
    for (const of of [this.#points, this.#writes]) {
      for (const key of of.keys()) if (isOfThread(key)) of.delete(key);
    }
    for (const key of this.#known) if (isOfThread(key)) this.#known.delete(key);
  }
}

function keyOf({ threadId, checkpointNs, checkpointId }: Place): string {
  return JSON.stringify([threadId, checkpointNs, checkpointId]);
}

function knownAs({ threadId, checkpointNs }: Place, channel: string, version: string): string {
  return JSON.stringify([threadId, checkpointNs, channel, version]);
}

function placeIn(entry: SessionStoreEntry): Place {
  return {
    threadId: textAt(entry, "thread_id"),
    checkpointNs: textAt(entry, "checkpoint_ns"),
    checkpointId: textAt(entry, "checkpoint_id"),
  };
}

function textAt(entry: SessionStoreEntry, name: string): string {
  const found = entry[name];
  if (typeof found !== "string") throw new CodecError(`an entry of ${entry.type} lacks ${name}`);
  return found;
}

function packedOf({ tag, data }: Stored): Packed {
  return [tag, tag === "json" ? textOf(data) : base64Of(data)];
}

function storedOf([tag, data]: Packed): Stored {
  const bytes = tag === "json" ? new TextEncoder().encode(data) : bytesOfBase64(data);
  if (!bytes) throw new CodecError("a stored value is not base64");
  return { tag, data: bytes };
}

/** By code point, as LangGraph and the server order. JavaScript's own order is by UTF-16 unit: surrogates before U+E000. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  // Inside a surrogate pair the halves before it are the same, so the second ones decide.
  return (a.codePointAt(at) ?? -1) < (b.codePointAt(at) ?? -1) ? -1 : 1;
}
