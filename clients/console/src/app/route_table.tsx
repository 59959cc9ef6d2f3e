/** Requests by route: how many, how fast, and how many failed. */

import { useId, useState } from "react";
import { counted } from "../content/json_tree.js";
import { Empty } from "../parts/states.js";
import { Table } from "../parts/table.js";
import {
  type Measured,
  quantileOf,
  type RouteCounts,
  routesIn,
  routesSince,
} from "./server_metrics.js";

const SHOWN = 15;
const HEADS = [
  ...["Route", "Requests", "A second now"],
  ...["Half within", "95% within", "99% within", "4xx", "5xx"],
];

interface Given {
  now: Measured;
  before: Measured | undefined;
  startedAt: Date | undefined;
}

export function RouteTable({ now, before, startedAt }: Given) {
  const [isWhole, setIsWhole] = useState(false);
  const title = useId();
  const all = routesIn(now.samples);
  const rows = [...all].sort(([, a], [, b]) => b.count - a.count);
  if (rows.length === 0) return <Empty title="The server has answered no request yet" />;
  const recent = before && routesSince(all, routesIn(before.samples));
  const recentSeconds = before === undefined ? 0 : (now.at - before.at) / 1_000;
  const upSeconds = startedAt === undefined ? 0 : (now.at - startedAt.getTime()) / 1_000;
  const shown = isWhole ? rows : rows.slice(0, SHOWN);
  return (
    <>
      <p id={title}>
        {recent && recentSeconds > 0
          ? `${rateText(sumOf(recent), recentSeconds)} in the last ${Math.round(recentSeconds)} seconds; `
          : ""}
        {upSeconds > 0 ? `${rateText(sumOf(all), upSeconds)} since the start; ` : ""}
        {counted(sumOf(all), "request", "requests")} together.
      </p>
      <Table labelledBy={title} heads={HEADS}>
        {shown.map(([key, counts]) => (
          <RouteRow
            key={key}
            counts={counts}
            perSecond={perSecond(recent?.get(key), recentSeconds)}
          />
        ))}
      </Table>
      {isWhole || rows.length <= SHOWN ? null : (
        <button type="button" className="button" onClick={() => setIsWhole(true)}>
          Show all {rows.length} routes
        </button>
      )}
    </>
  );
}

function RouteRow({ counts, perSecond }: { counts: RouteCounts; perSecond: string }) {
  const { method, route, count, refused, failed } = counts;
  return (
    <tr>
      <th scope="row">
        <code>
          {method} {route}
        </code>
      </th>
      <td>{count.toLocaleString("en")}</td>
      <td>{perSecond}</td>
      {[0.5, 0.95, 0.99].map((share) => (
        <td key={share}>{latencyText(quantileOf(counts, share))}</td>
      ))}
      <td>{refused.toLocaleString("en")}</td>
      <td>
        {failed === 0 ? (
          0
        ) : (
          <span className="badge badge-error">{failed.toLocaleString("en")}</span>
        )}
      </td>
    </tr>
  );
}

function sumOf(routes: ReadonlyMap<string, RouteCounts>): number {
  return [...routes.values()].reduce((all, { count }) => all + count, 0);
}

function rateText(count: number, seconds: number): string {
  return `${rounded(count / seconds)} requests a second`;
}

function perSecond(counts: RouteCounts | undefined, seconds: number): string {
  return counts === undefined || seconds <= 0 ? "–" : rounded(counts.count / seconds);
}

function rounded(rate: number): string {
  return rate.toLocaleString("en", { maximumFractionDigits: rate < 10 ? 2 : 0 });
}

/** Returns a time of the buckets, which are no more exact than two digits. */
export function latencyText(seconds: number | undefined): string {
  if (seconds === undefined) return "–";
  if (seconds === Infinity) return "over 30 s";
  if (seconds >= 1) return `${Number(seconds.toPrecision(2))} s`;
  return `${Number((seconds * 1_000).toPrecision(2))} ms`;
}
