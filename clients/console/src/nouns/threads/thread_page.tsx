/** One thread: its conversation, its timeline, its states. */

import { lazy, Suspense, useRef } from "react";
import type { Thread } from "threadkeep";
import { THREAD_TABS, type ThreadRoute, type ThreadTab } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { ShowAsCode } from "../../parts/code.js";
import { CopyButton } from "../../parts/copy.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, FailedPage, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { ConversationTab } from "./conversation_tab.js";
import { useThread, versionOf } from "./queries.js";
import { samplesOf } from "./samples.js";
import { RunsProvider } from "./subagents.js";
import { ThreadActions } from "./thread_actions.js";
import { StatusBadge } from "./thread_row.js";

const tabs = () => import("../checkpoints/tabs.js");
const TimelineTab = lazy(async () => ({ default: (await tabs()).TimelineTab }));
const StateTab = lazy(async () => ({ default: (await tabs()).StateTab }));
const DiffTab = lazy(async () => ({ default: (await tabs()).DiffTab }));
const StorageTab = lazy(async () => ({ default: (await tabs()).StorageTab }));

const TITLES: Record<ThreadTab, string> = {
  conversation: "Conversation",
  timeline: "Timeline",
  state: "State",
  diff: "Diff",
  storage: "Storage",
};

export function ThreadPage({ route }: { route: ThreadRoute }) {
  const { threadId } = route;
  const { data, error, refetch } = useThread(threadId);
  // A thread that is gone keeps what was shown of it.
  const last = useRef<Thread>(undefined);
  if (data) last.current = data;
  const thread = data ?? last.current;
  if (error && !thread) {
    return <FailedPage name={threadId} error={error} retry={() => void refetch()} />;
  }
  if (data === undefined && !thread) return <Loading />;
  if (!thread) return <Absent threadId={threadId} />;
  return (
    <>
      <ThreadHead thread={thread} route={route} />
      {data === null ? (
        <p role="status">The thread is not there any more. This is what was seen last.</p>
      ) : null}
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <RunsProvider threadId={threadId} version={versionOf(thread)}>
        <Suspense fallback={<Loading />}>
          <Tab thread={thread} route={route} />
        </Suspense>
      </RunsProvider>
    </>
  );
}

function Absent({ threadId }: { threadId: string }) {
  return (
    <Empty title="There is no such thread" isPage>
      <p>
        <Marked text={threadId} /> was deleted, was never written, or is not granted to this key.
      </p>
      <Link to={{ page: "threads" }}>All threads</Link>
    </Empty>
  );
}

function Tab({ thread, route }: { thread: Thread; route: ThreadRoute }) {
  const version = versionOf(thread);
  switch (route.tab) {
    case "conversation":
      return <ConversationTab thread={thread} />;
    case "timeline":
      return <TimelineTab route={route} version={version} />;
    case "state":
      return <StateTab route={route} version={version} />;
    case "diff":
      return <DiffTab route={route} />;
    case "storage":
      return <StorageTab thread={thread} />;
  }
}

function ThreadHead({ thread, route }: { thread: Thread; route: ThreadRoute }) {
  const { threadId, title } = thread;
  return (
    <>
      <header className="page-head">
        <h1>
          <Marked text={title || threadId} />
        </h1>
        <StatusBadge status={thread.status} />
        <ShowAsCode samples={samplesOf(route)} />
      </header>
      <ThreadActions thread={thread} route={route} />
      <p className="thread-facts">
        <Marked className="thread-id" text={threadId} />
        <CopyButton text={() => threadId} what="the thread id" />
        <span>{counted(thread.checkpointCount, "checkpoint", "checkpoints")}</span>
        <span>step {thread.lastStep ?? "–"}</span>
        <Size bytes={thread.sizeBytes} />
        {thread.owner === undefined ? null : (
          <span>
            owner <Marked text={thread.owner} />
          </span>
        )}
        <span>
          changed <Time at={thread.stateUpdatedAt ?? thread.updatedAt} />
        </span>
      </p>
      <nav className="tab-links" aria-label="Views of the thread">
        {THREAD_TABS.map((tab) => (
          <Link
            key={tab}
            to={tab === route.tab ? route : { page: "thread", threadId, tab }}
            isCurrent={tab === route.tab}
          >
            {TITLES[tab]}
          </Link>
        ))}
      </nav>
    </>
  );
}
