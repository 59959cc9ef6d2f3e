/** Removes a thread, or its older checkpoints. Both show first what would go, and take a snapshot of what goes. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { PruneReport, Thread } from "threadkeep";
import type { Need } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import { counted, cutText } from "../../content/json_tree.js";
import { ActionForm, CheckField, isTyped, TextField, TypedName } from "../../parts/action_form.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";
import { Size } from "../../parts/units.js";
import { maySecure, restoreThreads, secureThreads } from "../snapshots/safety.js";
import { thingOf } from "./thread_actions.js";

const NAMES_SHOWN = 10;
const NAME_SHOWN_MAX = 120;

interface Given {
  thread: Thread;
  close: () => void;
}

export function DeleteDialog({ thread, close }: Given) {
  const { client } = useApi();
  const [{ threadId, generation }] = useState(thread);
  const [typed, setTyped] = useState("");
  const safety = useSafety([thread]);
  const dryRun = useDryRun([threadId], { strategy: "delete" });
  const run = async () => {
    const undo = await safety.secure("delete");
    await client.threads.delete(threadId, { generation });
    return undo;
  };
  return (
    <ActionForm
      title="Delete the thread"
      submit="Delete"
      needs={[{ operation: "delete_thread", thing: thingOf(thread) }]}
      isReady={isTyped(typed, threadId)}
      isDangerous
      run={run}
      onDone={(undo) => {
        close();
        navigate({ page: "threads" });
        showToast({
          text: (
            <>
              Deleted <Marked text={threadId} />
            </>
          ),
          undo,
        });
      }}
      close={close}
    >
      <DryRun query={dryRun} isKept={safety.isOn} />
      <SafetyField safety={safety} />
      <TypedName name={threadId} value={typed} onChange={setTyped} />
    </ActionForm>
  );
}

interface ManyGiven {
  threads: readonly Thread[];
  close: () => void;
  onDone?: () => void;
}

/** Deletes several threads with one request. */
export function DeleteSelected({ threads, close, onDone }: ManyGiven) {
  const { client } = useApi();
  const [typed, setTyped] = useState("");
  const ids = threads.map(({ threadId }) => threadId);
  const safety = useSafety(threads);
  const dryRun = useDryRun(ids, { strategy: "delete" });
  const what = counted(ids.length, "thread", "threads");
  const run = async () => {
    const undo = await safety.secure("delete");
    return { undo, report: await client.checkpoints.prune(ids, { strategy: "delete" }) };
  };
  return (
    <ActionForm
      title="Delete the selected threads"
      submit="Delete"
      needs={needsOf(threads)}
      isReady={dryRun.data !== undefined && isTyped(typed, what)}
      isDangerous
      run={run}
      onDone={({ undo, report }) => {
        close();
        onDone?.();
        const gone = report.threads.filter(({ deleted }) => deleted).length;
        showToast({
          text: `Deleted ${counted(gone, "thread", "threads")}.`,
          undo,
        });
      }}
      close={close}
    >
      <Names threads={threads} />
      <DryRun query={dryRun} isKept={safety.isOn} />
      <SafetyField safety={safety} />
      <TypedName name={what} value={typed} onChange={setTyped} />
    </ActionForm>
  );
}

/** What is about to be changed, as far as a dialog has room. */
function Names({ threads }: { threads: readonly Thread[] }) {
  const more = threads.length - NAMES_SHOWN;
  return (
    <ul className="plain-list">
      {threads.slice(0, NAMES_SHOWN).map(({ threadId, title }) => (
        <li key={threadId}>
          <Marked text={cutText(title || threadId, NAME_SHOWN_MAX).text} />
        </li>
      ))}
      {more > 0 ? <li className="note">and {more.toLocaleString("en")} more</li> : null}
    </ul>
  );
}

function needsOf(threads: readonly Thread[]): Need[] {
  return threads.map((one) => ({ operation: "prune_threads", thing: thingOf(one) }));
}

/** Prunes one thread, or several with one request. */
export function PruneDialog({ threads, close, onDone }: ManyGiven) {
  const { client } = useApi();
  const ids = threads.map(({ threadId }) => threadId);
  const [keep, setKeep] = useState("1");
  const [keepInterrupted, setKeepInterrupted] = useState(true);
  const safety = useSafety(threads);
  const keepLast = /^[1-9]\d{0,6}$/.test(keep) ? Number(keep) : undefined;
  const rule = { keepLast, keepInterrupted };
  const dryRun = useDryRun(ids, rule, keepLast !== undefined);
  const goes = dryRun.data?.total.checkpoints ?? 0;
  const run = async () => {
    const undo = await safety.secure("prune");
    return { undo, report: await client.checkpoints.prune(ids, rule) };
  };
  return (
    <ActionForm
      title={threads.length === 1 ? "Prune the thread" : "Prune the selected threads"}
      submit="Prune"
      needs={needsOf(threads)}
      isReady={keepLast !== undefined && goes > 0}
      isDangerous
      run={run}
      onDone={({ undo, report }) => {
        close();
        onDone?.();
        showToast({
          text: `Removed ${counted(report.total.checkpoints, "checkpoint", "checkpoints")}.`,
          undo,
        });
      }}
      close={close}
    >
      {threads.length === 1 ? null : <Names threads={threads} />}
      <TextField
        label="Newest checkpoints of each namespace that stay"
        value={keep}
        onChange={setKeep}
        note="Older ones are removed. The state of the thread stays."
        isFirst
      />
      <CheckField
        label="Keep what a resume needs, where the thread waits for an answer"
        isChecked={keepInterrupted}
        onChange={setKeepInterrupted}
      />
      {keepLast === undefined ? (
        <p role="status">Give a number from 1 to 1,000,000.</p>
      ) : (
        <DryRun query={dryRun} isKept={safety.isOn} />
      )}
      <SafetyField safety={safety} />
    </ActionForm>
  );
}

/** Whether a snapshot is taken first, and whether it may be. `secure` takes it, and returns what undoes. */
export function useSafety(threads: readonly Thread[]) {
  const { client, identity } = useApi();
  const isAllowed = threads.every((one) => maySecure(identity, thingOf(one)));
  const [isWanted, setIsWanted] = useState(true);
  const isOn = isAllowed && isWanted;
  const secure = async (before: "delete" | "prune") => {
    if (!isOn) return undefined;
    const ids = threads.map(({ threadId }) => threadId);
    const snapshotId = await secureThreads(client, identity, ids, before);
    return () => restoreThreads(client, snapshotId, ids);
  };
  return { isAllowed, isOn, set: setIsWanted, secure };
}

interface SafetyGiven {
  safety: ReturnType<typeof useSafety>;
  /** What is done, where it is allowed. */
  label?: string;
}

export function SafetyField({
  safety,
  label = "Take a snapshot first, so that it can be undone for a week",
}: SafetyGiven) {
  return (
    <CheckField
      label={
        safety.isAllowed
          ? label
          : "It cannot be undone: a snapshot needs snapshots:read, snapshots:append and threads:write"
      }
      isChecked={safety.isOn}
      isDisabled={!safety.isAllowed}
      onChange={safety.set}
    />
  );
}

type Rule = Parameters<ReturnType<typeof useApi>["client"]["checkpoints"]["prune"]>[1];

function useDryRun(threadIds: readonly string[], rule: NonNullable<Rule>, enabled = true) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["dry run", threadIds, rule],
    queryFn: ({ signal }) => client.checkpoints.prune(threadIds, { ...rule, dryRun: true, signal }),
    gcTime: 0,
    enabled,
  });
}

interface DryRunGiven {
  query: ReturnType<typeof useDryRun>;
  /** A snapshot is taken first. */
  isKept: boolean;
}

function DryRun({ query: { data, error, refetch }, isKept }: DryRunGiven) {
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="Counting" />;
  return <Report report={data} isKept={isKept} />;
}

function Report({ report: { total }, isKept }: { report: PruneReport; isKept: boolean }) {
  const removed = [
    counted(total.checkpoints, "checkpoint", "checkpoints"),
    counted(total.writes, "write", "writes"),
  ];
  const values = counted(total.values, "value", "values");
  const size = <Size bytes={Math.max(0, total.sizeBytes)} />;
  const stored = <Size bytes={Math.max(0, total.storedBytes)} />;
  // The snapshot names the values, so that they stay stored as long as it does.
  return (
    <p className="callout" role="status">
      {isKept ? (
        <>
          It removes {removed.join(" and ")}: {size}. The snapshot keeps {values}, stored as{" "}
          {stored}, until it ends.
        </>
      ) : (
        <>
          It removes {removed.join(", ")} and {values}: {size}, stored as {stored}.
        </>
      )}
    </p>
  );
}
