/** Deletes a snapshot. */

import { useState } from "react";
import type { Snapshot } from "threadkeep";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import { ActionForm, isTyped, TypedName } from "../../parts/action_form.js";
import { Marked } from "../../parts/marked.js";
import { showToast } from "../../parts/toasts.js";
import { Size } from "../../parts/units.js";
import { contentsText } from "./contents.js";

export function DeleteDialog({ snapshot, close }: { snapshot: Snapshot; close: () => void }) {
  const { client } = useApi();
  const { snapshotId, owner, sizeBytes } = snapshot;
  const [typed, setTyped] = useState("");
  return (
    <ActionForm
      title="Delete the snapshot"
      submit="Delete"
      needs={[{ operation: "delete_snapshot", thing: { snapshot: snapshotId, owner } }]}
      isReady={isTyped(typed, snapshotId)}
      isDangerous
      run={() => client.snapshots.delete(snapshotId)}
      onDone={() => {
        close();
        navigate({ page: "snapshots" });
        showToast({
          text: (
            <>
              Deleted <Marked text={snapshotId} />
            </>
          ),
        });
      }}
      close={close}
    >
      <p className="callout">
        It has {contentsText(snapshot)}, <Size bytes={sizeBytes} />. It cannot be undone. What was
        restored from it stays.
      </p>
      <TypedName name={snapshotId} value={typed} onChange={setTyped} />
    </ActionForm>
  );
}
