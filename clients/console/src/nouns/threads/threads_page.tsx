/** All threads: filter, order, and a list that loads as it is scrolled. */

import { Search } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { mayList } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { useShortcut } from "../../app/keyboard.js";
import { replaceRoute } from "../../app/location.js";
import { ORDERS, SORTS, STATUSES, type ThreadsRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { ShowAsCode } from "../../parts/code.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { GrantedThreads } from "./granted_threads.js";
import { type ThreadsFilter, useThreadCount, useThreads } from "./queries.js";
import { SelectableThreads } from "./selected_threads.js";

const TYPING_MS = 300;
const SORT_TITLES = {
  state_updated: "last step",
  updated: "last change",
  created: "creation",
  status: "status",
  size: "size",
  thread_id: "id",
} as const;

export function ThreadsPage({ route }: { route: ThreadsRoute }) {
  const { status, q, owner, sort = "state_updated", order } = route;
  const filter: ThreadsFilter = { status, q: q || undefined, owner, sort, order };
  const count = useThreadCount({ status, q: filter.q, owner });
  return (
    <>
      <header className="page-head">
        <h1>Threads</h1>
        {count === undefined ? null : (
          <span className="note">{counted(count, "thread", "threads")}</span>
        )}
        <ShowAsCode samples={samples(filter)} />
      </header>
      <Filters route={route} />
      {owner === undefined ? null : (
        <p className="note">
          Threads of the subject <Marked text={owner} />.{" "}
          <Link to={{ ...route, owner: undefined }}>Show all</Link>
        </p>
      )}
      <ThreadList filter={filter} />
    </>
  );
}

function samples(filter: ThreadsFilter) {
  const body = {
    ...filter,
    status: filter.status === undefined ? undefined : [filter.status],
    limit: 50,
  };
  return samplesOf(
    { method: "POST", path: "/v1/threads/search", body },
    {
      typescript: methodText("threads.search", { ...filter, limit: 50, include: ["preview"] }),
      python: pythonMethodText("threads.search", [], {
        ...filter,
        limit: 50,
        include: ["preview"],
      }),
    },
  );
}

function Filters({ route }: { route: ThreadsRoute }) {
  const change = (changes: Partial<ThreadsRoute>) => replaceRoute({ ...route, ...changes });
  const {
    status = "",
    sort = "state_updated",
    order = sort === "thread_id" ? "asc" : "desc",
  } = route;
  const ids = useId();
  return (
    <search className="filters">
      <QueryField value={route.q ?? ""} onChange={(q) => change({ q: q || undefined })} />
      <label htmlFor={`${ids}-status`}>Status</label>
      <select
        id={`${ids}-status`}
        value={status}
        onChange={({ target }) => change({ status: STATUSES.find((one) => one === target.value) })}
      >
        <option value="">any</option>
        {STATUSES.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <label htmlFor={`${ids}-sort`}>Sort by</label>
      <select
        id={`${ids}-sort`}
        value={sort}
        onChange={({ target }) =>
          change({ sort: SORTS.find((one) => one === target.value), order: undefined })
        }
      >
        {SORTS.map((one) => (
          <option key={one} value={one}>
            {SORT_TITLES[one]}
          </option>
        ))}
      </select>
      <select
        aria-label="Order"
        value={order}
        onChange={({ target }) => change({ order: ORDERS.find((one) => one === target.value) })}
      >
        <option value="desc">descending</option>
        <option value="asc">ascending</option>
      </select>
    </search>
  );
}

/** Asks when a person pauses. */
function QueryField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  useEffect(() => setText(value), [value]);
  useShortcut("/", () => field.current?.focus());
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => latest.current(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <span className="query-field">
      <Search aria-hidden />
      <input
        ref={field}
        type="search"
        aria-label="Part of a title, or the beginning of an id"
        placeholder="Title or id"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </span>
  );
}

function ThreadList({ filter }: { filter: ThreadsFilter }) {
  const { identity } = useApi();
  return mayList(identity, "threads") ? <FoundThreads filter={filter} /> : <GrantedThreads />;
}

function FoundThreads({ filter }: { filter: ThreadsFilter }) {
  const query = useThreads(filter);
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const threads = data.pages.flatMap((page) => page.threads);
  if (threads.length === 0)
    return <NoThreads isFiltered={Boolean(filter.q || filter.status || filter.owner)} />;
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <SelectableThreads threads={threads} onEnd={loadMore} />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

function NoThreads({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No thread meets the filter" />;
  return (
    <Empty title="There are no threads yet">
      <Link to={{ page: "connect" }}>Connect your first agent</Link>
    </Empty>
  );
}
