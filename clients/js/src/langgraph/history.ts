/**
 * Delta history: the chain of an answer, and the walk that reads one channel out of it. No I/O, no serializer. Values stay
 * the bytes that came, and are deserialized by each reader. The rules of the walk are those of the protocol, "Delta history".
 */

import { ProtocolError } from "../errors.js";
import { bytesIn, listIn, objectOf, optionalTextIn, textIn } from "../wire/answers.js";
import type { Schemas } from "../wire/schemas.js";
import { isAbsent } from "./encode.js";
import { owned } from "./values.js";

/** What a node or a write costs in memory beside its data, roughly. */
const ENTRY_BYTES = 150;

/** A stored value: codec tag and bytes. */
export interface Stored {
  tag: string;
  data: Uint8Array;
}

/** One write of a task on the channel in question. */
export interface Write extends Stored {
  taskId: string;
}

/** What one channel contributed: the value it started from, if any, and writes oldest first. */
export interface ChannelHistory {
  seed: Stored | undefined;
  writes: readonly Write[];
}

/** One ancestor, with what it holds of the channels asked for. */
export interface Node {
  checkpointId: string;
  parentId: string | undefined;
  seeds: ReadonlyMap<string, Stored>;
  writes: ReadonlyMap<string, readonly Write[]>;
  bases: ReadonlyMap<string, ChannelHistory>;
}

/**
 * A checkpoint whose history is asked: where the walk begins, and bases that replace it. `channels` are those whose whole
 * history the chain holds; of another it may hold a part.
 */
export interface Target {
  parentId: string | undefined;
  bases: ReadonlyMap<string, ChannelHistory>;
  channels: ReadonlySet<string>;
}

/** Namespace and id of a checkpoint as one text. */
export type Key = string;

export function keyOf(checkpointNs: string, checkpointId: string): Key {
  return JSON.stringify([checkpointNs, checkpointId]);
}

/**
 * Ancestors, newest first, and the targets whose histories they hold. `digest` names everything from the first node on,
 * when the chain is one walk. `ids` holds every id whose change would change an answer.
 */
export interface Chain {
  nodes: ReadonlyMap<Key, Node>;
  targets: ReadonlyMap<Key, Target>;
  digest: string | undefined;
  firstId: string | undefined;
  ids: ReadonlySet<Key>;
  sizeBytes: number;
}

export type Placed<T> = readonly [checkpointNs: string, checkpointId: string, value: T];

export function chainOf(
  placedNodes: Iterable<Placed<Node>>,
  placedTargets: Iterable<Placed<Target>>,
  digest?: string,
): Chain {
  const [nodes, targets, ids] = [new Map<Key, Node>(), new Map<Key, Target>(), new Set<Key>()];
  let sizeBytes = 0;
  for (const [ns, id, node] of placedNodes) {
    const key = keyOf(ns, id);
    nodes.set(key, node);
    ids.add(key);
    if (node.parentId !== undefined) ids.add(keyOf(ns, node.parentId));
    sizeBytes += ENTRY_BYTES + basesBytes(node.bases);
    for (const seed of node.seeds.values()) sizeBytes += ENTRY_BYTES + seed.data.length;
    for (const writes of node.writes.values()) sizeBytes += writesBytes(writes);
  }
  for (const [ns, id, target] of placedTargets) {
    targets.set(keyOf(ns, id), target);
    if (target.parentId !== undefined) ids.add(keyOf(ns, target.parentId));
    sizeBytes += ENTRY_BYTES + basesBytes(target.bases);
  }
  const [first] = nodes.values();
  return { nodes, targets, digest, firstId: first?.checkpointId, ids, sizeBytes };
}

/** The history of one channel of a target that the chain holds. */
export function historyIn(
  chain: Chain,
  checkpointNs: string,
  target: Target,
  channel: string,
): ChannelHistory {
  const base = target.bases.get(channel);
  if (base) return base;
  const groups: (readonly Write[])[] = [];
  let seed: Stored | undefined;
  let { parentId } = target;
  let stepsLeft = chain.nodes.size;
  while (parentId !== undefined) {
    const node = chain.nodes.get(keyOf(checkpointNs, parentId));
    if (!node) break;
    if (stepsLeft === 0) throw new ProtocolError("the delta history goes in a circle");
    stepsLeft -= 1;
    groups.push(node.writes.get(channel) ?? []);
    const found = node.seeds.get(channel) ?? node.bases.get(channel);
    if (found && "writes" in found) groups.push(found.writes);
    if (found) {
      seed = "writes" in found ? found.seed : found;
      break;
    }
    parentId = node.parentId;
  }
  return { seed, writes: groups.reverse().flat() };
}

/** A node of an answer. */
export function nodeOf(raw: Schemas["Node"]): Node {
  const writes = new Map<string, Write[]>();
  for (const found of listIn(raw, "writes")) {
    const channel = textIn(found, "channel");
    const write = writeOf(found);
    if (isAbsent(write.tag, write.data)) continue;
    const group = writes.get(channel);
    if (group) group.push(write);
    else writes.set(channel, [write]);
  }
  const seeds = listIn(raw, "seeds").map(
    (seed) => [textIn(seed, "channel"), storedOf(seed)] as const,
  );
  return {
    checkpointId: textIn(raw, "checkpoint_id"),
    parentId: optionalTextIn(raw, "parent_checkpoint_id"),
    seeds: new Map(seeds.filter(([, { tag, data }]) => !isAbsent(tag, data))),
    writes,
    bases: basesOf(raw),
  };
}

/** Delta bases of an answer by channel. */
export function basesOf(raw: { bases?: Schemas["Base"][] }): Map<string, ChannelHistory> {
  const bases = raw.bases === undefined ? [] : listIn(raw, "bases");
  return new Map(
    bases.map((base) => {
      const found = base.seed ? storedOf(objectOf(base.seed, "seed")) : undefined;
      const seed = found && isAbsent(found.tag, found.data) ? undefined : found;
      const writes = listIn(base, "writes").map(writeOf);
      return [
        textIn(base, "channel"),
        { seed, writes: writes.filter(({ tag, data }) => !isAbsent(tag, data)) },
      ];
    }),
  );
}

function storedOf(raw: Schemas["Value"]): Stored {
  // A view would keep all of the answer that it is part of.
  return { tag: textIn(raw, "tag"), data: owned(bytesIn(raw, "data")) };
}

function writeOf(raw: Schemas["BaseWrite"]): Write {
  return { taskId: textIn(raw, "task_id"), ...storedOf(raw) };
}

function basesBytes(bases: ReadonlyMap<string, ChannelHistory>): number {
  let size = 0;
  for (const { seed, writes } of bases.values()) {
    size += ENTRY_BYTES + writesBytes(writes) + (seed?.data.length ?? 0);
  }
  return size;
}

function writesBytes(writes: readonly Write[]): number {
  let size = 0;
  for (const { data } of writes) size += ENTRY_BYTES + data.length;
  return size;
}
