/** Reads step, parent and channel versions of a listed checkpoint, without its values. */

import type { Checkpoint } from "threadkeep";
import { type Fields, isFields } from "../../content/fields.js";

export interface Step {
  key: string;
  ns: string;
  checkpointId: string;
  parentId: string | undefined;
  createdAt: string | undefined;
  step: number | undefined;
  source: string | undefined;
  agent: string | undefined;
  /** The version of each channel. */
  versions: Fields;
  metadata: unknown;
}

export function keyOf(ns: string, checkpointId: string): string {
  return `${ns}\n${checkpointId}`;
}

export function stepOf({
  checkpointNs,
  checkpointId,
  parentCheckpointId,
  metadata,
  skeleton,
}: Checkpoint): Step {
  const facts = isFields(metadata) ? metadata : {};
  const shape = isFields(skeleton) ? skeleton : {};
  const { step, source, lc_agent_name: agent } = facts;
  const { ts, channel_versions: versions } = shape;
  return {
    key: keyOf(checkpointNs, checkpointId),
    ns: checkpointNs,
    checkpointId,
    parentId: parentCheckpointId,
    createdAt: typeof ts === "string" ? ts : undefined,
    step: typeof step === "number" ? step : undefined,
    source: typeof source === "string" ? source : undefined,
    agent: typeof agent === "string" ? agent : undefined,
    versions: isFields(versions) ? versions : {},
    metadata,
  };
}

/** Channels that only steer the graph. */
export function isOfGraph(channel: string): boolean {
  return channel.startsWith("branch:") || channel.startsWith("__") || channel.startsWith("start:");
}

/** Channels whose version differs, those of a person's interest first. */
export function changedChannels(versions: Fields, before: Fields): string[] {
  const changed = Object.keys(versions).filter((name) => versions[name] !== before[name]);
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(versions, name));
  return [...changed, ...removed].sort((a, b) => Number(isOfGraph(a)) - Number(isOfGraph(b)));
}
