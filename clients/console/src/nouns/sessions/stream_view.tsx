/** A stream: its messages as a conversation, or its entries as they are stored. */

import { useMemo, useState } from "react";
import type { SessionEntry } from "threadkeep";
import type { SessionRoute } from "../../app/route.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { MessageView } from "../../content/message_view.js";
import { rowsOf, type StreamRow } from "../../content/transcript.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { NewMessages } from "../../parts/new_messages.js";
import { Rows } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { AGENTRAIL, EVENTS, TRACE, tracedEvent } from "./agentrail.js";
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
          {isTrace(route) ? "Events" : "Conversation"}
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
        <Entries
          entries={entries}
          isStored={view === "entries"}
          isTrace={view !== "entries" && isTrace(route)}
        />
      )}
    </>
  );
}

/** Logs of events, which are no messages. */
function isTrace({ kind, stream }: Given["route"]): boolean {
  return kind === AGENTRAIL && (stream === TRACE || stream === EVENTS);
}

interface EntriesGiven {
  entries: readonly SessionEntry[];
  isStored: boolean;
  isTrace: boolean;
}

function Entries({ entries, isStored, isTrace: areEvents }: EntriesGiven) {
  const rows = useMemo(
    () => (isStored || areEvents ? entries.map(storedRow) : rowsOf(entries)),
    [entries, isStored, areEvents],
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
        render={(row) => (areEvents ? <EventRow row={row} /> : <EntryRow row={row} />)}
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

/** An event by its kind. One that has none is shown as it is. */
function EventRow({ row }: { row: StreamRow }) {
  const traced = tracedEvent(row.data);
  if (traced === undefined) return <EntryRow row={row} />;
  const { kind, source, at, event } = traced;
  return (
    <div className="stream-row">
      <p className="thread-facts">
        <Marked className="thread-title" text={kind} />
        {source === undefined ? null : (
          <span className="badge">
            <Marked text={source} />
          </span>
        )}
        <Time at={at ?? new Date(row.atMs)} />
        <span>entry {row.seq}</span>
      </p>
      <JsonTree value={event} what="the event" isOpen={false} />
    </div>
  );
}
