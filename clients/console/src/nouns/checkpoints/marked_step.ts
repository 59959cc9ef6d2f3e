/** The step that a person has marked, so that another one, also of another thread, can be compared with it. A reload forgets it. */

import { useSyncExternalStore } from "react";
import { Listeners } from "../../api/listeners.js";
import type { Spot } from "./pair.js";

export interface MarkedStep extends Spot {
  step: number | undefined;
}

const listeners = new Listeners();
let marked: MarkedStep | undefined;

export function useMarkedStep(): MarkedStep | undefined {
  return useSyncExternalStore(listeners.subscribe, () => marked);
}

/** Marks a step, or takes the mark away from the one that has it. */
export function toggleMark(step: MarkedStep): void {
  write(isSameSpot(marked, step) ? undefined : step);
}

export function forgetMark(): void {
  write(undefined);
}

export function isSameSpot(one: Spot | undefined, other: Spot): boolean {
  return (
    one?.threadId === other.threadId &&
    one.ns === other.ns &&
    one.checkpointId === other.checkpointId
  );
}

function write(next: MarkedStep | undefined): void {
  marked = next;
  listeners.notify();
}
