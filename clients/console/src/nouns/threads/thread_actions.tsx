/** What can be done with a thread. The dialogs are loaded when one is opened. */

import { lazy, type ReactNode, Suspense } from "react";
import type { Thread } from "threadkeep";
import type { Need, Operation, Thing } from "../../api/capabilities.js";
import type { ThreadRoute } from "../../app/route.js";
import { type Action, ActionBar } from "../../parts/action.js";

const Dialogs = lazy(() => import("./thread_dialogs.js"));

export type ThreadActionName =
  | "Rename"
  | "Metadata"
  | "Fork"
  | "Copy"
  | "Rewind"
  | "Snapshot"
  | "Prune"
  | "Delete";

export function ThreadActions({ thread, route }: { thread: Thread; route: ThreadRoute }) {
  const needs = (operation: Operation): Need[] => [{ operation, thing: thingOf(thread) }];
  // The id of a new thing is asked for in the dialog.
  const makes = (operation: Operation): Need[] => [{ operation }];
  const open =
    (name: ThreadActionName) =>
    (close: () => void): ReactNode => (
      <Suspense>
        <Dialogs name={name} thread={thread} route={route} close={close} />
      </Suspense>
    );
  const action = (label: ThreadActionName, wanted: Need[]): Action => ({
    label,
    needs: wanted,
    dialog: open(label),
  });
  return (
    <ActionBar
      label="Actions of the thread"
      actions={[
        action("Rename", needs("update_thread")),
        action("Metadata", needs("update_thread")),
        action("Fork", makes("fork_thread")),
        action("Copy", makes("copy_thread")),
        action("Rewind", needs("rewind_thread")),
        action("Snapshot", makes("take_snapshot")),
        action("Prune", needs("prune_threads")),
        action("Delete", needs("delete_thread")),
      ]}
    />
  );
}

export function thingOf({ threadId, owner }: Thread): Thing {
  return { thread: threadId, owner };
}
