/** Follows a checkpoint back to the steps it came from, and finds those that changed a channel. */

import type { TimelineNode } from "threadkeep";

/** The steps that led to a checkpoint, newest first, and where their line goes on. */
export interface Ancestry {
  steps: TimelineNode[];
  /** The next parent. Absent: the line begins with the last step. */
  next: string | undefined;
}

/** Goes on along the parents. `nodes` are the newest first; those of other forks are passed over. */
export function followParents(from: string | undefined, nodes: readonly TimelineNode[]): Ancestry {
  let next = from;
  const steps: TimelineNode[] = [];
  for (const node of nodes) {
    if (node.checkpointId !== next) continue;
    steps.push(node);
    next = node.parentCheckpointId;
  }
  return { steps, next };
}

/** The steps that changed a channel. Where the parent is not stored, the step may have changed it. */
export function changersOf(channel: string, steps: readonly TimelineNode[]): TimelineNode[] {
  return steps.filter(({ changed }) => changed === undefined || changed.includes(channel));
}
