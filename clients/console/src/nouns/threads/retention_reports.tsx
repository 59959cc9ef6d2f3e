/** The finished rounds of rules, newest first: what they looked at, what went, and what failed. */

import type { RetentionReport } from "threadkeep";
import { counted } from "../../content/json_tree.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { useReports } from "./retention_queries.js";

const ROW_PX = 90;

export function RetentionReports({ threadId }: { threadId: string | undefined }) {
  const query = useReports(threadId);
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const reports = data.pages.flatMap((page) => page.reports);
  if (reports.length === 0) {
    return (
      <Empty title="There is no report">
        A server writes one at the end of each round, and keeps it for 30 days.
      </Empty>
    );
  }
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Rows
        label="Reports"
        rows={reports}
        keyOf={({ reportId }) => reportId}
        heightPx={ROW_PX}
        render={(report) => <ReportRow report={report} isOfTenant={threadId === undefined} />}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

function ReportRow({ report, isOfTenant }: { report: RetentionReport; isOfTenant: boolean }) {
  const { threadId, dryRun, startedAt, finishedAt, errors, lastError, removed } = report;
  const { threadsExamined, threadsExpired, threadsPruned, threadsSkipped } = report;
  return (
    <div className="item-row">
      <div className="thread-main">
        <span className="thread-title">
          {threadId === undefined ? (
            "Rule of the tenant"
          ) : isOfTenant ? (
            <Link to={{ page: "retention", thread: threadId }}>
              <Marked text={threadId} />
            </Link>
          ) : (
            "Rule of the thread"
          )}
        </span>
        {dryRun ? <span className="badge">dry run</span> : null}
        {errors === 0 ? null : (
          <span className="badge badge-error">
            {counted(errors, "thread", "threads")} failed
            {lastError === undefined ? null : (
              <>
                : <Marked text={lastError} />
              </>
            )}
          </span>
        )}
      </div>
      <div className="thread-facts">
        <Time at={finishedAt} />
        <span>took {secondsText(finishedAt.getTime() - startedAt.getTime())}</span>
        <span>{counted(threadsExamined, "thread", "threads")} looked at</span>
        <span>
          {dryRun ? "would delete" : "deleted"} {counted(threadsExpired, "thread", "threads")}
        </span>
        <span>
          {dryRun ? "would prune" : "pruned"} {counted(threadsPruned, "thread", "threads")}
        </span>
        {threadsSkipped === 0 ? null : (
          <span>{counted(threadsSkipped, "thread", "threads")} with a lease left alone</span>
        )}
        <span>
          {counted(removed.checkpoints, "checkpoint", "checkpoints")},{" "}
          {counted(removed.writes, "write", "writes")}, {counted(removed.values, "value", "values")}
        </span>
        <span>
          <Size bytes={removed.sizeBytes} />, stored as <Size bytes={removed.storedBytes} />
        </span>
      </div>
    </div>
  );
}

function secondsText(ms: number): string {
  return ms < 1_000 ? `${Math.max(0, ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}
