/** The audit log: who did what, and what was refused, newest first. */

import { useId } from "react";
import type { AuditEventText } from "threadkeep";
import { useApi } from "../../api/context.js";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import type { AuditRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { Allowed } from "../../parts/allowed.js";
import { ShowAsCode } from "../../parts/code.js";
import { DownloadButton } from "../../parts/copy.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { routeOfObject, titleOfAct } from "./acts.js";
import { csvText, jsonLines } from "./audit_file.js";
import { AuditFilters } from "./audit_filters.js";
import { type AuditFilter, PAGE_EVENTS, useAudit } from "./queries.js";

const ROW_PX = 64;

export default function AuditPage({ route }: { route: AuditRoute }) {
  const { page: _, ...filter } = route;
  return (
    <>
      <header className="page-head">
        <h1>Audit</h1>
        <ShowAsCode samples={samples(filter)} />
      </header>
      <Allowed needs={[{ operation: "list_audit_events" }]}>
        <AuditFilters key={JSON.stringify(filter)} filter={filter} />
        <Events filter={filter} />
      </Allowed>
    </>
  );
}

function samples({ act, since, until }: AuditFilter) {
  const asked = { act, since, until };
  const limit = PAGE_EVENTS;
  return samplesOf(
    { method: "GET", path: "/v1/audit", query: { ...asked, limit: String(limit) } },
    {
      typescript: methodText("audit", { ...asked, limit }),
      python: pythonMethodText("audit", [], { ...asked, limit }),
    },
  );
}

function Events({ filter }: { filter: AuditFilter }) {
  const query = useAudit(filter);
  const { data, error, refetch, isFetchingNextPage, hasNextPage } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const events = data.pages.flatMap((page) => page.events);
  if (events.length === 0) return <NoEvents filter={filter} />;
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Downloads events={events} hasMore={hasNextPage} />
      <Rows
        label="Events"
        rows={events}
        keyOf={({ eventId }) => eventId}
        heightPx={ROW_PX}
        render={(event) => <EventRow event={event} />}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

function NoEvents({ filter }: { filter: AuditFilter }) {
  const isFiltered = Object.keys(filter).length > 0;
  if (isFiltered) return <Empty title="No event meets the filter" />;
  return (
    <Empty title="The audit log has no events">
      It tells administrative acts, such as keys made, and requests that were refused.
    </Empty>
  );
}

function Downloads({ events, hasMore }: { events: readonly AuditEventText[]; hasMore: boolean }) {
  const { tenant } = useApi().identity;
  const id = useId();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend that is seen
    <div className="toolbar" role="group" aria-labelledby={id}>
      <DownloadButton bytes={() => csvText(events)} name={`audit ${tenant}.csv`} label="CSV" />
      <DownloadButton
        bytes={() => jsonLines(events)}
        name={`audit ${tenant}.jsonl`}
        label="JSON Lines"
      />
      <span id={id} className="note">
        {counted(events.length, "event", "events")} to download
        {hasMore ? ". Scroll down for earlier ones" : ""}
      </span>
    </div>
  );
}

function EventRow({ event }: { event: AuditEventText }) {
  const { act, at, actor, count, object, details } = event;
  return (
    <div className="item-row">
      <div className="thread-main">
        <span className="thread-title">{titleOfAct(act)}</span>
        {object === undefined ? null : <ObjectOf act={act} object={object} />}
        {count === 1 ? null : <span className="badge">{count.toLocaleString("en")} times</span>}
      </div>
      <div className="thread-facts">
        <Time at={at} />
        <code>{at}</code>
        <span>by {actor === undefined ? "an unknown caller" : <Marked text={actor} />}</span>
        {details === "{}" ? null : (
          <code>
            <Marked text={details} />
          </code>
        )}
      </div>
    </div>
  );
}

function ObjectOf({ act, object }: { act: string; object: string }) {
  const to = routeOfObject(act, object);
  const name = <Marked text={object} className="item-key" />;
  return to === undefined ? name : <Link to={to}>{name}</Link>;
}
