/** Compares a snapshot with what is there now, when a person asks for it. It reads counts and times, and changes nothing. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Client, Snapshot, Thread } from "threadkeep";
import { mayList, type Need } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { useMissing } from "../../parts/action.js";
import { Marked } from "../../parts/marked.js";
import { Rows } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { type Line, restoreLines, summaryOf, threadLines } from "./since.js";
import { contentNeeds } from "./snapshot_things.js";

const ROW_PX = 40;
const IDS_AT_ONCE = 100;

export function CompareWithNow({ snapshot }: { snapshot: Snapshot }) {
  const [isAsked, setIsAsked] = useState(false);
  return (
    <section>
      <h2>Compare with now</h2>
      {isAsked ? (
        <Since snapshot={snapshot} />
      ) : (
        <button type="button" className="button" onClick={() => setIsAsked(true)}>
          Compare with now
        </button>
      )}
    </section>
  );
}

function Since({ snapshot }: { snapshot: Snapshot }) {
  const { client, identity } = useApi();
  const { snapshotId, owner, namespaces, sessions } = snapshot;
  const needs: Need[] = [
    { operation: "restore_snapshot", thing: { snapshot: snapshotId, owner } },
    ...contentNeeds(snapshot),
  ];
  const missing = useMissing(needs);
  const hasOthers = namespaces.length + sessions.length > 0;
  const isCompared = hasOthers && missing === undefined;
  const threads = useQuery({
    queryKey: ["since", snapshotId, "threads"],
    queryFn: ({ signal }) => {
      const ids = snapshot.threads.map(({ threadId }) => threadId);
      return mayList(identity, "threads")
        ? searched(client, ids, signal)
        : readOneByOne(client, ids, signal);
    },
    gcTime: 0,
  });
  const others = useQuery({
    queryKey: ["since", snapshotId, "others"],
    queryFn: ({ signal }) => client.snapshots.restore(snapshotId, { dryRun: true, signal }),
    gcTime: 0,
    enabled: isCompared,
  });
  const error = threads.error ?? others.error;
  const retry = () => {
    void threads.refetch();
    if (isCompared) void others.refetch();
  };
  if (error) return <Failure error={error} retry={retry} />;
  if (!threads.data || (isCompared && !others.data)) return <Loading what="Comparing" />;
  const lines = [
    ...threadLines(snapshot, threads.data),
    ...(others.data ? restoreLines(others.data) : []),
  ];
  return (
    <>
      {lines.length === 0 ? null : <Lines lines={lines} />}
      {hasOthers && missing !== undefined ? (
        <p className="note">
          Namespaces and sessions are compared by a dry run of a restore, which needs{" "}
          <Marked text={missing} />.
        </p>
      ) : null}
      {lines.length === 0 && !hasOthers ? <Empty title="There is nothing to compare" /> : null}
      <button type="button" className="button" onClick={retry}>
        Compare again
      </button>
    </>
  );
}

function Lines({ lines }: { lines: readonly Line[] }) {
  return (
    <>
      <p role="status">{summaryOf(lines)}</p>
      <Rows
        label="Changes since the snapshot"
        rows={lines}
        keyOf={({ id }) => id}
        heightPx={ROW_PX}
        render={({ name, change }) => (
          <div className="file-row">
            <Marked text={name} />
            <span className="thread-facts">{change ?? "the same"}</span>
          </div>
        )}
      />
    </>
  );
}

async function searched(client: Client, ids: readonly string[], signal: AbortSignal) {
  const found: Thread[] = [];
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const some = ids.slice(at, at + IDS_AT_ONCE);
    const page = await client.threads.search({ ids: some, limit: some.length, signal });
    found.push(...page.threads);
  }
  return found;
}

/** For tokens of single threads, which may not search. */
async function readOneByOne(client: Client, ids: readonly string[], signal: AbortSignal) {
  const found: Thread[] = [];
  for (const id of ids) {
    const thread = await client.threads.get(id, { signal });
    if (thread) found.push(thread);
  }
  return found;
}
