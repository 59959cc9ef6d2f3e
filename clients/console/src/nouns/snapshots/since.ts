/** Says what has become of the contents of a snapshot, as far as the server tells it exactly. */

import type { Restored, Snapshot, SnapshotThread, Thread } from "threadkeep";
import { counted } from "../../content/json_tree.js";
import { keyText } from "../sessions/session_key.js";

export interface Line {
  id: string;
  name: string;
  /** Absent: it is as the snapshot has it. */
  change: string | undefined;
  /** Only counts are told, and they are equal. */
  isOpen?: boolean;
}

/** Threads, by what they are now. `now` has those that are there and may be read. */
export function threadLines({ threads, takenAt }: Snapshot, now: readonly Thread[]): Line[] {
  const found = new Map(now.map((thread) => [thread.threadId, thread]));
  return threads.map((kept) => ({
    id: `thread ${kept.threadId}`,
    name: `thread ${kept.threadId}`,
    change: threadChange(kept, takenAt, found.get(kept.threadId)),
  }));
}

function threadChange(kept: SnapshotThread, takenAt: Date, now: Thread | undefined) {
  if (now === undefined) return "gone, or not granted";
  const counts = countsText(kept, now);
  if (kept.generation !== undefined && kept.generation !== now.generation) {
    return `replaced since: it was restored, rewound, or deleted and made again${counts}`;
  }
  const changedAt = now.stateUpdatedAt ?? now.updatedAt;
  if (changedAt > takenAt) return `changed since${counts}`;
  // A write that was under way at that moment has an earlier time.
  const isSame = kept.history === "head" || kept.checkpoints === now.checkpointCount;
  return isSame ? undefined : `changed since${counts}`;
}

/** A snapshot of the newest states has fewer checkpoints than its thread, so the two counts say nothing. */
function countsText({ history, checkpoints }: SnapshotThread, now: Thread): string {
  if (history === "head") return "";
  const there = now.checkpointCount.toLocaleString("en");
  return `; ${counted(checkpoints, "checkpoint", "checkpoints")} then, ${there} now`;
}

/** Namespaces and sessions, by what a dry run of a restore would change. */
export function restoreLines({ namespaces, sessions }: Restored): Line[] {
  return [
    ...namespaces.map(({ namespace, written, unchanged, removed }) => ({
      id: `namespace ${JSON.stringify(namespace)}`,
      name: `namespace ${namespace.join(" / ") || "(all)"}`,
      change:
        written + removed === 0
          ? undefined
          : `${counted(written, "item", "items")} changed or gone, ${removed.toLocaleString("en")} new, ${unchanged.toLocaleString("en")} the same`,
    })),
    ...sessions.map(({ kind, key, entries, replacedEntries, created }) => ({
      id: `session ${JSON.stringify([kind, key])}`,
      name: `session ${kind}: ${keyText(key)}`,
      change: created
        ? "gone"
        : `${counted(entries, "entry", "entries")} then, ${replacedEntries.toLocaleString("en")} now`,
      isOpen: !created && entries === replacedEntries,
    })),
  ];
}

/** In one sentence: how many have changed. */
export function summaryOf(lines: readonly Line[]): string {
  const open = lines.filter(({ isOpen }) => isOpen).length;
  const changed = lines.filter(({ change }) => change !== undefined).length - open;
  const same = lines.length - changed - open;
  const told = `${counted(changed, "thing", "things")} changed or gone, ${same.toLocaleString("en")} as in the snapshot`;
  if (open === 0) return `${told}.`;
  return `${told}; ${counted(open, "session has", "sessions have")} as many entries as then.`;
}
