/** Snapshots, newest first. */

import { type FormEvent, useId, useRef, useState } from "react";
import type { Snapshot } from "threadkeep";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { useShortcut } from "../../app/keyboard.js";
import { navigate } from "../../app/location.js";
import type { SnapshotsRoute } from "../../app/route.js";
import { ActionBar } from "../../parts/action.js";
import { ShowAsCode } from "../../parts/code.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { contentsText } from "./contents.js";
import { LabelList } from "./labels.js";
import { type Labels, useSnapshots } from "./queries.js";
import { TakeSnapshot } from "./take_snapshot.js";

const ROW_PX = 64;

export default function SnapshotsPage({ route }: { route: SnapshotsRoute }) {
  const { label, value = "" } = route;
  const labels = label === undefined ? undefined : Object.fromEntries([[label, value]]);
  return (
    <>
      <header className="page-head">
        <h1>Snapshots</h1>
        <ShowAsCode samples={samples(labels)} />
      </header>
      <ActionBar
        label="Actions"
        actions={[
          {
            label: "Take a snapshot",
            needs: [{ operation: "take_snapshot" }],
            dialog: (close) => <TakeSnapshot close={close} />,
          },
        ]}
      />
      <FilterForm key={JSON.stringify(route)} route={route} />
      <SnapshotList labels={labels} />
    </>
  );
}

function samples(labels: Labels | undefined) {
  return samplesOf(
    { method: "POST", path: "/v1/snapshots/list", body: { labels, limit: 50 } },
    {
      typescript: methodText("snapshots.list", { labels, limit: 50 }),
      python: pythonMethodText("snapshots.list", [], { labels, limit: 50 }),
    },
  );
}

function FilterForm({ route }: { route: SnapshotsRoute }) {
  const [label, setLabel] = useState(route.label ?? "");
  const [value, setValue] = useState(route.value ?? "");
  const field = useRef<HTMLInputElement>(null);
  const ids = useId();
  useShortcut("/", () => field.current?.focus());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    navigate(label === "" ? { page: "snapshots" } : { page: "snapshots", label, value });
  };
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <label htmlFor={ids}>Label</label>
        <input
          id={ids}
          ref={field}
          spellCheck={false}
          value={label}
          onChange={({ target }) => setLabel(target.value)}
        />
        <input
          className="wide-input"
          aria-label="Value of the label"
          placeholder="its value"
          spellCheck={false}
          value={value}
          onChange={({ target }) => setValue(target.value)}
        />
        <button type="submit" className="button">
          Show
        </button>
      </form>
    </search>
  );
}

function SnapshotList({ labels }: { labels: Labels | undefined }) {
  const query = useSnapshots(labels);
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const snapshots = data.pages.flatMap((page) => page.snapshots);
  if (snapshots.length === 0) {
    return labels ? (
      <Empty title="No snapshot has this label" />
    ) : (
      <Empty title="There are no snapshots yet">
        A snapshot keeps threads, namespaces and sessions as they are at one moment.
      </Empty>
    );
  }
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Rows
        label="Snapshots"
        rows={snapshots}
        keyOf={({ snapshotId }) => snapshotId}
        heightPx={ROW_PX}
        render={(snapshot) => <SnapshotRow snapshot={snapshot} />}
        onOpen={({ snapshotId }) => navigate({ page: "snapshot", snapshotId })}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

function SnapshotRow({ snapshot }: { snapshot: Snapshot }) {
  const { snapshotId, labels, sizeBytes, takenAt, expiresAt } = snapshot;
  return (
    <div className="item-row">
      <Link to={{ page: "snapshot", snapshotId }} className="item-key">
        <Marked text={snapshotId} />
      </Link>
      <div className="thread-facts">
        <span>
          taken <Time at={takenAt} />
        </span>
        <span>{contentsText(snapshot)}</span>
        <Size bytes={sizeBytes} />
        <LabelList labels={labels} />
        {expiresAt ? (
          <span>
            expires <Time at={expiresAt} />
          </span>
        ) : null}
      </div>
    </div>
  );
}
