/** Restores a snapshot in place. It shows first what would change. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Restored, Snapshot } from "threadkeep";
import type { Need } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { counted } from "../../content/json_tree.js";
import { ActionForm, CheckField } from "../../parts/action_form.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";
import { keyText } from "../sessions/session_key.js";
import { contentNeeds } from "./snapshot_things.js";

const LINES_SHOWN = 50;

interface Given {
  snapshot: Snapshot;
  close: () => void;
}

export function RestoreDialog({ snapshot, close }: Given) {
  const { client } = useApi();
  const { snapshotId } = snapshot;
  const [safety, setSafety] = useState(true);
  const needs: Need[] = [
    { operation: "restore_snapshot", thing: { snapshot: snapshotId, owner: snapshot.owner } },
    ...contentNeeds(snapshot),
    ...(safety ? [{ operation: "take_snapshot" } as const] : []),
  ];
  const dryRun = useQuery({
    queryKey: ["dry run", "restore", snapshotId],
    queryFn: ({ signal }) => client.snapshots.restore(snapshotId, { dryRun: true, signal }),
    gcTime: 0,
  });
  return (
    <ActionForm
      title="Restore the snapshot"
      submit="Restore"
      needs={needs}
      isReady={dryRun.data !== undefined}
      isDangerous
      run={() => client.snapshots.restore(snapshotId, { safety })}
      onDone={({ safetySnapshotId: before }) => {
        close();
        showToast({
          text: (
            <>
              Restored.{" "}
              {before === undefined ? null : (
                <>
                  What was there is kept in{" "}
                  <Link to={{ page: "snapshot", snapshotId: before }}>
                    <Marked text={before} />
                  </Link>
                </>
              )}
            </>
          ),
          undo:
            before === undefined
              ? undefined
              : async () => {
                  await client.snapshots.restore(before, { safety: false });
                  return "Everything is as it was before the restore.";
                },
        });
      }}
      close={close}
    >
      <p>Everything in it becomes as it was. What was written since is replaced.</p>
      {dryRun.error ? (
        <Failure error={dryRun.error} retry={() => void dryRun.refetch()} />
      ) : dryRun.data ? (
        <Changes report={dryRun.data} />
      ) : (
        <Loading what="Comparing" />
      )}
      <CheckField
        label="Keep what is there now in a snapshot of its own, so that it can be undone"
        isChecked={safety}
        onChange={setSafety}
      />
    </ActionForm>
  );
}

interface Line {
  id: string;
  name: string;
  change: string;
}

function Changes({ report }: { report: Restored }) {
  const lines = linesOf(report);
  return (
    <section className="callout" aria-label="What would change">
      <ul className="plain-list">
        {lines.slice(0, LINES_SHOWN).map(({ id, name, change }) => (
          <li key={id}>
            <Marked text={name} />: {change}
          </li>
        ))}
      </ul>
      {lines.length > LINES_SHOWN ? (
        <p className="note">{counted(lines.length - LINES_SHOWN, "more", "more")}</p>
      ) : null}
    </section>
  );
}

function linesOf({ threads, namespaces, sessions }: Restored): Line[] {
  return [
    ...threads.map(({ threadId, created, checkpoints, replacedCheckpoints }) => ({
      id: `thread ${threadId}`,
      name: `thread ${threadId}`,
      change: created
        ? `made again with ${counted(checkpoints, "checkpoint", "checkpoints")}`
        : `${counted(checkpoints, "checkpoint", "checkpoints")} in place of ${replacedCheckpoints.toLocaleString("en")}`,
    })),
    ...namespaces.map(({ namespace, written, unchanged, removed }) => ({
      id: `namespace ${JSON.stringify(namespace)}`,
      name: `namespace ${namespace.join(" / ") || "(all)"}`,
      change: `${counted(written, "item", "items")} written, ${unchanged.toLocaleString("en")} unchanged, ${removed.toLocaleString("en")} removed`,
    })),
    ...sessions.map(({ kind, key, entries, replacedEntries, created }) => ({
      id: `session ${JSON.stringify([kind, key])}`,
      name: `session ${kind}: ${keyText(key)}`,
      change: created
        ? `made again with ${counted(entries, "entry", "entries")}`
        : `${counted(entries, "entry", "entries")} in place of ${replacedEntries.toLocaleString("en")}`,
    })),
  ];
}
