/** How much the console loads and shows: behind a prefix, with few requests, and few rows of a long list. */

import { Client } from "threadkeep";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Browser } from "../support/chromium.js";
import { proxyOf } from "../support/prefix_proxy.js";
import { Server } from "../support/server.js";
import { plan } from "./agents.js";

const THREADS = 400;
const ROWS_MAX = 120;
const REQUESTS_MAX = 5;
const FIRST_BYTES_MAX = 190 * 1_024;
let server: Server;
let browser: Browser;

beforeAll(async () => {
  server = await new Server().start();
  browser = await Browser.open();
  const client = new Client({ url: server.url });
  for (let at = 0; at < THREADS; at += 50) {
    const ids = Array.from({ length: 50 }, (_, n) => `thread-${String(at + n).padStart(4, "0")}`);
    await Promise.all(
      ids.map((threadId) => client.threads.create({ threadId, title: `Title of ${threadId}` })),
    );
  }
  await plan({ url: server.url }, "trip");
});

afterAll(async () => {
  await browser.close();
  await server.remove();
});

it("works behind a prefix of a proxy", async () => {
  const proxy = await proxyOf(server.url, "/some/prefix");
  const { page, errors } = await browser.page();
  // The address of the server leads to the console, with what is behind the `#`.
  await page.goto(`${proxy.url}/#/threads/trip`);
  await page.getByRole("heading", { name: "Plan a trip by boat" }).waitFor();
  await page.getByRole("button", { name: "Show as code" }).click();
  await page.getByRole("tab", { name: "curl" }).click();
  await expect
    .poll(() => page.locator("dialog code").last().innerText())
    .toContain("/some/prefix/v1/checkpoints/values");
  expect(errors).toEqual([]);
  await proxy.stop();
});

it("shows the first list after few requests", async () => {
  const { page } = await browser.page();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${server.url}/console/#/threads?sort=thread_id`);
  await page.getByText("Title of thread-0000").waitFor();
  // What is shown is read again once the stream of changes is open: then nothing was missed.
  const paths = new Set(asked.map((url) => new URL(url).pathname));
  const scripts = [...paths].filter((path) => /\.(js|css)$/.test(path));
  expect([...paths].filter((path) => path.includes("/v1/")).sort()).toEqual([
    "/v1/threads/changes",
    "/v1/threads/count",
    "/v1/threads/search",
    "/v1/whoami",
  ]);
  // Shared chunks are named by the page, so they come together.
  expect(paths.size - scripts.length).toBeLessThanOrEqual(REQUESTS_MAX + 1);
  const loaded = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .filter((one) => one.name.includes("/v1/"))
      .reduce((all, one) => all + (one as PerformanceResourceTiming).transferSize, 0),
  );
  expect(loaded).toBeLessThanOrEqual(FIRST_BYTES_MAX);
});

it("has few rows of a long list in the page, and reaches its end", async () => {
  const { page } = await browser.page();
  await page.goto(`${server.url}/console/#/threads?sort=thread_id`);
  await page.getByText("Title of thread-0000").waitFor();
  const last = page.getByText(`Title of thread-0${THREADS - 1}`);
  let rows = 0;
  await expect
    .poll(async () => {
      rows = Math.max(rows, await page.locator(".thread-row").count());
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      return await last.count();
    })
    .toBe(1);
  expect(rows).toBeLessThanOrEqual(ROWS_MAX);
});
