/** What a prune takes and what it reports, in the words of JavaScript. */

import { InvalidError } from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import { listIn, numberIn, objectOf, textIn } from "../wire/answers.js";
import { idOf, threadIdOf } from "../wire/ids.js";
import type { AnswerOf, Body, Schemas } from "../wire/schemas.js";

export interface PruneOptions extends CallOptions {
  /** "keep_latest" (the default) keeps what the rest of this says, "delete" removes the threads. */
  strategy?: "keep_latest" | "delete" | undefined;
  /** Of each namespace. Default 1. */
  keepLast?: number | undefined;
  /** Only what the server first stored before: a number of seconds before now, or a time. */
  olderThan?: number | Date | string | undefined;
  /** Threads that wait for an answer keep what a resume needs. */
  keepInterrupted?: boolean | undefined;
  /** The report says what would go, and nothing does. */
  dryRun?: boolean | undefined;
}

/** What went, or in a dry run would go. Below zero where more was written, for the delta channels of what stays. */
export interface Removed {
  checkpoints: number;
  writes: number;
  values: number;
  /** Before compression and sharing. */
  sizeBytes: number;
  /** As it is stored. */
  storedBytes: number;
}

export interface PrunedThread extends Removed {
  threadId: string;
  /** The thread went whole. */
  deleted: boolean;
}

export interface PruneReport {
  dryRun: boolean;
  threads: PrunedThread[];
  total: Removed;
}

export function pruneBody(
  threadIds: readonly string[],
  options: PruneOptions,
): Body<"/v1/checkpoints/prune"> {
  const { strategy = "keep_latest", olderThan } = options;
  if (strategy !== "keep_latest" && strategy !== "delete") {
    throw new InvalidError(`Unknown prune strategy: '${strategy}'`, { field: "strategy" });
  }
  return {
    thread_ids: listOf(threadIds, "threadIds").map(threadIdOf),
    strategy,
    keep_last: options.keepLast,
    older_than: olderThan instanceof Date ? timeOf(olderThan) : olderThan,
    keep_interrupted: options.keepInterrupted || undefined,
    dry_run: options.dryRun || undefined,
  };
}

/** Ids of runs to delete. */
export function runIdsOf(runIds: readonly string[]): string[] {
  return listOf(runIds, "runIds").map((runId) => idOf(runId, "runIds"));
}

export function pruneReport(answer: AnswerOf<"/v1/checkpoints/prune">): PruneReport {
  return {
    dryRun: answer.dry_run === true,
    threads: listIn(answer, "threads").map((thread) => ({
      threadId: textIn(thread, "thread_id"),
      deleted: thread.deleted === true,
      ...removedOf(thread),
    })),
    total: removedOf(objectOf(answer.total, "total")),
  };
}

/** The report of a prune without threads, which asks nobody. */
export function nothingPruned(dryRun: boolean): PruneReport {
  const total = { checkpoints: 0, writes: 0, values: 0, sizeBytes: 0, storedBytes: 0 };
  return { dryRun, threads: [], total };
}

function removedOf(raw: Schemas["Removed"]): Removed {
  return {
    checkpoints: numberIn(raw, "checkpoints"),
    writes: numberIn(raw, "writes"),
    values: numberIn(raw, "values"),
    sizeBytes: numberIn(raw, "size_bytes"),
    storedBytes: numberIn(raw, "stored_bytes"),
  };
}

/** A text would be taken for its letters. */
function listOf(ids: readonly string[], field: string): readonly string[] {
  if (!Array.isArray(ids)) throw new InvalidError(`${field} must be a list of ids`, { field });
  return ids;
}

function timeOf(time: Date): string {
  if (Number.isNaN(time.getTime())) {
    throw new InvalidError("olderThan is no valid time", { field: "olderThan" });
  }
  return time.toISOString();
}
