/** The subjects of the tenant, and how much each one has. */

import { type ReactNode, useState } from "react";
import { label, type Subject } from "threadkeep";
import type { Route } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { ActionButton } from "../../parts/action.js";
import { CopyButton } from "../../parts/copy.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { countText, Size, Time } from "../../parts/units.js";
import { EraseSubject } from "./erase_subject.js";
import { useSubjects } from "./queries.js";

const ROW_PX = 84;

export function SubjectsList() {
  const query = useSubjects();
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  const [erasing, setErasing] = useState<string>();
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const subjects = data.pages.flatMap((page) => page.subjects);
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {subjects.length === 0 ? (
        <Empty title="The tenant has no subjects">
          A key or token for a subject owns what it makes.
        </Empty>
      ) : (
        <Rows
          label="Subjects"
          rows={subjects}
          keyOf={({ subject }) => subject}
          heightPx={ROW_PX}
          render={(one) => <SubjectRow shown={one} onErase={() => setErasing(one.subject)} />}
          onEnd={loadMore}
        />
      )}
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
      {erasing === undefined ? null : (
        <EraseSubject named={erasing} close={() => setErasing(undefined)} />
      )}
    </>
  );
}

function SubjectRow({ shown, onErase }: { shown: Subject; onErase: () => void }) {
  const { subject, keys, threads, sessions, snapshots, items, sizeBytes, updatedAt } = shown;
  return (
    <div className="item-row">
      <div className="thread-main">
        <Marked text={subject} className="thread-title" />
        <CopyButton text={() => subject} what="the subject" />
        <ActionButton label="Erase" needs={[{ operation: "delete_subject" }]} onClick={onErase} />
      </div>
      <div className="thread-facts">
        <span>{counted(keys, "key", "keys")}</span>
        <Linked to={{ page: "threads", owner: subject }}>
          {countedText(threads, "thread", "threads")}
        </Linked>
        <span>{countedText(sessions, "session", "sessions")}</span>
        <span>{countedText(snapshots, "snapshot", "snapshots")}</span>
        <Linked to={{ page: "store", namespace: [label(subject)] }}>
          {countedText(items, "item", "items")}
        </Linked>
        <Linked to={{ page: "files", place: "drive", namespace: [], path: "/", subject }}>
          drive
        </Linked>
        <span>
          <Size bytes={sizeBytes} />
          {shown.partial ? " or more" : ""}
        </span>
        {updatedAt === undefined ? null : (
          <span>
            changed <Time at={updatedAt} />
          </span>
        )}
      </div>
    </div>
  );
}

function Linked({ to, children }: { to: Route; children: ReactNode }) {
  return (
    <span>
      <Link to={to}>{children}</Link>
    </span>
  );
}

function countedText(count: number, one: string, many: string): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}
