/** Makes, edits and deletes items. */

import { useState } from "react";
import { VersionConflictError } from "threadkeep";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import { conflictOf, TextEditor } from "../../content/json_edit.js";
import { compactJson, problemOfObject } from "../../content/json_text.js";
import { useVersionedEdit } from "../../content/versioned_edit.js";
import { ActionForm, TextField } from "../../parts/action_form.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";
import { type ItemName, loadItem, putItem } from "./kept_item.js";

interface Given extends ItemName {
  close: () => void;
}

export function NewItem({ namespace, close }: { namespace: string[]; close: () => void }) {
  const { client } = useApi();
  const [place, setPlace] = useState("");
  const [key, setKey] = useState("");
  const [text, setText] = useState("{}");
  const labels = namespace.length > 0 ? namespace : place.split("/").filter((one) => one !== "");
  const name = { namespace: labels, itemKey: key };
  return (
    <ActionForm
      title="New item"
      submit="Put"
      needs={[{ operation: "put_item", thing: { namespace: labels, isNew: true } }]}
      isReady={labels.length > 0 && key !== "" && problemOfObject(text) === undefined}
      run={() => putItem(client, name, compactJson(text), {}, 0)}
      onDone={(version) => {
        close();
        navigate({ page: "store", namespace: labels, key });
        showToast({
          text: (
            <>
              Put <Marked text={key} />
            </>
          ),
          undo: async () => {
            await client.store.delete(labels, key, { ifVersion: version });
            return "The new item is deleted.";
          },
        });
      }}
      onError={(error) =>
        error instanceof VersionConflictError ? (
          <p role="alert" className="callout">
            There is an item with this key already.
          </p>
        ) : null
      }
      close={close}
    >
      {namespace.length > 0 ? (
        <p>
          In <Marked text={namespace.join(" / ")} />
        </p>
      ) : (
        <TextField
          label="Namespace"
          value={place}
          onChange={setPlace}
          note="Labels with slashes between them: ann/notes."
          isFirst
        />
      )}
      <TextField label="Key" value={key} onChange={setKey} isFirst={namespace.length > 0} />
      <TextEditor label="Value, an object of JSON" text={text} onChange={setText} isJson />
    </ActionForm>
  );
}

export function EditItem({ namespace, itemKey, close }: Given) {
  const { client } = useApi();
  const name = { namespace, itemKey };
  const edit = useVersionedEdit({
    name: ["item", namespace, itemKey],
    load: (signal) => loadItem(client, name, signal),
    save: (text, before) => putItem(client, name, compactJson(text), before, before.version),
  });
  return (
    <ActionForm
      title="Edit the item"
      submit="Save"
      needs={[{ operation: "put_item", thing: { namespace } }]}
      isReady={edit.isChanged && problemOfObject(edit.text) === undefined}
      run={edit.send}
      onDone={({ before, after }) => {
        close();
        showToast({
          text: (
            <>
              Saved <Marked text={itemKey} />
            </>
          ),
          undo: async () => {
            if (before.version === 0) {
              await client.store.delete(namespace, itemKey, { ifVersion: after.version });
            } else {
              await putItem(client, name, before.stored ?? before.text, before, after.version);
            }
            return "The item is as it was.";
          },
        });
      }}
      onError={(error) => conflictOf(error, edit)}
      close={close}
    >
      <p>
        <Marked text={itemKey} />
      </p>
      {edit.error ? <Failure error={edit.error} retry={edit.retry} /> : null}
      {edit.isAbsent ? <p>There is no such item any more.</p> : null}
      {edit.isLoaded ? (
        <TextEditor
          label="Value, an object of JSON"
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

export function DeleteItem({ namespace, itemKey, close }: Given) {
  const { client } = useApi();
  const name = { namespace, itemKey };
  const run = async () => {
    const before = await loadItem(client, name);
    await client.store.delete(namespace, itemKey, { ifVersion: before?.version });
    return before;
  };
  return (
    <ActionForm
      title="Delete the item"
      submit="Delete"
      needs={[{ operation: "delete_item", thing: { namespace } }]}
      isDangerous
      run={run}
      onDone={(before) => {
        close();
        navigate({ page: "store", namespace });
        showToast({
          text: (
            <>
              Deleted <Marked text={itemKey} />
            </>
          ),
          undo:
            before === undefined
              ? undefined
              : async () => {
                  await putItem(client, name, before.stored ?? before.text, before, 0);
                  return "The item is there again.";
                },
        });
      }}
      close={close}
    >
      <p>
        Delete <Marked text={itemKey} /> with the versions that are kept of it. Undo puts its value
        again, without those versions.
      </p>
    </ActionForm>
  );
}
