/** Gives a file or a folder another name, or another place. */

import { useState } from "react";
import { PathTakenError } from "threadkeep";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import type { FilesRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { ActionForm, TextField } from "../../parts/action_form.js";
import { Marked } from "../../parts/marked.js";
import { showToast } from "../../parts/toasts.js";
import { bare, type Spot, spotOf } from "./spot.js";

interface Given {
  route: FilesRoute;
  spot: Spot;
  close: () => void;
}

export function MoveDialog({ route, spot, close }: Given) {
  const { client, identity } = useApi();
  const [to, setTo] = useState(bare(route.path));
  const isFolder = route.path.endsWith("/");
  const target = to.startsWith("/") ? spotOf({ ...route, path: to }, identity) : undefined;
  const isOther = to !== bare(route.path);
  const run = async () => {
    if (!target) throw new Error("No file can be there.");
    return await client.files.move(spot.namespace, bare(spot.path), bare(target.path), {
      toNamespace: target.namespace,
    });
  };
  const namespaces = target ? [spot.namespace, target.namespace] : [spot.namespace];
  return (
    <ActionForm
      title="Rename or move"
      submit="Move"
      needs={namespaces.map((namespace) => ({ operation: "move_files", thing: { namespace } }))}
      isReady={isOther && target !== undefined && !to.endsWith("/")}
      run={run}
      onDone={({ files }) => {
        close();
        navigate({ ...route, path: isFolder ? `${to}/` : to });
        showToast({
          text: (
            <>
              Moved {counted(files, "file", "files")} to <Marked text={to} />
            </>
          ),
          undo:
            target &&
            (async () => {
              await client.files.move(target.namespace, bare(target.path), bare(spot.path), {
                toNamespace: spot.namespace,
              });
              navigate(route);
              return "It is where it was.";
            }),
        });
      }}
      onError={(error) =>
        error instanceof PathTakenError ? (
          <p role="alert" className="callout">
            There is something at this path already. Nothing was moved.
          </p>
        ) : null
      }
      close={close}
    >
      <TextField
        label="New path"
        value={to}
        onChange={setTo}
        note="It begins with a slash. What is there is not replaced."
        isFirst
      />
    </ActionForm>
  );
}
