/** What can be done with a file, and with a folder. */

import type { Need, Thing } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import type { FilesRoute } from "../../app/route.js";
import { type Action, ActionBar } from "../../parts/action.js";
import { DeleteFile, DeleteFolder } from "./delete_dialogs.js";
import { EditFile, NewFile } from "./edit_dialogs.js";
import { MoveDialog } from "./move_dialog.js";
import { type Spot, spotOf } from "./spot.js";
import { UploadDialog } from "./upload_dialog.js";

interface FileGiven {
  route: FilesRoute;
  /** The file; absent where it is too large to be shown. */
  bytes: Uint8Array | "loading" | undefined;
}

export function FileActions({ route, bytes }: FileGiven) {
  const { identity } = useApi();
  const spot = spotOf(route, identity);
  if (!spot) return null;
  const thing: Thing = { namespace: spot.namespace };
  return (
    <ActionBar
      label="Actions of the file"
      actions={[
        {
          label: "Edit",
          needs: [{ operation: "write_file", thing }],
          dialog: (close) => <EditFile spot={spot} bytes={bytes} close={close} />,
        },
        moveOf(route, spot),
        {
          label: "Delete",
          needs: [{ operation: "delete_files", thing }],
          dialog: (close) => <DeleteFile route={route} spot={spot} close={close} />,
        },
      ]}
    />
  );
}

export function FolderActions({ route }: { route: FilesRoute }) {
  const { identity } = useApi();
  const spot = spotOf(route, identity);
  if (!spot) return null;
  const thing: Thing = { namespace: spot.namespace };
  const adds: Need[] = [{ operation: "put_file_content", thing: { ...thing, isNew: true } }];
  return (
    <ActionBar
      label="Actions of the folder"
      actions={[
        {
          label: "Upload",
          needs: adds,
          dialog: (close) => <UploadDialog spot={spot} close={close} />,
        },
        {
          label: "New file",
          needs: adds,
          dialog: (close) => <NewFile route={route} spot={spot} close={close} />,
        },
        // The root of a namespace has no name that could change.
        ...(spot.path === "/"
          ? []
          : [
              moveOf(route, spot),
              {
                label: "Delete",
                needs: [{ operation: "delete_files", thing } as const],
                dialog: (close: () => void) => (
                  <DeleteFolder route={route} spot={spot} close={close} />
                ),
              },
            ]),
      ]}
    />
  );
}

function moveOf(route: FilesRoute, spot: Spot): Action {
  const thing: Thing = { namespace: spot.namespace };
  return {
    label: "Rename or move",
    needs: [{ operation: "move_files", thing }],
    dialog: (close) => <MoveDialog route={route} spot={spot} close={close} />,
  };
}
