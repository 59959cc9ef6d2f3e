/** Sums up what a snapshot holds. */

import type { Snapshot } from "threadkeep";
import { counted } from "../../content/json_tree.js";

export interface Sum {
  kind: "Threads" | "Namespaces" | "Sessions" | "Archive";
  count: number;
  /** What is in them, as "12 checkpoints". */
  holds: string;
  sizeBytes: number;
}

/** One sum for each kind that the snapshot has. */
export function sumsOf({ threads, namespaces, sessions, archive }: Snapshot): Sum[] {
  const sums: Sum[] = [
    {
      kind: "Threads",
      count: threads.length,
      holds: counted(total(threads, "checkpoints"), "checkpoint", "checkpoints"),
      sizeBytes: total(threads, "sizeBytes"),
    },
    {
      kind: "Namespaces",
      count: namespaces.length,
      holds: counted(total(namespaces, "items"), "item", "items"),
      sizeBytes: total(namespaces, "sizeBytes"),
    },
    {
      kind: "Sessions",
      count: sessions.length,
      holds: counted(total(sessions, "entries"), "entry", "entries"),
      sizeBytes: total(sessions, "sizeBytes"),
    },
    {
      kind: "Archive",
      count: archive ? 1 : 0,
      holds: counted(archive?.fileCount ?? 0, "file", "files"),
      sizeBytes: archive?.sizeBytes ?? 0,
    },
  ];
  return sums.filter(({ count }) => count > 0);
}

/** In one line, as "2 threads, 1 session". */
export function contentsText({ threads, namespaces, sessions, archive }: Snapshot): string {
  const parts = [
    threads.length > 0 ? counted(threads.length, "thread", "threads") : "",
    namespaces.length > 0 ? counted(namespaces.length, "namespace", "namespaces") : "",
    sessions.length > 0 ? counted(sessions.length, "session", "sessions") : "",
    archive ? "an archive" : "",
  ];
  return parts.filter((part) => part !== "").join(", ") || "nothing";
}

function total<Name extends string>(list: readonly Record<Name, number>[], name: Name): number {
  return list.reduce((sum, one) => sum + one[name], 0);
}
