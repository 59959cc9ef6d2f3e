/** The two checkpoints of a difference: which threads they are of, and which of their channels may differ. */

import type { ThreadRoute } from "../../app/route.js";
import { changedChannels, isOfGraph, type Step } from "./skeleton.js";

/** The place of a checkpoint. */
export interface Spot {
  threadId: string;
  ns: string;
  checkpointId: string;
}

/** Returns both places that an address names; undefined for the one that it does not. */
export function spotsOf(route: ThreadRoute): [before: Spot | undefined, after: Spot | undefined] {
  const { threadId, ns = "", from, to, fromThread = threadId, fromNs = ns } = route;
  return [
    from === undefined ? undefined : { threadId: fromThread, ns: fromNs, checkpointId: from },
    to === undefined ? undefined : { threadId, ns, checkpointId: to },
  ];
}

/** Returns the address of a difference. */
export function diffRoute(before: Spot, after: Spot): ThreadRoute {
  return {
    page: "thread",
    threadId: after.threadId,
    tab: "diff",
    ns: after.ns || undefined,
    from: before.checkpointId,
    to: after.checkpointId,
    fromThread: before.threadId === after.threadId ? undefined : before.threadId,
    fromNs: before.ns === after.ns ? undefined : before.ns,
  };
}

/** Whether equal versions of a channel mean equal values: only where one graph of one thread has counted them. */
export function sharesVersions(before: Spot, after: Spot): boolean {
  return before.threadId === after.threadId && before.ns === after.ns;
}

export interface PairChannels {
  /** The values have to be compared. */
  toCompare: string[];
  /** Known to be equal without a look at the values. */
  unchanged: string[];
}

/** Divides the state channels of two checkpoints. */
export function channelsOf(before: Step, after: Step, isShared: boolean): PairChannels {
  const names = [...new Set([...Object.keys(after.versions), ...Object.keys(before.versions)])];
  const own = names.filter((name) => !isOfGraph(name));
  if (!isShared) return { toCompare: own, unchanged: [] };
  const changed = new Set(changedChannels(after.versions, before.versions));
  return {
    toCompare: own.filter((name) => changed.has(name)),
    unchanged: own.filter((name) => !changed.has(name)),
  };
}
