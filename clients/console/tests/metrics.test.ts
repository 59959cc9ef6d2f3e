/** The counts of the server: read from its text, made into rates and latencies, and into a bundle without anything of a person. */

import type { ServerInfo } from "threadkeep";
import { expect, it } from "vitest";
import { poolsIn } from "../src/app/database_pools.js";
import { samplesIn } from "../src/app/metrics_text.js";
import { latencyText } from "../src/app/route_table.js";
import { groupsIn, quantileOf, routesIn, routesSince } from "../src/app/server_metrics.js";
import { bundleText } from "../src/app/support_bundle.js";

const route = (status: string, counts: [number, number, number], seconds: number) => {
  const labels = `method="GET",route="/v1/threads/{id}",status="${status}"`;
  const name = "threadkeep_http_request_seconds";
  return [
    `${name}_bucket{${labels},le="0.01"} ${counts[0]}`,
    `${name}_bucket{${labels},le="0.1"} ${counts[1]}`,
    `${name}_bucket{${labels},le="+Inf"} ${counts[2]}`,
    `${name}_sum{${labels}} ${seconds}`,
    `${name}_count{${labels}} ${counts[2]}`,
  ].join("\n");
};
const TEXT = [
  "# HELP threadkeep_stale_threads text with {braces} 7",
  "# TYPE threadkeep_stale_threads gauge",
  "threadkeep_stale_threads 12",
  "",
  'threadkeep_body_bytes{turn="sender"} 2048',
  "threadkeep_object_store_failures_total 3 1769860800000",
  route("200", [50, 90, 100], 4.5),
  route("404", [10, 10, 10], 0.1),
  route("503", [0, 0, 2], 70),
].join("\n");

it("samples have their labels and numbers, and other lines are left out", () => {
  expect(samplesIn(TEXT).slice(0, 3)).toEqual([
    { name: "threadkeep_stale_threads", labels: new Map(), value: 12 },
    { name: "threadkeep_body_bytes", labels: new Map([["turn", "sender"]]), value: 2_048 },
    { name: "threadkeep_object_store_failures_total", labels: new Map(), value: 3 },
  ]);
  const escaped = samplesIn(
    'a{b="x\\"y\\\\z\\n, c=\\"d\\"}",__proto__="p"} +Inf\nb NaN\n<html>\nc',
  );
  expect(escaped).toEqual([
    {
      ...{ name: "a", value: Infinity },
      labels: new Map([
        ["b", 'x"y\\z\n, c="d"}'],
        ["__proto__", "p"],
      ]),
    },
  ]);
});

it("a route has the requests of all statuses, and how fast they were", () => {
  const counts = routesIn(samplesIn(TEXT)).get("GET /v1/threads/{id}");
  if (!counts) throw new Error("it is there");
  expect(counts).toMatchObject({ count: 112, refused: 10, failed: 2, seconds: 74.6 });
  // 60 of 112 within 10 ms, 100 within 100 ms, 12 later.
  expect(quantileOf(counts, 0.25)).toBeCloseTo(0.01 * (28 / 60));
  expect(quantileOf(counts, 0.8)).toBeCloseTo(0.01 + 0.09 * ((89.6 - 60) / 40));
  expect(quantileOf(counts, 0.99)).toBe(Infinity);
  expect(quantileOf({ ...counts, count: 0 }, 0.5)).toBeUndefined();
  expect([undefined, Infinity, 0.0123, 0.00012, 2.34].map(latencyText)).toEqual([
    ...["–", "over 30 s", "12 ms", "0.12 ms", "2.3 s"],
  ]);
});

it("what was counted since is the difference, and nothing where the counts began anew", () => {
  const before = routesIn(samplesIn(route("200", [1, 2, 3], 1)));
  const now = routesIn(samplesIn(`${route("200", [2, 4, 6], 3)}\n${route("500", [0, 0, 1], 1)}`));
  const since = routesSince(now, before)?.get("GET /v1/threads/{id}");
  expect(since).toMatchObject({ count: 4, failed: 1, seconds: 3 });
  expect(since?.buckets).toEqual(
    new Map([
      ...([
        [0.01, 1],
        [0.1, 2],
        [Infinity, 4],
      ] as const),
    ]),
  );
  expect(routesSince(before, now)).toBeUndefined();
  expect(routesSince(new Map(), now)).toBeUndefined();
  expect(routesSince(now, new Map())?.size).toBe(1);
});

it("totals are those of the features that the server has; what never happened is 0", () => {
  const titles = (features: object) =>
    groupsIn(samplesIn(TEXT), features as Record<string, unknown>).map(({ title }) => title);
  expect(titles({})).toEqual(["Queues", "Feeds", "Connections of clients"]);
  expect(titles({ object_store: true, redis: false })).toContain("Object store");
  const groups = groupsIn(samplesIn(TEXT), { object_store: true });
  const totals = groups.flatMap((group) => group.totals);
  const totalOf = (title: string) => totals.find((one) => one.title === title);
  expect(totalOf("Threads whose state is still to be derived")?.value).toBe(12);
  expect(totalOf("Bodies in memory that wait for the sender")).toMatchObject({
    ...{ value: 2_048, isBytes: true },
  });
  expect(totalOf("Failures")).toMatchObject({ value: 3, isFailure: true });
  expect(totalOf("Packs written")?.value).toBe(0);
});

it("pools have what is in use, free and waited for, and a pool that is new its own name", () => {
  const connections = (pool: string, state: string, value: number) =>
    `threadkeep_database_connections{pool="${pool}",state="${state}"} ${value}`;
  const text = [
    connections("data", "in_use", 3),
    connections("data", "idle", 1),
    connections("data", "max", 8),
    'threadkeep_database_waiting{pool="data"} 2',
    connections("later", "max", 4),
    'threadkeep_other{pool="data"} 9',
  ].join("\n");
  expect(poolsIn(samplesIn(text))).toEqual([
    { title: "Reads and writes", inUse: 3, idle: 1, max: 8, waiting: 2 },
    { title: "later", inUse: 0, idle: 0, max: 4, waiting: 0 },
  ]);
  expect(poolsIn(samplesIn(TEXT))).toEqual([]);
});

it("a support bundle has versions, limits and counts, and nothing of a person", () => {
  const info = {
    ...{ name: "threadkeep", version: "1.2.3", engine: "sqlite", keyless: false },
    startedAt: new Date("2026-01-31T12:00:00Z"),
    features: {
      ...{ redis: true, encryption: false, files_origin: "https://files.secret.test" },
      embeddings: { model: "secret-model", dims: 3 },
    },
  } as unknown as ServerInfo;
  const hostile = [
    'threadkeep_x_total{route="/v1/threads/secret thread"} 1',
    'threadkeep_x_total{tenant="secret-tenant"} 1',
    'other_total{route="/v1/x"} 1',
    'threadkeep_database_waiting{pool="data"} 2',
    'threadkeep_problems_total{code="internal"} 1',
    'threadkeep_queue_wait_seconds_count{queue="items",size="small"} 3',
  ].join("\n");
  const at = new Date("2026-01-31T13:00:00Z");
  const samples = samplesIn(`${TEXT}\n${hostile}`);
  const text = bundleText({ at, info, isReady: true, limits: { keep_last_max: 9 }, samples });
  expect(text).not.toMatch(/secret|other_total/);
  expect(JSON.parse(text)).toEqual({
    made_at: "2026-01-31T13:00:00.000Z",
    server: {
      ...{ version: "1.2.3", engine: "sqlite", keyless: false, is_ready: true },
      started_at: "2026-01-31T12:00:00.000Z",
    },
    features: { redis: true, encryption: false, files_origin: true, embeddings: true },
    limits: { keep_last_max: 9 },
    metrics: expect.arrayContaining([
      "threadkeep_stale_threads 12",
      'threadkeep_database_waiting{pool="data"} 2',
      'threadkeep_problems_total{code="internal"} 1',
      'threadkeep_queue_wait_seconds_count{queue="items",size="small"} 3',
      'threadkeep_http_request_seconds_count{method="GET",route="/v1/threads/{id}",status="503"} 2',
    ]),
  });
});
