/** A stream: its messages as a conversation, or its entries as they are stored. */

import { useMemo, useState } from "react";
import type { SessionEntry } from "threadkeep";
import type { SessionRoute } from "../../app/route.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { MessageView } from "../../content/message_view.js";
import { rowsOf, type StreamRow } from "../../content/transcript.js";
import { Link } from "../../parts/link.js";
import { NewMessages } from "../../parts/new_messages.js";
import { Rows } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { useEntries } from "./queries.js";

const ROW_PX = 120;

interface Given {
  route: SessionRoute & { stream: string };
  /** The number of the last entry; absent where the session has no such stream. */
  head: number | undefined;
  askedAt: number;
}

export function StreamView({ route, head = 0, askedAt }: Given) {
  const { stream, view } = route;
  const query = useEntries(route, { stream, head, askedAt });
  const { data, error, refetch, hasPreviousPage, isFetching, fetchPreviousPage } = query;
  const entries = useMemo(() => data?.pages.flatMap((page) => page.entries), [data]);
  if (error && !entries) return <Failure error={error} retry={() => void refetch()} />;
  if (!entries) return <Loading />;
  return (
    <>
      <nav className="tab-links" aria-label="Views of the stream">
        <Link to={{ ...route, view: undefined }} isCurrent={view === undefined}>
          Conversation
        </Link>
        <Link to={{ ...route, view: "entries" }} isCurrent={view === "entries"}>
          Entries
        </Link>
      </nav>
      {error ? <Failure error={error} retry={() => void fetchPreviousPage()} /> : null}
      {hasPreviousPage ? (
        <button
          type="button"
          className="button"
          disabled={isFetching}
          onClick={() => void fetchPreviousPage()}
        >
          Earlier entries
        </button>
      ) : null}
      {entries.length === 0 ? (
        <Empty title="The stream has no entries" />
      ) : (
        <Entries entries={entries} isStored={view === "entries"} />
      )}
    </>
  );
}

function Entries({ entries, isStored }: { entries: readonly SessionEntry[]; isStored: boolean }) {
  const rows = useMemo(
    () => (isStored ? entries.map(storedRow) : rowsOf(entries)),
    [entries, isStored],
  );
  const [openedAt] = useState(entries.at(-1)?.seq ?? 0);
  const added = entries.filter(({ seq }) => seq > openedAt).length;
  return (
    <>
      <Rows
        label="Entries"
        rows={rows}
        keyOf={({ key }) => key}
        heightPx={ROW_PX}
        render={(row) => <EntryRow row={row} />}
      />
      <NewMessages count={added} />
    </>
  );
}

function storedRow({ seq, atMs, data }: SessionEntry): StreamRow {
  return { key: `stored ${seq}`, seq, atMs, data, shown: undefined };
}

function EntryRow({ row: { seq, atMs, data, shown } }: { row: StreamRow }) {
  return (
    <div className="stream-row">
      <p className="thread-facts">
        <span>entry {seq}</span>
        <Time at={new Date(atMs)} />
      </p>
      {shown ? (
        <MessageView entry={shown} below={() => null} />
      ) : (
        <div className="message">
          <JsonTree value={data} what="the entry" isOpen={false} />
        </div>
      )}
    </div>
  );
}
