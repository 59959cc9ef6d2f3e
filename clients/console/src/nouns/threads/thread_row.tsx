/** A thread in a list, and a short list of threads. */

import type { Thread } from "threadkeep";
import { counted, cutText } from "../../content/json_tree.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Size, Time } from "../../parts/units.js";

const TITLE_MAX = 120;

export function StatusBadge({ status }: { status: Thread["status"] }) {
  return <span className={`badge status-${status ?? "unknown"}`}>{status ?? "unknown"}</span>;
}

export function ThreadRow({ thread }: { thread: Thread }) {
  const { threadId, title, preview } = thread;
  const last = preview?.lastMessage;
  return (
    <div className="thread-row">
      <div className="thread-main">
        <Link to={{ page: "thread", threadId, tab: "conversation" }} className="thread-title">
          <Marked text={cutText(title || threadId, TITLE_MAX).text} />
        </Link>
        <StatusBadge status={thread.status} />
        {preview && preview.interrupts > 0 ? (
          <span className="badge">{counted(preview.interrupts, "question", "questions")}</span>
        ) : null}
      </div>
      <div className="thread-last">
        {last?.text ? (
          <>
            <span className="note">{last.type}:</span> <Marked text={last.text} />
          </>
        ) : (
          <span className="note">
            {preview?.next.length ? `next: ${preview.next.join(", ")}` : "no text"}
          </span>
        )}
      </div>
      <div className="thread-facts">
        <Marked className="thread-id" text={threadId} />
        <span>{counted(thread.checkpointCount, "checkpoint", "checkpoints")}</span>
        <span>step {thread.lastStep ?? "–"}</span>
        <Size bytes={thread.sizeBytes} />
        <Time at={thread.stateUpdatedAt ?? thread.updatedAt} />
      </div>
    </div>
  );
}

/** Few threads: each is a row of the page. */
export function ThreadList({ threads }: { threads: readonly Thread[] }) {
  return (
    <ul className="plain-list">
      {threads.map((thread) => (
        <li key={thread.threadId}>
          <ThreadRow thread={thread} />
        </li>
      ))}
    </ul>
  );
}
