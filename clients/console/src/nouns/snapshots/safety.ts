/** Takes a snapshot before an action removes something, so that the action can be undone. */

import type { Client, Identity } from "threadkeep";
import { can, nameStart, type Thing } from "../../api/capabilities.js";

/** Long enough to notice a mistake; nothing is kept for ever by itself. */
const KEPT_SECONDS = 7 * 86_400;

/** The id of a new snapshot; undefined where the caller may not take one with an id that is made up. */
export function newSnapshotId(identity: Identity, what: string): string | undefined {
  const start = nameStart(identity, "snapshots", "append");
  if (start === undefined) return undefined;
  const random = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  );
  return `${start}${what}-${random.join("")}`;
}

/** Whether the caller may take a snapshot of a thread and restore the thread from it. */
export function maySecure(identity: Identity, thread: Thing): boolean {
  return (
    nameStart(identity, "snapshots", "append") !== undefined &&
    can(identity, "restore_snapshot") &&
    can(identity, "get_thread", thread) &&
    can(identity, "fork_thread", thread)
  );
}

/** Takes a snapshot of the threads as they are, and returns its id. */
export async function secureThreads(
  client: Client,
  identity: Identity,
  threadIds: readonly string[],
  before: "delete" | "prune",
): Promise<string> {
  const snapshotId = newSnapshotId(identity, `before-${before}`);
  const taken = await client.snapshots.take({
    snapshotId,
    threads: threadIds,
    labels: { "taken-by": "console", before },
    expiresInSeconds: KEPT_SECONDS,
  });
  return taken.snapshotId;
}

/** Puts threads back as the snapshot has them. What was written since is replaced. */
export async function restoreThreads(
  client: Client,
  snapshotId: string,
  threadIds: readonly string[],
): Promise<string> {
  const threads = threadIds.map((threadId) => ({ threadId }));
  await client.snapshots.restore(snapshotId, { threads, safety: false });
  return threadIds.length === 1
    ? "The thread is as it was before."
    : "The threads are as they were before.";
}
