/** All threads that wait for a person, with what they ask and the code that answers. */

import type { Thread } from "threadkeep";
import { mayList } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { navigate } from "../../app/location.js";
import { ShowAsCode } from "../../parts/code.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { useTasks, useThreads, versionOf } from "./queries.js";
import { Questions } from "./questions.js";

const CARD_PX = 260;
const WAITING = { status: "interrupted", sort: "state_updated", order: "desc" } as const;

export function InboxPage() {
  const { identity } = useApi();
  const isList = mayList(identity, "threads");
  const query = useThreads(WAITING);
  const { data, error, refetch } = query;
  const loadMore = useLoadMore(query);
  const threads = data?.pages.flatMap((page) => page.threads);
  return (
    <>
      <header className="page-head">
        <h1>Inbox</h1>
        <ShowAsCode samples={samples()} />
      </header>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {isList ? null : (
        <Empty title="A token for single threads has no Inbox">
          <Link to={{ page: "threads" }}>The threads of this token</Link>
        </Empty>
      )}
      {isList && threads === undefined && !error ? <Loading /> : null}
      {threads?.length === 0 ? <Empty title="No thread waits for a person" /> : null}
      {threads && threads.length > 0 ? (
        <Rows
          label="Threads that wait"
          rows={threads}
          keyOf={({ threadId }) => threadId}
          heightPx={CARD_PX}
          render={(thread) => <WaitingThread thread={thread} />}
          onOpen={({ threadId }) => navigate({ page: "thread", threadId, tab: "conversation" })}
          onEnd={loadMore}
        />
      ) : null}
    </>
  );
}

function samples() {
  return samplesOf(
    {
      method: "POST",
      path: "/v1/threads/search",
      body: { status: ["interrupted"], sort: "state_updated" },
    },
    {
      typescript: methodText("threads.search", WAITING),
      python: pythonMethodText("threads.search", [], WAITING),
    },
  );
}

function WaitingThread({ thread }: { thread: Thread }) {
  const { threadId, title } = thread;
  const place = { threadId, ns: "" };
  const { data, error, refetch } = useTasks(place, versionOf(thread), { isWhole: false });
  return (
    <article className="waiting">
      <header className="waiting-head">
        <h2>
          <Link to={{ page: "thread", threadId, tab: "conversation" }}>
            <Marked text={title || threadId} />
          </Link>
        </h2>
        <span className="note">
          waits since <Time at={thread.stateUpdatedAt ?? thread.updatedAt} />
        </span>
      </header>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {!data ? error ? null : <Loading /> : null}
      {data ? <Questions thread={thread} interrupts={data.interrupts} /> : null}
      {data && data.interrupts.length === 0 ? (
        <p>
          It asks nothing. Nobody runs its next tasks:{" "}
          <Marked text={data.next.join(", ") || "none"} />
        </p>
      ) : null}
    </article>
  );
}
