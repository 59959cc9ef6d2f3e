/** Health: whether the server is ready, what it is, how fast it answers, and what it counts. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { NotFoundError, type ServerInfo } from "threadkeep";
import { useApi } from "../api/context.js";
import { methodText, samplesOf } from "../api/snippets.js";
import { useLimits } from "../nouns/tenants/queries.js";
import { Allowed } from "../parts/allowed.js";
import { ShowAsCode } from "../parts/code.js";
import { CopyButton, DownloadButton } from "../parts/copy.js";
import { Fact } from "../parts/facts.js";
import { Empty, Failure, Loading } from "../parts/states.js";
import { sizeText, Time } from "../parts/units.js";
import { DatabasePools } from "./database_pools.js";
import { engineName, useInfo } from "./info.js";
import { LIST_MS } from "./live.js";
import { type Sample, samplesIn } from "./metrics_text.js";
import { RouteTable } from "./route_table.js";
import { type Group, groupsIn, type Measured } from "./server_metrics.js";
import { bundleText } from "./support_bundle.js";

const READY_WITHIN_MS = 4_000;
const SAMPLES = samplesOf(
  { method: "GET", path: "/metrics", isText: true },
  { typescript: methodText("metrics") },
);

export function HealthPage() {
  return (
    <>
      <header className="page-head">
        <h1>Health</h1>
        <ShowAsCode samples={SAMPLES} />
      </header>
      <ServerFacts />
      <Allowed needs={[{ operation: "get_metrics" }]}>
        <Metrics />
      </Allowed>
    </>
  );
}

/** Whether the server can serve; its reason where it cannot. */
function useReady() {
  const { client } = useApi();
  return useQuery({
    queryKey: ["ready"],
    queryFn: async ({ signal }) => {
      try {
        await client.ready({ timeoutMs: READY_WITHIN_MS, signal });
        return { isReady: true };
      } catch (error) {
        return { isReady: false, error };
      }
    },
    refetchInterval: LIST_MS,
  });
}

/** The counts of the server, now and when they were asked for before. */
function useMetrics() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useQuery({
    queryKey: ["metrics"],
    queryFn: async ({ signal }) => {
      const samples = samplesIn(await client.metrics({ signal }));
      const last = queries.getQueryData<{ now: Measured }>(["metrics"]);
      return { now: { at: Date.now(), samples }, before: last?.now };
    },
    refetchInterval: LIST_MS,
    structuralSharing: false,
  });
}

function ServerFacts() {
  const info = useInfo();
  const ready = useReady().data;
  if (info.error && !info.data) {
    return <Failure error={info.error} retry={() => void info.refetch()} />;
  }
  return (
    <>
      <dl className="facts">
        <Fact title="State">
          <span role="status">
            {ready === undefined ? "…" : ready.isReady ? "Ready" : "Not ready"}
          </span>
        </Fact>
        {info.data ? <InfoFacts info={info.data} /> : null}
      </dl>
      {ready?.isReady === false ? <Failure error={ready.error} /> : null}
    </>
  );
}

function InfoFacts({ info }: { info: ServerInfo }) {
  const { version, engine, startedAt, keyless, features = {} } = info;
  return (
    <>
      <Fact title="Version">{version}</Fact>
      <Fact title="Database">{engineName(engine)}</Fact>
      <Fact title="Started">
        <Time at={startedAt} />
      </Fact>
      <Fact title="Local programs">{keyless ? "need no key" : "need a key"}</Fact>
      {Object.entries(features).map(([name, value]) => (
        <Fact key={name} title={name.replaceAll("_", " ")}>
          {featureText(value)}
        </Fact>
      ))}
    </>
  );
}

/** `true`, a name, a list of names, or what describes a model. */
function featureText(value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (value === null || value === undefined) return "off";
  if (Array.isArray(value)) return value.length === 0 ? "off" : value.join(", ");
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, part]) => `${name} ${String(part)}`)
    .join(", ");
}

function Metrics() {
  const { data, error, refetch } = useMetrics();
  const info = useInfo().data;
  if (error && !data) {
    if (error instanceof NotFoundError) {
      return (
        <Empty title="The server shows its metrics on an address of its own">
          It was started with <code>--metrics-listen</code>.
        </Empty>
      );
    }
    return <Failure error={error} retry={() => void refetch()} />;
  }
  if (!data) return <Loading />;
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <p className="note">
        The server that answered counts since it started, for all tenants together. Asked for every{" "}
        {LIST_MS / 1_000} seconds.
      </p>
      <h2>Requests</h2>
      <RouteTable now={data.now} before={data.before} startedAt={info?.startedAt} />
      <DatabasePools samples={data.now.samples} />
      {groupsIn(data.now.samples, info?.features ?? {}).map((group) => (
        <Totals key={group.title} group={group} />
      ))}
      {info ? <SupportBundle info={info} samples={data.now.samples} /> : null}
    </>
  );
}

function Totals({ group: { title, totals } }: { group: Group }) {
  return (
    <section>
      <h2>{title}</h2>
      <dl className="limits">
        {totals.map(({ title: name, value, isBytes, isFailure }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {isFailure && value > 0 ? (
                <span className="badge badge-error">{value.toLocaleString("en")}</span>
              ) : isBytes ? (
                sizeText(value)
              ) : (
                value.toLocaleString("en")
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function SupportBundle({ info, samples }: { info: ServerInfo; samples: Sample[] }) {
  const limits = useLimits();
  const isReady = useReady().data?.isReady === true;
  const [at] = useState(() => new Date());
  if (limits.error && !limits.data) {
    return <Failure error={limits.error} retry={() => void limits.refetch()} />;
  }
  if (!limits.data) return <Loading />;
  const { data } = limits;
  const text = () => bundleText({ at: new Date(), info, isReady, limits: data, samples });
  return (
    <section>
      <h2>Support bundle</h2>
      <p>
        Versions, limits and counts for a bug report, as JSON. It has no contents, no names, no ids,
        no addresses and no credential.
      </p>
      <div className="toolbar">
        <CopyButton text={text} what="a support bundle" isLabelled />
        <DownloadButton
          bytes={text}
          name={`threadkeep support ${at.toISOString().slice(0, 10)}.json`}
        />
      </div>
    </section>
  );
}
