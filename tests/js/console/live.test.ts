/** The console follows threads, items and files: one stream of a kind for all tabs, none of a hidden one, and asking where it cannot follow. */

import type { Page, Response } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../support/waiting.js";
import { Requests } from "./acting.js";
import { Stage } from "./stage.js";

const FEED = "/v1/threads/changes";
const STORE_FEED = "/v1/store/changes";
const NOTES = ["ann", "notes"];
const TABS = 8;
let stage: Stage;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
  client = new Client({ url: stage.server.url });
  await client.threads.create({ threadId: "trip", title: "First title" });
  await client.store.put(NOTES, "first", { text: "as it was" });
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

/** Counts the event streams that the server holds open. */
async function openStreams(): Promise<number> {
  return await gauge("threadkeep_event_streams");
}

/** Counts those of the store. */
async function storeStreams(): Promise<number> {
  return await gauge("threadkeep_feed_followers");
}

async function gauge(name: string): Promise<number> {
  const metrics = await fetch(`${stage.server.url}/metrics`);
  const line = new RegExp(`^${name} (\\d+)$`, "m").exec(await metrics.text());
  return Number(line?.[1] ?? 0);
}

/** The paths of the calls that a page sends from now on. */
function callsOf(page: Page): string[] {
  const calls: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.includes("/v1/")) calls.push(pathname);
  });
  return calls;
}

/** A page that follows the threads, or the store. */
async function followed(
  address: string,
  feed = FEED,
  before: (page: Page) => Promise<void> | void = () => {},
) {
  let opening: Promise<Response> | undefined;
  const opened = await stage.page(address, undefined, (page) => {
    opening = page.waitForResponse((answer) => answer.url().endsWith(feed));
    return before(page);
  });
  expect((await opening)?.status()).toBe(200);
  return opened;
}

async function put(key: string): Promise<void> {
  await client.store.put(NOTES, key, { text: key });
}

async function rename(title: string): Promise<void> {
  await client.threads.update("trip", { title });
}

it("many tabs share one stream, and another tab takes it over", async () => {
  const pages = [];
  for (let at = 0; at < TABS; at += 1) pages.push(await stage.page("#/threads"));
  await waitUntil(async () => (await openStreams()) === 1, "one open stream");
  await rename("Seen by all");
  for (const { page } of pages) await page.getByText("Seen by all").first().waitFor();
  expect(await openStreams()).toBe(1);
  await pages[0]?.page.close();
  await rename("Seen by the others");
  for (const { page } of pages.slice(1)) {
    await page.getByText("Seen by the others").first().waitFor();
  }
  await waitUntil(async () => (await openStreams()) === 1, "one open stream again");
});

it("a hidden tab stops after a minute, and reads anew when it is shown again", async () => {
  let requests: Requests | undefined;
  const opened = await followed("#/threads", FEED, (made) => {
    requests = new Requests(made);
    return made.clock.install();
  });
  const { page } = opened;
  // The page would take a reading over which the clock jumps for one of a minute, and rest as long.
  await requests?.quiet();
  await show(page, "hidden");
  await page.clock.fastForward(61_000);
  await waitUntil(async () => (await openStreams()) === 0, "the end of the stream");
  await rename("Changed while nobody looked");
  await show(page, "visible");
  await page.getByText("Changed while nobody looked").waitFor();
  await waitUntil(async () => (await openStreams()) === 1, "an open stream");
  await stage.expectQuiet(opened);
});

it("tabs with items and files share one stream, which another tab takes over and the last one closes", async () => {
  const pages = [];
  const addresses = ["#/store/ann", "#/store/ann/notes", "#/files/ns/ann/notes"];
  for (let at = 0; at < TABS; at += 1) {
    const { page } = await stage.page(addresses[at % addresses.length]);
    pages.push(page);
  }
  await waitUntil(async () => (await storeStreams()) === 1, "one open stream");
  await client.files.write(NOTES, "/seen by all.md", "text");
  for (const page of pages) await page.getByText("seen by all.md").first().waitFor();
  expect(await storeStreams()).toBe(1);
  await pages[0]?.close();
  await client.files.write(NOTES, "/seen by the others.md", "text");
  for (const page of pages.slice(1)) {
    await page.getByText("seen by the others.md").first().waitFor();
  }
  await waitUntil(async () => (await storeStreams()) === 1, "one open stream again");
  // No view of items or files is left.
  for (const page of pages.slice(1)) await stage.go(page, "#/sessions");
  await waitUntil(async () => (await storeStreams()) === 0, "the end of the stream");
  expect(await openStreams()).toBe(1);
});

it("going from view to view keeps the stream of the store", async () => {
  const asked: string[] = [];
  const { page } = await stage.page("#/store/ann/notes", undefined, (made) => {
    made.on("request", (request) => asked.push(new URL(request.url()).pathname));
  });
  const opened = () => asked.filter((path) => path === STORE_FEED).length;
  await waitUntil(() => opened() === 1, "an open stream");
  for (const [address, shown] of [
    ["#/store/ann/notes?key=first", "as it was"],
    ["#/files", "Drive"],
    ["#/snapshots", "Snapshots"],
    ["#/store/ann/notes", "first"],
  ] as const) {
    await stage.go(page, address);
    await page.locator("main").getByText(shown).first().waitFor();
  }
  expect(opened()).toBe(1);
});

it("a hidden tab stops following the store, and reads anew when it is shown again", async () => {
  let requests: Requests | undefined;
  const opened = await followed("#/store/ann/notes", STORE_FEED, (made) => {
    requests = new Requests(made);
    return made.clock.install();
  });
  const { page } = opened;
  await requests?.quiet();
  await show(page, "hidden");
  await page.clock.fastForward(61_000);
  await waitUntil(async () => (await storeStreams()) === 0, "the end of the stream");
  await put("put while nobody looked");
  await show(page, "visible");
  await page.getByText("put while nobody looked").waitFor();
  await waitUntil(async () => (await storeStreams()) === 1, "an open stream");
  await stage.expectQuiet(opened);
});

it("asks for items from time to time where the stream of the store cannot be opened", async () => {
  let calls: string[] = [];
  const { page } = await stage.page("#/store/ann/notes", undefined, async (made) => {
    calls = callsOf(made);
    await made.route(`**${STORE_FEED}*`, (route) => route.abort());
  });
  await page.getByText("first").first().waitFor();
  await put("seen by asking");
  await page.getByText("seen by asking").first().waitFor();
  expect(calls.filter((path) => path === "/v1/store/search").length).toBeGreaterThan(1);
});

it("asks from time to time where the stream cannot be opened", async () => {
  let calls: string[] = [];
  const { page } = await stage.page("#/threads/trip", undefined, async (made) => {
    calls = callsOf(made);
    await made.route(`**${FEED}*`, (route) => route.abort());
  });
  await page.locator("h1").first().waitFor();
  await rename("Seen by asking");
  await page.getByText("Seen by asking").first().waitFor();
  expect(calls.filter((path) => path === "/v1/threads/get").length).toBeGreaterThan(1);
});

it("goes on after the server was killed", async () => {
  const { page } = await followed("#/threads");
  await stage.server.stop("SIGKILL");
  await stage.server.start();
  await client.threads.create({ threadId: "after the restart" });
  await page.getByText("after the restart").first().waitFor();
});

/** As if a person had gone to another tab. */
async function show(page: Page, state: "visible" | "hidden"): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, "visibilityState", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
}
