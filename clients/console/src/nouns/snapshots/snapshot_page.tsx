/** One snapshot: what it holds, and the code that restores it. It shows no content, which only a restore gives back. */

import type { ReactNode } from "react";
import type { Snapshot } from "threadkeep";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { counted } from "../../content/json_tree.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { ActionBar } from "../../parts/action.js";
import { CodeTabs, ShowAsCode } from "../../parts/code.js";
import { CopyButton } from "../../parts/copy.js";
import { Fact } from "../../parts/facts.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows } from "../../parts/rows.js";
import { Empty, FailedPage, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { keyText } from "../sessions/session_key.js";
import { CompareWithNow } from "./compare_with_now.js";
import { sumsOf } from "./contents.js";
import { DeleteDialog } from "./delete_dialog.js";
import { LabelList } from "./labels.js";
import { useSnapshot } from "./queries.js";
import { RestoreDialog } from "./restore_dialog.js";
import { archiveSamples, restoreSamples } from "./samples.js";
import { contentNeeds } from "./snapshot_things.js";

const ROW_PX = 40;

export default function SnapshotPage({ snapshotId }: { snapshotId: string }) {
  const { data, error, refetch } = useSnapshot(snapshotId);
  if (error && !data) {
    return <FailedPage name={snapshotId} error={error} retry={() => void refetch()} />;
  }
  if (data === undefined) return <Loading />;
  if (data === null) return <Absent snapshotId={snapshotId} />;
  return (
    <>
      <header className="page-head">
        <h1>
          <Marked text={snapshotId} />
        </h1>
        <ShowAsCode samples={samples(snapshotId)} />
      </header>
      <SnapshotActions snapshot={data} />
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Facts snapshot={data} />
      <Sums snapshot={data} />
      {data.document === undefined ? null : (
        <section>
          <h2>Document</h2>
          <JsonTree value={data.document} what="the document" />
        </section>
      )}
      <Contents snapshot={data} />
      <CompareWithNow snapshot={data} />
      <section>
        <h2>Use it</h2>
        <details>
          <summary>Restore by code</summary>
          <p className="note">
            A dry run says what a restore in place would change. Without it, everything newer than
            the snapshot is replaced, and kept in a snapshot of its own.
          </p>
          <CodeTabs samples={restoreSamples(snapshotId)} label="Language of the restore" />
        </details>
        {data.archive ? (
          <details>
            <summary>Download the archive by code</summary>
            <CodeTabs samples={archiveSamples(snapshotId)} label="Language of the download" />
          </details>
        ) : null}
      </section>
    </>
  );
}

function SnapshotActions({ snapshot }: { snapshot: Snapshot }) {
  const { snapshotId, owner } = snapshot;
  const thing = { snapshot: snapshotId, owner };
  return (
    <ActionBar
      label="Actions of the snapshot"
      actions={[
        {
          label: "Restore",
          needs: [{ operation: "restore_snapshot", thing }, ...contentNeeds(snapshot)],
          dialog: (close) => <RestoreDialog snapshot={snapshot} close={close} />,
        },
        {
          label: "Delete",
          needs: [{ operation: "delete_snapshot", thing }],
          dialog: (close) => <DeleteDialog snapshot={snapshot} close={close} />,
        },
      ]}
    />
  );
}

function samples(snapshotId: string) {
  return samplesOf(
    { method: "POST", path: "/v1/snapshots/get", body: { snapshot_id: snapshotId } },
    {
      typescript: methodText("snapshots.get", snapshotId),
      python: pythonMethodText("snapshots.get", [snapshotId], {}),
    },
  );
}

function Absent({ snapshotId }: { snapshotId: string }) {
  return (
    <Empty title="There is no such snapshot" isPage>
      <p>
        <Marked text={snapshotId} /> was deleted, has expired, or is not granted to this key.
      </p>
      <Link to={{ page: "snapshots" }}>All snapshots</Link>
    </Empty>
  );
}

function Facts({ snapshot }: { snapshot: Snapshot }) {
  const { snapshotId, takenAt, createdAt, expiresAt, owner, sizeBytes, labels } = snapshot;
  return (
    <p className="thread-facts">
      <CopyButton text={() => snapshotId} what="the snapshot id" />
      <span>
        taken <Time at={takenAt} />
      </span>
      <span>
        created <Time at={createdAt} />
      </span>
      {expiresAt ? (
        <span>
          expires <Time at={expiresAt} />
        </span>
      ) : null}
      <Size bytes={sizeBytes} />
      {owner === undefined ? null : (
        <span>
          owner <Marked text={owner} />
        </span>
      )}
      <LabelList labels={labels} />
    </p>
  );
}

function Sums({ snapshot }: { snapshot: Snapshot }) {
  const sums = sumsOf(snapshot);
  if (sums.length === 0) return <Empty title="The snapshot holds nothing" />;
  return (
    <dl className="facts">
      {sums.map(({ kind, count, holds, sizeBytes }) => (
        <Fact key={kind} title={kind}>
          {kind === "Archive" ? "" : `${count.toLocaleString("en")}: `}
          {holds}, <Size bytes={sizeBytes} />
        </Fact>
      ))}
    </dl>
  );
}

interface Part {
  id: string;
  name: ReactNode;
  holds: string;
  sizeBytes: number;
}

/** The things that it was taken of, with links to them as they are now. */
function Contents({ snapshot }: { snapshot: Snapshot }) {
  const { archive } = snapshot;
  return (
    <section>
      <h2>Contents</h2>
      <p className="note">Links lead to the things as they are now.</p>
      <Rows
        label="Contents"
        rows={partsOf(snapshot)}
        keyOf={({ id }) => id}
        heightPx={ROW_PX}
        render={({ name, holds, sizeBytes }) => (
          <div className="file-row">
            {name}
            <span className="thread-facts">
              <span>{holds}</span>
              <Size bytes={sizeBytes} />
            </span>
          </div>
        )}
      />
      {archive ? (
        <p className="thread-facts">
          <span>
            archive of the workspace <Marked text={archive.workspace} />
          </span>
          <span>
            staged <Time at={archive.stagedAt} />
          </span>
          <span>
            SHA-256 <code className="digest">{archive.sha256}</code>
          </span>
        </p>
      ) : null}
    </section>
  );
}

function partsOf({ threads, namespaces, sessions }: Snapshot): Part[] {
  return [
    ...threads.map(({ threadId, checkpoints, history, sizeBytes }) => ({
      id: `thread ${threadId}`,
      name: (
        <span>
          thread{" "}
          <Link to={{ page: "thread", threadId, tab: "conversation" }}>
            <Marked text={threadId} />
          </Link>
        </span>
      ),
      holds: `${counted(checkpoints, "checkpoint", "checkpoints")}${history === "head" ? ", newest states only" : ""}`,
      sizeBytes,
    })),
    ...namespaces.map(({ namespace, items, sizeBytes }) => ({
      id: `namespace ${JSON.stringify(namespace)}`,
      name: (
        <span>
          namespace{" "}
          <Link to={{ page: "store", namespace }}>
            <Marked text={namespace.join(" / ") || "(all)"} />
          </Link>
        </span>
      ),
      holds: counted(items, "item", "items"),
      sizeBytes,
    })),
    ...sessions.map(({ kind, key, entries, sizeBytes }) => ({
      id: `session ${JSON.stringify([kind, key])}`,
      name: (
        <span>
          session{" "}
          <Link to={{ page: "session", kind, key }}>
            <Marked text={`${kind}: ${keyText(key)}`} />
          </Link>
        </span>
      ),
      holds: counted(entries, "entry", "entries"),
      sizeBytes,
    })),
  ];
}
