/** The dialogs of the actions of a thread. */

import { useState } from "react";
import type { Thread } from "threadkeep";
import type { ThreadRoute } from "../../app/route.js";
import { TakeSnapshot } from "../snapshots/take_snapshot.js";
import { MetadataDialog } from "./metadata_dialog.js";
import { CopyDialog, ForkDialog } from "./new_thread_dialogs.js";
import { DeleteDialog, DeleteSelected, PruneDialog } from "./removal_dialogs.js";
import { RenameDialog } from "./rename_dialog.js";
import { RewindDialog } from "./rewind_dialog.js";
import type { ThreadActionName } from "./thread_actions.js";

interface Given {
  name: ThreadActionName;
  thread: Thread;
  route: ThreadRoute;
  close: () => void;
}

export default function ThreadDialogs({ name, thread, route, close }: Given) {
  switch (name) {
    case "Rename":
      return <RenameDialog thread={thread} close={close} />;
    case "Metadata":
      return <MetadataDialog thread={thread} close={close} />;
    case "Fork":
      return <ForkDialog thread={thread} route={route} close={close} />;
    case "Copy":
      return <CopyDialog thread={thread} close={close} />;
    case "Rewind":
      return <RewindDialog thread={thread} route={route} close={close} />;
    case "Snapshot":
      return <TakeSnapshot thread={thread.threadId} close={close} />;
    case "Prune":
      return <PruneDialog threads={[thread]} close={close} />;
    case "Delete":
      return <DeleteDialog thread={thread} close={close} />;
  }
}

interface SelectedGiven {
  name: "Delete" | "Prune";
  threads: Thread[];
  close: () => void;
  /** After all of it was done. */
  onDone: () => void;
}

/** Of threads that were selected in the list. */
export function SelectedDialogs({ name, threads: given, close, onDone }: SelectedGiven) {
  // What was selected when the dialog opened: the list changes meanwhile.
  const [threads] = useState(given);
  return name === "Prune" ? (
    <PruneDialog threads={threads} close={close} onDone={onDone} />
  ) : (
    <DeleteSelected threads={threads} close={close} onDone={onDone} />
  );
}
