/** The console follows the threads: one stream for all tabs, none of a hidden one, and asking where it cannot follow. */

import type { Page, Response } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../support/waiting.js";
import { Stage } from "./stage.js";

const FEED = "/v1/threads/changes";
const TABS = 8;
let stage: Stage;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
  client = new Client({ url: stage.server.url });
  await client.threads.create({ threadId: "trip", title: "First title" });
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

/** Counts the event streams that the server holds open. */
async function openStreams(): Promise<number> {
  const metrics = await fetch(`${stage.server.url}/metrics`);
  const line = /^threadkeep_event_streams (\d+)$/m.exec(await metrics.text());
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

/** A page that follows the threads. */
async function followed(address: string) {
  let opening: Promise<Response> | undefined;
  const opened = await stage.page(address, undefined, (page) => {
    opening = page.waitForResponse((answer) => answer.url().endsWith(FEED));
  });
  expect((await opening)?.status()).toBe(200);
  return opened;
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
  const opened = await stage.page("#/threads", undefined, (page) => page.clock.install());
  const { page } = opened;
  await waitUntil(async () => (await openStreams()) === 1, "an open stream");
  await show(page, "hidden");
  await page.clock.fastForward(61_000);
  await waitUntil(async () => (await openStreams()) === 0, "the end of the stream");
  await rename("Changed while nobody looked");
  await show(page, "visible");
  await page.getByText("Changed while nobody looked").waitFor();
  await waitUntil(async () => (await openStreams()) === 1, "an open stream");
  await stage.expectQuiet(opened);
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
