/** Derives rates and latencies by route, and totals, from the counts of the server. */

import type { Sample } from "./metrics_text.js";

const SECONDS = "threadkeep_http_request_seconds";

/** The samples of one answer. */
export interface Measured {
  at: number;
  samples: readonly Sample[];
}

/** The requests of one route, of all statuses together. */
export interface RouteCounts {
  method: string;
  route: string;
  count: number;
  /** Answered 4xx. */
  refused: number;
  /** Answered 5xx. */
  failed: number;
  seconds: number;
  /** How many took at most so many seconds. */
  buckets: ReadonlyMap<number, number>;
}

/** Returns the counts of each route that was called, by method and route. */
export function routesIn(samples: readonly Sample[]): Map<string, RouteCounts> {
  const found = new Map<string, RouteCounts & { buckets: Map<number, number> }>();
  for (const { name, labels, value } of samples) {
    if (!name.startsWith(`${SECONDS}_`)) continue;
    const [method = "", route = ""] = [labels.get("method"), labels.get("route")];
    const key = `${method} ${route}`;
    const empty = { count: 0, refused: 0, failed: 0, seconds: 0 };
    const counts = found.get(key) ?? { method, route, ...empty, buckets: new Map() };
    found.set(key, counts);
    const end = name.slice(SECONDS.length + 1);
    if (end === "sum") counts.seconds += value;
    if (end === "count") {
      const status = labels.get("status") ?? "";
      counts.count += value;
      if (status.startsWith("4")) counts.refused += value;
      if (status.startsWith("5")) counts.failed += value;
    }
    if (end === "bucket") {
      const most = labels.get("le") === "+Inf" ? Infinity : Number(labels.get("le"));
      counts.buckets.set(most, (counts.buckets.get(most) ?? 0) + value);
    }
  }
  return found;
}

/** Returns what was counted since; undefined where the counts began anew: another server answered, or it was restarted. */
export function routesSince(
  now: ReadonlyMap<string, RouteCounts>,
  before: ReadonlyMap<string, RouteCounts>,
): Map<string, RouteCounts> | undefined {
  const since = new Map<string, RouteCounts>();
  for (const [key, { count }] of before) {
    if ((now.get(key)?.count ?? 0) < count) return undefined;
  }
  for (const [key, counts] of now) {
    const old = before.get(key);
    since.set(key, old === undefined ? counts : minus(counts, old));
  }
  return since;
}

function minus(counts: RouteCounts, old: RouteCounts): RouteCounts {
  return {
    ...counts,
    count: counts.count - old.count,
    refused: counts.refused - old.refused,
    failed: counts.failed - old.failed,
    seconds: counts.seconds - old.seconds,
    buckets: new Map(
      Array.from(counts.buckets, ([most, value]) => [most, value - (old.buckets.get(most) ?? 0)]),
    ),
  };
}

/** Returns the seconds within which this share of the requests was answered, about; Infinity beyond the last bucket. */
export function quantileOf({ buckets, count }: RouteCounts, share: number): number | undefined {
  if (count === 0) return undefined;
  const rank = share * count;
  let [below, most] = [0, 0];
  for (const [end, upTo] of [...buckets].sort(([a], [b]) => a - b)) {
    if (upTo >= rank && upTo > below) {
      if (end === Infinity) return Infinity;
      return most + ((end - most) * (rank - below)) / (upTo - below);
    }
    [below, most] = [upTo, end];
  }
  return undefined;
}

/** One total. What has never happened since the server started is not in its text, and is 0. */
export interface Total {
  title: string;
  value: number;
  isBytes: boolean;
  /** More than 0 needs a look. */
  isFailure: boolean;
}

export interface Group {
  title: string;
  totals: Total[];
}

interface Known {
  name: string;
  title: string;
  /** The total of one value of a label. */
  label?: readonly [name: string, value: string];
  isBytes?: boolean;
  isFailure?: boolean;
}

interface KnownGroup {
  title: string;
  /** The feature of the server without which nothing of it happens. */
  feature?: string;
  totals: readonly Known[];
}

const GROUPS: readonly KnownGroup[] = [
  {
    title: "Queues",
    totals: [
      { name: "threadkeep_stale_threads", title: "Threads whose state is still to be derived" },
      ...["receiver", "sender", "server"].map((turn) => ({
        ...{ name: "threadkeep_body_bytes", label: ["turn", turn] as const, isBytes: true },
        title: `Bodies in memory that wait for the ${turn}`,
      })),
      { name: "threadkeep_batch_commands_count", title: "Batches of commits" },
      { name: "threadkeep_batch_commands_sum", title: "Commits in them" },
      { name: "threadkeep_item_batch_commands_count", title: "Batches of items" },
      { name: "threadkeep_item_batch_commands_sum", title: "Writes of items in them" },
      { name: "threadkeep_session_batch_commands_count", title: "Batches of sessions" },
      { name: "threadkeep_session_batch_commands_sum", title: "Writes of sessions in them" },
    ],
  },
  {
    title: "Feeds",
    totals: [
      { name: "threadkeep_feed_followers", title: "Followers of items" },
      { name: "threadkeep_event_streams", title: "Open streams of events" },
    ],
  },
  {
    title: "Connections of clients",
    totals: [
      { name: "threadkeep_connections_turned_away_total", title: "Turned away: too many" },
      { name: "threadkeep_connections_turned_out_total", title: "Ended: nobody logged in" },
      { name: "threadkeep_connections_cut_off_total", title: "Ended: nothing was taken" },
      { name: "threadkeep_bodies_ended_total", title: "Bodies ended: no room left" },
    ],
  },
  {
    title: "Object store",
    feature: "object_store",
    totals: [
      { name: "threadkeep_object_store_failures_total", title: "Failures", isFailure: true },
      { name: "threadkeep_packs_written_total", title: "Packs written" },
      { name: "threadkeep_packed_bytes_total", title: "Written to packs", isBytes: true },
      { name: "threadkeep_pack_bytes_read_total", title: "Read from packs", isBytes: true },
      { name: "threadkeep_objects_deleted_total", title: "Objects deleted" },
    ],
  },
  {
    title: "Redis",
    feature: "redis",
    totals: [
      { name: "threadkeep_redis_failures_total", title: "Failures", isFailure: true },
      { name: "threadkeep_redis_hits_total", title: "Found" },
      { name: "threadkeep_redis_misses_total", title: "Not found" },
    ],
  },
];

/** Returns the totals of the features that the server has, in groups. */
export function groupsIn(
  samples: readonly Sample[],
  features: Readonly<Record<string, unknown>>,
): Group[] {
  const has = ({ feature }: KnownGroup) => feature === undefined || Boolean(features[feature]);
  return GROUPS.filter(has).map(({ title, totals }) => ({
    title,
    totals: totals.map((known) => ({
      title: known.title,
      value: totalOf(samples, known),
      isBytes: known.isBytes === true,
      isFailure: known.isFailure === true,
    })),
  }));
}

function totalOf(samples: readonly Sample[], { name, label }: Known): number {
  return samples
    .filter((one) => one.name === name && (!label || one.labels.get(label[0]) === label[1]))
    .reduce((all, { value }) => all + value, 0);
}
