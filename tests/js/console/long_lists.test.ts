/** Long lists in the console: few rows in the page and little memory, however far a person scrolls. */

import type { CDPSession, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Database } from "../support/database.js";
import { LIST_ROWS, PATIENCE_MS } from "../support/settings.js";
import { fillLists, NAMESPACES, THREAD } from "./long_lists.js";
import { Stage } from "./stage.js";

const ROWS_MAX = 120;
/** Pages that are scrolled, where a list has so many. */
const PAGES = 30;
/** After these the page has all its programs, and a list that drops pages has dropped some. */
const PAGES_FIRST = 6;
const FIRST_REQUESTS_MAX = 5;
/** Rows do not wait for these: how many there are, what changes, and the picture of the tab. */
const BESIDE = /\/v1\/threads\/(count|changes)$|\/icon-[^/]*\.svg$/;
const FIRST_BYTES_MAX = 190 * 1_024;
/** The heap may grow by so much over 24 pages of a list; the second limit is for a list that drops pages. */
const GROWTH_BYTES_MAX = 4 * 1_024 * 1_024;
const GROWTH_BYTES_DROPPED_MAX = 2 * 1_024 * 1_024;
const GROWTH_NODES_MAX = 300;
let stage: Stage;

beforeAll(async () => {
  const database = await Database.create("long_lists");
  stage = await Stage.open([], undefined, database.url);
  await fillLists(stage.server.url, database);
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

/** Scrolls down until this row is in the page. The most rows that were in it at one time. */
async function scrollUntil(page: Page, index: number): Promise<number> {
  return await page.evaluate(
    async ([wanted, patienceMs]) => {
      const until = performance.now() + patienceMs;
      let most = 0;
      for (;;) {
        const rows = Array.from(document.querySelectorAll<HTMLElement>("ul.rows > li"));
        most = Math.max(most, rows.length);
        if (Number(rows.at(-1)?.dataset["index"]) >= wanted) return most;
        if (performance.now() > until) throw new Error(`row ${wanted} did not come`);
        window.scrollTo(0, document.documentElement.scrollHeight);
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    },
    [index, PATIENCE_MS] as const,
  );
}

/** Bytes of what a page holds, and how many nodes. */
async function memory(session: CDPSession): Promise<{ bytes: number; nodes: number }> {
  // What the first one lets go of may hold more.
  for (const _ of [1, 2]) await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (name: string) => metrics.find((one) => one.name === name)?.value ?? Number.NaN;
  return { bytes: of("JSHeapUsedSize"), nodes: of("Nodes") };
}

interface List {
  address: string;
  rows: number;
  /** Of a page of the list. */
  pageRows: number;
  growthBytesMax: number;
}

const kept = { growthBytesMax: GROWTH_BYTES_MAX };
const folder = (labels: readonly string[]) => labels.join("/");
const LISTS: [name: string, list: List][] = [
  [
    "threads",
    { address: "#/threads?sort=thread_id", rows: LIST_ROWS.threads, pageRows: 50, ...kept },
  ],
  [
    "steps of a thread",
    {
      address: `#/threads/${THREAD}/timeline`,
      rows: LIST_ROWS.steps,
      pageRows: 200,
      growthBytesMax: GROWTH_BYTES_DROPPED_MAX,
    },
  ],
  [
    "files",
    {
      address: `#/files/ns/${folder(NAMESPACES.files)}?path=%2Fbig%2F`,
      rows: LIST_ROWS.files,
      pageRows: 1_000,
      ...kept,
    },
  ],
  [
    "items",
    {
      address: `#/store/${folder(NAMESPACES.items)}`,
      rows: LIST_ROWS.items,
      pageRows: 100,
      ...kept,
    },
  ],
];

it.each(LISTS)("a long list of %s", async (_name, list) => {
  const { address, rows, pageRows, growthBytesMax } = list;
  const opened = await stage.page(address);
  const { page } = opened;
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const last = Math.min(rows, PAGES * pageRows) - 1;
  const first = Math.min(last, PAGES_FIRST * pageRows);
  let most = await scrollUntil(page, first);
  const before = await memory(session);
  most = Math.max(most, await scrollUntil(page, last));
  const after = await memory(session);
  expect(most).toBeGreaterThan(5);
  expect(most).toBeLessThanOrEqual(ROWS_MAX);
  expect(after.bytes - before.bytes).toBeLessThanOrEqual(growthBytesMax);
  expect(after.nodes - before.nodes).toBeLessThanOrEqual(GROWTH_NODES_MAX);
  await stage.expectQuiet(opened);
});

interface Painting {
  firstRowAt?: number;
}

it("the first threads are shown after five requests and 190 KB, without a cache", async () => {
  const opened = await stage.page("#/threads?sort=thread_id", undefined, async (page) => {
    const session = await page.context().newCDPSession(page);
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    await page.addInitScript(() => {
      new MutationObserver((_, observer) => {
        if (document.querySelector(".thread-row") === null) return;
        (window as Painting).firstRowAt = performance.now();
        observer.disconnect();
      }).observe(document, { childList: true, subtree: true });
    });
  });
  const { page } = opened;
  await page.locator(".thread-row").first().waitFor();
  const loaded = await page.evaluate(() => {
    const { firstRowAt = 0 } = window as Painting;
    const all = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type));
    return (all as PerformanceResourceTiming[])
      .filter(({ startTime }) => startTime < firstRowAt)
      .map(({ name, transferSize }) => ({ path: new URL(name).pathname, bytes: transferSize }));
  });
  const needed = loaded.filter(({ path }) => !BESIDE.test(path));
  expect(needed.map(({ path }) => path)).toContain("/v1/threads/search");
  expect(needed.length).toBeLessThanOrEqual(FIRST_REQUESTS_MAX);
  const bytes = loaded.reduce((all, one) => all + one.bytes, 0);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(FIRST_BYTES_MAX);
  await stage.expectQuiet(opened);
});
