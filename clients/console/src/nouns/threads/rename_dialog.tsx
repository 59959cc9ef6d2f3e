/** Gives a thread another title. */

import { useState } from "react";
import { type Thread, VersionConflictError } from "threadkeep";
import { useApi } from "../../api/context.js";
import { ActionForm, TextField } from "../../parts/action_form.js";
import { Marked } from "../../parts/marked.js";
import { showToast } from "../../parts/toasts.js";
import { thingOf } from "./thread_actions.js";

interface Given {
  thread: Thread;
  close: () => void;
}

export function RenameDialog({ thread, close }: Given) {
  const { client } = useApi();
  // The page goes on asking for the thread; this is the one whose title is changed.
  const [{ threadId, version, title, titleFrom }] = useState(thread);
  const [text, setText] = useState(title ?? "");
  const before = titleFrom === "set" ? (title ?? null) : null;
  const after = text === "" ? null : text;
  const set = async (wanted: string | null, ifVersion: number) =>
    await client.threads.update(threadId, { title: wanted, ifVersion });
  return (
    <ActionForm
      title="Rename the thread"
      submit="Rename"
      needs={[{ operation: "update_thread", thing: thingOf(thread) }]}
      run={() => set(after, version)}
      onDone={(changed) => {
        close();
        showToast({
          text: (
            <>
              The title is now <Marked text={changed.title ?? threadId} />
            </>
          ),
          undo: async () => {
            await set(before, changed.version);
            return "The title is as it was.";
          },
        });
      }}
      onError={(error) =>
        error instanceof VersionConflictError ? (
          <p role="alert" className="callout">
            Somebody has changed the title or the metadata meanwhile. Close this and look at the
            thread again.
          </p>
        ) : null
      }
      close={close}
    >
      <TextField
        label="Title"
        value={text}
        onChange={setText}
        note="Without a text the thread shows the title of its metadata, or its first message."
        isFirst
      />
    </ActionForm>
  );
}
