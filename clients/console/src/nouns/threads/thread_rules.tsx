/** The threads that have retention rules of their own. */

import { navigate } from "../../app/location.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { useRules } from "./retention_queries.js";
import { sentencesOf } from "./retention_rule.js";

const ROW_PX = 64;

export function ThreadRules() {
  const query = useRules();
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const rules = data.pages
    .flatMap((page) => page.policies)
    // The rule of the tenant is first, and has a place of its own.
    .flatMap((policy) =>
      policy.threadId === undefined ? [] : [{ ...policy, threadId: policy.threadId }],
    );
  if (rules.length === 0) return <p className="note">No thread has a rule of its own.</p>;
  return (
    <>
      <Rows
        label="Threads with rules of their own"
        rows={rules}
        keyOf={({ threadId }) => threadId}
        heightPx={ROW_PX}
        render={({ threadId, dryRun, updatedAt, ...rule }) => (
          <div className="item-row">
            <Link to={{ page: "retention", thread: threadId }} className="item-key">
              <Marked text={threadId} />
            </Link>
            <div className="thread-facts">
              {dryRun ? <span className="badge">dry run</span> : null}
              <span>{sentencesOf(rule).join(" ")}</span>
              <span>
                changed <Time at={updatedAt} />
              </span>
            </div>
          </div>
        )}
        onOpen={({ threadId }) => navigate({ page: "retention", thread: threadId })}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}
