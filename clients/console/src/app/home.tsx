/** The first page: what waits for a person, what is new, and what the tenant uses. */

import type { Usage } from "threadkeep";
import { mayList } from "../api/capabilities.js";
import { useApi } from "../api/context.js";
import { hasWholeTenant, maySee } from "../api/grants.js";
import { SERVER_URL } from "../api/server.js";
import { counted } from "../content/json_tree.js";
import { useUsage } from "../nouns/tenants/queries.js";
import { GrantedThreads } from "../nouns/threads/granted_threads.js";
import { useThreadCount, useThreads } from "../nouns/threads/queries.js";
import { ThreadList } from "../nouns/threads/thread_row.js";
import { Fact } from "../parts/facts.js";
import { Link } from "../parts/link.js";
import { Empty, Failure, Loading } from "../parts/states.js";
import { Size, Time } from "../parts/units.js";
import { engineName, useInfo } from "./info.js";

const SHOWN = 8;
const NEWEST = { sort: "state_updated", order: "desc" } as const;

export function HomePage() {
  const { identity } = useApi();
  return (
    <>
      <header className="page-head">
        <h1>Home</h1>
      </header>
      {mayList(identity, "threads") ? (
        <ThreadsOfHome />
      ) : maySee(identity, "threads") ? (
        <GrantedThreads />
      ) : null}
      {hasWholeTenant(identity) ? <UsageOfHome /> : null}
      <ServerOfHome />
    </>
  );
}

/** An older server does not tell its version. */
function ServerOfHome() {
  const { identity } = useApi();
  const { data } = useInfo();
  return (
    <p className="note">
      Server <code>{SERVER_URL}</code>, tenant <code>{identity.tenant}</code>
      {data === undefined ? "" : `, threadkeep ${data.version}`}
      {data?.engine === undefined ? "" : ` on ${engineName(data.engine)}`}
    </p>
  );
}

function ThreadsOfHome() {
  const waiting = useThreadCount({ status: "interrupted" });
  const { data, error, refetch } = useThreads(NEWEST);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const threads = data.pages.flatMap((page) => page.threads).slice(0, SHOWN);
  if (threads.length === 0) {
    return (
      <Empty title="The server keeps no threads of this tenant yet">
        <Link to={{ page: "connect" }}>Connect your first agent</Link>
      </Empty>
    );
  }
  return (
    <>
      <section aria-label="Waiting">
        {waiting ? (
          <p className="callout">
            <Link to={{ page: "inbox" }}>
              {counted(waiting, "thread waits", "threads wait")} for a person
            </Link>
          </p>
        ) : (
          <p className="note">No thread waits for a person.</p>
        )}
      </section>
      <section>
        <h2>Newest threads</h2>
        <ThreadList threads={threads} />
        <Link to={{ page: "threads" }}>All threads</Link>
      </section>
    </>
  );
}

function UsageOfHome() {
  const { data, error, refetch } = useUsage();
  return (
    <section>
      <h2>Usage</h2>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {data ? <UsageTable usage={data} /> : error ? null : <Loading />}
      <Link to={{ page: "usage" }}>Usage and limits</Link>{" "}
      <Link to={{ page: "retention" }}>Retention</Link>{" "}
      <Link to={{ page: "health" }}>Health of the server</Link>
    </section>
  );
}

function UsageTable({ usage: { bytes, threads, items, measuredAt, quota } }: { usage: Usage }) {
  return (
    <dl className="facts">
      <Fact title="Stored">
        <Size bytes={bytes} />
        {quota.bytesMax === undefined ? null : (
          <>
            {" "}
            of <Size bytes={quota.bytesMax} />
          </>
        )}
      </Fact>
      <Counted title="Threads" count={threads} max={quota.threadsMax} />
      <Counted title="Items" count={items} max={quota.itemsMax} />
      <Fact title="Measured">
        <Time at={measuredAt} />
      </Fact>
    </dl>
  );
}

function Counted({ title, count, max }: { title: string; count: number; max: number | undefined }) {
  return (
    <Fact title={title}>
      {count.toLocaleString("en")}
      {max === undefined ? "" : ` of ${max.toLocaleString("en")}`}
    </Fact>
  );
}
