/** How much the tenant keeps and may keep, its largest threads and namespaces, and the limits of the server. */

import { useId, useState } from "react";
import type { Usage } from "threadkeep";
import { methodText, samplesOf } from "../../api/snippets.js";
import { Allowed } from "../../parts/allowed.js";
import { ShowAsCode } from "../../parts/code.js";
import { Fact } from "../../parts/facts.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Size, sizeText, Time } from "../../parts/units.js";
import { ThreadList } from "../threads/thread_row.js";
import { useLargestNamespaces, useLargestThreads, useLimits, useUsage } from "./queries.js";

const SAMPLES = samplesOf(
  { method: "GET", path: "/v1/usage" },
  { typescript: methodText("usage"), python: "client.usage()" },
);
/** From here on a bar warns. */
const HIGH = 0.8;

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

function UsageView({ usage: { bytes, threads, items, measuredAt, quota } }: { usage: Usage }) {
  return (
    <>
      <ul className="bars">
        <Bar title="Bytes" used={bytes} max={quota.bytesMax} short={sizeText} />
        <Bar title="Threads" used={threads} max={quota.threadsMax} />
        <Bar title="Items" used={items} max={quota.itemsMax} />
      </ul>
      <dl className="facts">
        <Rate title="Requests a second, on each server" rate={quota.requestsPerSecond} />
        <Rate title="of each key and token" rate={quota.requestsPerSecondPerToken} />
        <Fact title="Measured">
          <Time at={measuredAt} />
        </Fact>
      </dl>
      <p className="note">
        Bytes count before compression and sharing. <code>threadkeep quotas set</code> changes the
        quota.
      </p>
    </>
  );
}

interface BarGiven {
  title: string;
  used: number;
  /** Absent: without end. */
  max: number | undefined;
  /** A shorter text of a number, beside the exact one. */
  short?: (count: number) => string;
}

function Bar({ title, used, max, short }: BarGiven) {
  const id = useId();
  const text = (count: number) =>
    short === undefined ? exact(count) : `${short(count)} (${exact(count)})`;
  return (
    <li>
      <strong id={id}>{title}</strong>{" "}
      <span>
        {text(used)}
        {max === undefined ? ", no limit" : ` of ${text(max)}, ${percent(used, max)}`}
      </span>
      {max === undefined ? null : (
        <meter
          aria-labelledby={id}
          min={0}
          max={Math.max(1, max)}
          low={max * HIGH}
          high={max * HIGH}
          optimum={0}
          value={Math.min(used, Math.max(1, max))}
        />
      )}
    </li>
  );
}

function Rate({ title, rate }: { title: string; rate: number | undefined }) {
  return <Fact title={title}>{rate === undefined ? "as the server is set up" : exact(rate)}</Fact>;
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

function exact(count: number): string {
  return count.toLocaleString("en");
}

function percent(used: number, max: number): string {
  if (max === 0) return "100%";
  return `${Math.round((used / max) * 1_000) / 10}%`;
}
