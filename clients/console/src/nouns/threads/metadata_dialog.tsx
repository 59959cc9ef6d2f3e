/** Edits the metadata of a thread as JSON. */

import type { Thread } from "threadkeep";
import { useApi } from "../../api/context.js";
import { conflictOf, TextEditor } from "../../content/json_edit.js";
import { compactJson, indentJson, problemOfObject } from "../../content/json_text.js";
import { useVersionedEdit } from "../../content/versioned_edit.js";
import { ActionForm } from "../../parts/action_form.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";
import { thingOf } from "./thread_actions.js";

interface Given {
  thread: Thread;
  close: () => void;
}

export function MetadataDialog({ thread, close }: Given) {
  const { client } = useApi();
  const { threadId } = thread;
  const put = async (text: string, ifVersion: number) => {
    const changes = { metadataText: text, replaceMetadata: true, ifVersion };
    return (await client.threads.update(threadId, changes)).version;
  };
  const edit = useVersionedEdit({
    name: ["metadata", threadId],
    load: async (signal) => {
      const found = await client.threads.getMetadataText(threadId, { signal });
      return found && { ...found, text: indentJson(found.text), stored: found.text };
    },
    save: (text, { version }) => put(compactJson(text), version),
  });
  return (
    <ActionForm
      title="Metadata of the thread"
      submit="Save"
      needs={[{ operation: "update_thread", thing: thingOf(thread) }]}
      isReady={edit.isChanged && problemOfObject(edit.text) === undefined}
      run={edit.send}
      onDone={({ before, after }) => {
        close();
        showToast({
          text: "The metadata is saved.",
          undo: async () => {
            await put(before.stored ?? before.text, after.version);
            return "The metadata is as it was.";
          },
        });
      }}
      onError={(error) => conflictOf(error, edit)}
      close={close}
    >
      {edit.error ? <Failure error={edit.error} retry={edit.retry} /> : null}
      {edit.isAbsent ? <p>The thread is not there any more.</p> : null}
      {edit.isLoaded ? (
        <TextEditor
          label="Metadata, an object of JSON"
          text={edit.text}
          onChange={edit.setText}
          isJson
        />
      ) : edit.error || edit.isAbsent ? null : (
        <Loading />
      )}
    </ActionForm>
  );
}
