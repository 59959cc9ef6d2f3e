/** Deletes a file, or a folder with all that is below it. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Client, TooLargeError } from "threadkeep";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import type { FilesRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { ActionForm, CheckField, isTyped, TypedName } from "../../parts/action_form.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";
import { Size } from "../../parts/units.js";
import { newSnapshotId } from "../snapshots/safety.js";
import { loadItem, putItem } from "../store/kept_item.js";
import { bare, folderOf, type Spot } from "./spot.js";

const KEPT_SECONDS = 7 * 86_400;

interface Given {
  route: FilesRoute;
  spot: Spot;
  close: () => void;
}

export function DeleteFile({ route, spot: { namespace, path }, close }: Given) {
  const { client } = useApi();
  const name = { namespace, itemKey: path };
  const run = async () => {
    const entry = await client.files.stat(namespace, path);
    const before = await keptItem(client, name);
    await client.files.delete(namespace, path, { ifVersion: entry?.version });
    return before;
  };
  return (
    <ActionForm
      title="Delete the file"
      submit="Delete"
      needs={[{ operation: "delete_files", thing: { namespace } }]}
      isDangerous
      run={run}
      onDone={(before) => {
        close();
        navigate({ ...route, path: folderOf(route.path) });
        showToast({
          text: (
            <>
              Deleted <Marked text={path} />
            </>
          ),
          undo:
            before &&
            (async () => {
              await putItem(client, name, before.stored ?? before.text, before, 0);
              return "The file is there again.";
            }),
        });
      }}
      close={close}
    >
      <p>
        Delete <Marked text={path} /> with the versions that are kept of it. Undo puts a file of up
        to 16 MiB again, without those versions.
      </p>
    </ActionForm>
  );
}

/** A larger file is kept beside the items, and cannot be put again as one. */
async function keptItem(client: Client, name: Parameters<typeof loadItem>[1]) {
  try {
    return await loadItem(client, name);
  } catch (error) {
    if (error instanceof TooLargeError) return undefined;
    throw error;
  }
}

export function DeleteFolder({ route, spot: { namespace, path }, close }: Given) {
  const { client, identity } = useApi();
  const [typed, setTyped] = useState("");
  const [isWanted, setIsWanted] = useState(true);
  const snapshotId = useState(() => newSnapshotId(identity, "before-delete"))[0];
  const isSafe = isWanted && snapshotId !== undefined;
  const { data, error, refetch } = useQuery({
    queryKey: ["dry run", "delete", namespace, path],
    queryFn: ({ signal }) => client.files.ls(namespace, path, { recursive: true, signal }),
    gcTime: 0,
  });
  const run = async () => {
    const taken = isSafe
      ? await client.snapshots.take({
          ...{ snapshotId, namespaces: [namespace], expiresInSeconds: KEPT_SECONDS },
          labels: { "taken-by": "console", before: "delete" },
        })
      : undefined;
    return { deleted: await client.files.delete(namespace, bare(path)), taken };
  };
  return (
    <ActionForm
      title="Delete the folder"
      submit="Delete"
      needs={[{ operation: "delete_files", thing: { namespace } }]}
      isReady={data !== undefined && isTyped(typed, bare(path))}
      isDangerous
      run={run}
      onDone={({ deleted, taken }) => {
        close();
        navigate({ ...route, path: folderOf(route.path) });
        showToast({
          text: (
            <>
              Deleted {counted(deleted, "file", "files")}.{" "}
              {taken ? (
                <>
                  They are in{" "}
                  <Link to={{ page: "snapshot", snapshotId: taken.snapshotId }}>a snapshot</Link>.
                </>
              ) : null}
            </>
          ),
        });
      }}
      close={close}
    >
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Counting" /> : null}
      {data ? (
        <p className="callout" role="status">
          It removes {data.nextCursor === undefined ? "" : "more than "}
          {counted(data.entries.length, "file", "files")},{" "}
          <Size bytes={data.entries.reduce((sum, { size }) => sum + size, 0)} />.
        </p>
      ) : null}
      <CheckField
        label={
          snapshotId === undefined
            ? "It cannot be undone: a snapshot needs snapshots:append"
            : "Take a snapshot of the namespace first, which can be restored for a week"
        }
        isChecked={isSafe}
        isDisabled={snapshotId === undefined}
        onChange={setIsWanted}
      />
      <TypedName name={bare(path)} value={typed} onChange={setTyped} />
    </ActionForm>
  );
}
