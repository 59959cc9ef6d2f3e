/** How much the tenant keeps and may keep, its largest threads and namespaces, and the limits of the server. */

import { useId, useState } from "react";
import { methodText, samplesOf } from "../../api/snippets.js";
import { Allowed } from "../../parts/allowed.js";
import { ShowAsCode } from "../../parts/code.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Size, sizeText, Time } from "../../parts/units.js";
import { ThreadList } from "../threads/thread_row.js";
import { useLargestNamespaces, useLargestThreads, useLimits, useUsage } from "./queries.js";
import { exact, UsageView } from "./usage_view.js";

const SAMPLES = samplesOf(
  { method: "GET", path: "/v1/usage" },
  { typescript: methodText("usage"), python: "client.usage()" },
);

export default function UsagePage() {
  return (
    <>
      <header className="page-head">
        <h1>Usage</h1>
        <ShowAsCode samples={SAMPLES} />
      </header>
      <Allowed needs={[{ operation: "get_usage" }]}>
        <UsageOfTenant />
      </Allowed>
      <LargestThreads />
      <LargestNamespaces />
      <h2>Limits of the server</h2>
      <Limits />
    </>
  );
}

function UsageOfTenant() {
  const { data, error, refetch } = useUsage();
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <UsageView usage={data} />
      <p className="note">
        Bytes count before compression and sharing. <code>threadkeep quotas set</code> changes the
        quota, and so does an operator.
      </p>
    </>
  );
}

/** Absent where the credential lists no threads. */
function LargestThreads() {
  const { data: threads, error, refetch } = useLargestThreads();
  if (error && !threads) return <Failure error={error} retry={() => void refetch()} />;
  if (threads === undefined || threads.length === 0) return null;
  return (
    <section>
      <h2>Largest threads</h2>
      <ThreadList threads={threads} />
      <Link to={{ page: "threads", sort: "size" }}>Threads by size</Link>
    </section>
  );
}

/** Absent where the credential lists no namespaces. */
function LargestNamespaces() {
  const { data: namespaces, error, refetch } = useLargestNamespaces();
  const id = useId();
  if (error && !namespaces) return <Failure error={error} retry={() => void refetch()} />;
  if (namespaces === undefined || namespaces.length === 0) return null;
  return (
    <section>
      <h2 id={id}>Largest namespaces</h2>
      <Table labelledBy={id} heads={["Namespace", "Items", "Size", "Changed"]}>
        {namespaces.map(({ namespace, items, sizeBytes, updatedAt }) => (
          <tr key={JSON.stringify(namespace)}>
            <td>
              <Link to={{ page: "store", namespace }}>
                <Marked text={namespace.join(" / ")} />
              </Link>
            </td>
            <td>{exact(items)}</td>
            <td>
              <Size bytes={sizeBytes} />
            </td>
            <td>{updatedAt ? <Time at={updatedAt} /> : null}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

function Limits() {
  const { data, error, refetch } = useLimits();
  const [part, setPart] = useState("");
  const id = useId();
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const wanted = part.trim().toLowerCase();
  const found = Object.entries(data).filter(([name]) => name.includes(wanted));
  return (
    <>
      <search className="filters">
        <label htmlFor={id}>Part of the name</label>
        <input
          id={id}
          type="search"
          value={part}
          onChange={({ target }) => setPart(target.value)}
        />
      </search>
      {found.length === 0 ? <Empty title="No limit has this in its name" /> : null}
      <dl className="limits">
        {found.map(([name, limit]) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              {exact(limit)}
              {/_bytes(_|$)/.test(name) && limit >= 1_024 ? ` (${sizeText(limit)})` : ""}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
