/** Puts a thread back to the checkpoint in the address. Shows first what would go. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Thread } from "threadkeep";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import type { ThreadRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { ActionForm } from "../../parts/action_form.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";
import { restoreThreads } from "../snapshots/safety.js";
import { SafetyField, useSafety } from "./removal_dialogs.js";
import { thingOf } from "./thread_actions.js";

interface Given {
  thread: Thread;
  route: ThreadRoute;
  close: () => void;
}

export function RewindDialog({ thread, route, close }: Given) {
  const { client } = useApi();
  const { threadId } = thread;
  const [{ checkpoint, ns }] = useState(route);
  const safety = useSafety([thread]);
  const place = { checkpointId: checkpoint ?? "", checkpointNs: ns };
  const dryRun = useQuery({
    queryKey: ["dry run of a rewind", threadId, place],
    queryFn: ({ signal }) => client.threads.rewind(threadId, { ...place, dryRun: true, signal }),
    gcTime: 0,
    enabled: checkpoint !== undefined,
  });
  return (
    <ActionForm
      title="Rewind the thread"
      submit="Rewind"
      needs={[{ operation: "rewind_thread", thing: thingOf(thread) }]}
      isReady={(dryRun.data?.checkpointsRemoved ?? 0) > 0}
      isDangerous
      run={() => client.threads.rewind(threadId, { ...place, safety: safety.isOn })}
      onDone={({ checkpointsRemoved, safetySnapshotId: before }) => {
        close();
        // The address may name a checkpoint that has gone.
        navigate({ page: "thread", threadId, tab: "timeline", ns });
        showToast({
          text: `Removed ${counted(checkpointsRemoved, "checkpoint", "checkpoints")}.`,
          undo: before === undefined ? undefined : () => restoreThreads(client, before, [threadId]),
        });
      }}
      close={close}
    >
      {checkpoint === undefined ? (
        <p className="note">
          Open a checkpoint of the{" "}
          <Link to={{ page: "thread", threadId, tab: "timeline", ns }}>timeline</Link> to go back to
          it.
        </p>
      ) : (
        <>
          <p>
            The thread goes back to the checkpoint <Marked text={checkpoint} />. What led to it
            stays.
          </p>
          <DryRun query={dryRun} />
          <SafetyField
            safety={safety}
            label="Keep the thread as it is now as a snapshot, so that it can be undone"
          />
        </>
      )}
    </ActionForm>
  );
}

interface Counting {
  data: { checkpoints: number; checkpointsRemoved: number; writesRemoved: number } | undefined;
  error: Error | null;
  refetch: () => unknown;
}

function DryRun({ query: { data, error, refetch } }: { query: Counting }) {
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="Counting" />;
  return (
    <p className="callout" role="status">
      It removes {counted(data.checkpointsRemoved, "checkpoint", "checkpoints")} and{" "}
      {counted(data.writesRemoved, "write", "writes")};{" "}
      {counted(data.checkpoints, "checkpoint stays", "checkpoints stay")}.
    </p>
  );
}
