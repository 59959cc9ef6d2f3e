/** The list of threads with a mark at each, and what can be done with those that are marked. */

import { lazy, Suspense, useState } from "react";
import type { Thread } from "threadkeep";
import type { Need } from "../../api/capabilities.js";
import { navigate } from "../../app/location.js";
import { escapeHidden } from "../../content/hidden_characters.js";
import { counted } from "../../content/json_tree.js";
import { ActionBar } from "../../parts/action.js";
import { Rows } from "../../parts/rows.js";
import { present, type Selection, toggled, withAll } from "./selection.js";
import { thingOf } from "./thread_actions.js";
import { ThreadRow } from "./thread_row.js";

const ROW_PX = 92;
const NONE: Selection = new Set();
const Dialogs = lazy(async () => ({
  default: (await import("./thread_dialogs.js")).SelectedDialogs,
}));

interface Given {
  threads: readonly Thread[];
  onEnd: () => void;
}

export function SelectableThreads({ threads, onEnd }: Given) {
  const [selection, setSelection] = useState(NONE);
  const selected = present(selection, threads);
  const ids = new Set(selected.map(({ threadId }) => threadId));
  return (
    <>
      {selected.length === 0 ? null : (
        <SelectedActions
          selected={selected}
          onAll={() => setSelection(withAll(selection, threads))}
          onNone={() => setSelection(NONE)}
        />
      )}
      <Rows
        label="Threads"
        rows={threads}
        keyOf={({ threadId }) => threadId}
        heightPx={ROW_PX}
        render={(thread) => (
          <div className="selectable">
            <label>
              <input
                type="checkbox"
                aria-label={`Select ${escapeHidden(thread.title || thread.threadId)}`}
                checked={ids.has(thread.threadId)}
                onChange={() => setSelection(toggled(selection, thread))}
              />
            </label>
            <ThreadRow thread={thread} />
          </div>
        )}
        onOpen={({ threadId }) => navigate({ page: "thread", threadId, tab: "conversation" })}
        onMark={(thread) => setSelection(toggled(selection, thread))}
        onEnd={onEnd}
      />
    </>
  );
}

interface SelectedGiven {
  selected: Thread[];
  onAll: () => void;
  onNone: () => void;
}

function SelectedActions({ selected, onAll, onNone }: SelectedGiven) {
  const needs = selected.map((thread): Need => {
    return { operation: "prune_threads", thing: thingOf(thread) };
  });
  const open = (name: "Delete" | "Prune") => (close: () => void) => (
    <Suspense>
      <Dialogs name={name} threads={selected} close={close} onDone={onNone} />
    </Suspense>
  );
  return (
    <div className="callout">
      <p role="status">
        {counted(selected.length, "thread is", "threads are")} selected.{" "}
        <button type="button" className="link-button" onClick={onAll}>
          Select all that are loaded
        </button>{" "}
        <button type="button" className="link-button" onClick={onNone}>
          Select none
        </button>
      </p>
      <ActionBar
        label="Actions of the selected threads"
        actions={[
          { label: "Prune them", needs, dialog: open("Prune") },
          { label: "Delete them", needs, dialog: open("Delete") },
        ]}
      />
    </div>
  );
}
