/** Writes text files: a new one, or another content of one that is there. */

import { useState } from "react";
import { VersionConflictError } from "threadkeep";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import type { FilesRoute } from "../../app/route.js";
import { conflictOf, TextEditor } from "../../content/json_edit.js";
import { useVersionedEdit } from "../../content/versioned_edit.js";
import { ActionForm, TextField } from "../../parts/action_form.js";
import { Dialog } from "../../parts/dialog.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";
import { contentOf, editableOf } from "./file_text.js";
import { type Spot, spotOf } from "./spot.js";

interface EditGiven {
  spot: Spot;
  /** The file; absent where it is too large to be shown. */
  bytes: Uint8Array | "loading" | undefined;
  close: () => void;
}

export function EditFile({ spot, bytes, close }: EditGiven) {
  if (bytes === "loading") {
    return (
      <Dialog title="Edit the file" onClose={close}>
        <Loading />
      </Dialog>
    );
  }
  if (bytes && editableOf(bytes)) return <EditText spot={spot} close={close} />;
  return (
    <Dialog title="Edit the file" onClose={close}>
      <p>
        The page edits texts of up to 1 MiB whose lines all end alike. Download this file, and
        upload it again.
      </p>
    </Dialog>
  );
}

function EditText({ spot: { namespace, path }, close }: Omit<EditGiven, "bytes">) {
  const { client } = useApi();
  const [lineEnd, setLineEnd] = useState<"\n" | "\r\n">("\n");
  const write = async (content: string, ifVersion: number) =>
    (await client.files.write(namespace, path, content, { ifVersion })).version;
  const edit = useVersionedEdit({
    name: ["file", namespace, path],
    load: async (signal) => {
      // The version before the content: a change between the two is a conflict then, and nothing is lost.
      const entry = await client.files.stat(namespace, path, { signal });
      if (entry?.version === undefined) return undefined;
      const found = editableOf(await client.files.getContent(namespace, path, { signal }));
      if (!found) throw new Error("Somebody has replaced it by a file that is no text.");
      setLineEnd(found.lineEnd);
      const stored = contentOf(found.text, found.lineEnd);
      return { text: found.text, stored, version: entry.version };
    },
    save: (text, { version }) => write(contentOf(text, lineEnd), version),
  });
  return (
    <ActionForm
      title="Edit the file"
      submit="Save"
      needs={[{ operation: "write_file", thing: { namespace } }]}
      isReady={edit.isChanged}
      run={edit.send}
      onDone={({ before, after }) => {
        close();
        showToast({
          text: (
            <>
              Saved <Marked text={path} />
            </>
          ),
          undo: async () => {
            if (before.version === 0) {
              await client.files.delete(namespace, path, { ifVersion: after.version });
            } else {
              await write(before.stored ?? before.text, after.version);
            }
            return "The file is as it was.";
          },
        });
      }}
      onError={(error) => conflictOf(error, edit)}
      close={close}
    >
      <p>
        <Marked text={path} />
      </p>
      {edit.error ? <Failure error={edit.error} retry={edit.retry} /> : null}
      {edit.isAbsent ? <p>There is no such file any more.</p> : null}
      {edit.isLoaded ? (
        <TextEditor label="Content" text={edit.text} onChange={edit.setText} />
      ) : edit.error || edit.isAbsent ? null : (
        <Loading />
      )}
    </ActionForm>
  );
}

interface NewGiven {
  route: FilesRoute;
  /** The folder. */
  spot: Spot;
  close: () => void;
}

export function NewFile({ route, spot: folder, close }: NewGiven) {
  const { client, identity } = useApi();
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  // A name with slashes may lie in another part of the drive.
  const { namespace, path } =
    spotOf({ ...route, path: `${route.path}${name}` }, identity) ?? folder;
  return (
    <ActionForm
      title="New file"
      submit="Create"
      needs={[{ operation: "write_file", thing: { namespace, isNew: true } }]}
      isReady={name !== "" && !name.endsWith("/")}
      run={() => client.files.write(namespace, path, text, { ifVersion: 0 })}
      onDone={({ version }) => {
        close();
        navigate({ ...route, path: `${route.path}${name}` });
        showToast({
          text: (
            <>
              Created <Marked text={path} />
            </>
          ),
          undo: async () => {
            await client.files.delete(namespace, path, { ifVersion: version });
            return "The new file is deleted.";
          },
        });
      }}
      onError={(error) =>
        error instanceof VersionConflictError ? (
          <p role="alert" className="callout">
            There is a file with this name already.
          </p>
        ) : null
      }
      close={close}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        note="With slashes in it, the folders before the last one are made, too."
        isFirst
      />
      <TextEditor label="Content" text={text} onChange={setText} />
    </ActionForm>
  );
}
