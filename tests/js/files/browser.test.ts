/**
 * What an agent wrote, opened in Chromium by somebody who has a cookie for the server: nothing of it runs, no cookie is reached,
 * nothing navigates. The two defences, being an attachment and the policy, are shown one without the other; and that what was
 * written would do all of it, without both.
 */

import type { APIResponse, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Browser } from "../support/chromium.js";
import { Server } from "../support/server.js";
import { hostileFiles, Trap } from "../support/trap.js";
import { sleep, waitUntil } from "../support/waiting.js";

const COOKIE = { name: "session", value: "a-secret-of-the-person" };
/** Longer than a page needs for what it does by itself once it has loaded. */
const SETTLING_MS = 500;
const HOST = "**/host";

// Without a key: what a browser opens by itself carries none. So the answers are the ones that it really gets.
const server = new Server();
const trap = await new Trap().start();
const FILES = hostileFiles(trap.url);
let browser: Browser;
const signed = new Map<string, string>();
/** Where each file is found. */
const ways = {
  content: (path: string) => `/v1/files/content?ns=default&ns=workspace&path=${path}`,
  "content, not as a download": (path: string) => `${ways.content(path)}&download=false`,
  "the drive": (path: string) => `/api/storage/download?path=${path}`,
  "a signed address": (path: string) => signed.get(path) ?? "",
};
const WAYS = Object.keys(ways) as (keyof typeof ways)[];

beforeAll(async () => {
  await server.start();
  for (const { path, mediaType, content } of FILES) {
    const headers = { "content-type": mediaType };
    const url = server.url + ways.content(path);
    expect((await fetch(url, { method: "PUT", headers, body: content })).status).toBe(200);
    // Without `download=true` an address asks for the file to be shown.
    const made = await fetch(`${server.url}/api/storage/url?path=${path}`);
    signed.set(path, ((await made.json()) as { url: string }).url);
  }
  browser = await Browser.open();
  await browser.context.addCookies([{ ...COOKIE, url: server.url }]);
});

afterEach(async () => {
  // The first one stays: without any a browser ends.
  for (const page of browser.context.pages().slice(1)) await page.close();
  trap.caught.length = 0;
});

afterAll(async () => {
  await browser.close();
  await server.remove();
  await trap.stop();
});

/** Answers of the server come without some of their headers. */
async function without(page: Page, names: string[]): Promise<void> {
  await page.route(`${server.url}/**`, async (route) => {
    const response: APIResponse = await route.fetch();
    const left = Object.entries(response.headers()).filter(([name]) => !names.includes(name));
    await route.fulfill({ response, headers: Object.fromEntries(left) });
  });
}

/** A page of the server's own origin, with the cookie, that shows a file in all ways in which a page shows another. */
async function openHost(page: Page, url: string): Promise<void> {
  const body = `<title>host</title><iframe src="${url}"></iframe><object data="${url}"></object>
    <embed src="${url}"><img src="${url}" alt="">`;
  const contentType = "text/html";
  await page.route(HOST, (route) => route.fulfill({ body, contentType }));
  await page.goto(server.url + HOST.slice(2), { waitUntil: "load" });
}

/** Nothing was caught, nothing opened, and the pages are what and where they were. */
async function nothingHappened(opened: { page: Page; at: string }[]): Promise<void> {
  await sleep(SETTLING_MS);
  expect(trap.caught).toEqual([]);
  expect(browser.context.pages().length).toBe(opened.length + 1);
  for (const { page, at } of opened) {
    expect(page.url()).toBe(at);
    for (const frame of page.frames()) {
      const seen = await frame.evaluate(() => document.documentElement.getAttribute("title"));
      expect(seen).not.toBe("ran");
    }
  }
  expect(await browser.context.cookies(server.url)).toMatchObject([COOKIE]);
}

describe.each(WAYS)("by way of %s", (way) => {
  it("nothing runs in a tab", async () => {
    const opening = FILES.map(async ({ path, isShown }) => {
      const page = await browser.context.newPage();
      const url = server.url + ways[way](path);
      const download = isShown ? undefined : page.waitForEvent("download");
      await page.goto(url, { waitUntil: "load" }).catch(() => undefined);
      // Kept and not shown: the page stays where it was.
      expect((await download)?.url()).toBe(isShown ? undefined : url);
      return { page, at: isShown ? url : "about:blank" };
    });
    await nothingHappened(await Promise.all(opening));
  });

  it("nothing runs in a page of the same origin", async () => {
    const opening = FILES.map(async ({ path }) => {
      const page = await browser.context.newPage();
      await openHost(page, server.url + ways[way](path));
      expect(await page.title()).toBe("host");
      return { page, at: server.url + HOST.slice(2) };
    });
    await nothingHappened(await Promise.all(opening));
  });

  it("the policy holds alone", async () => {
    const opening = FILES.map(async ({ path }) => {
      const page = await browser.context.newPage();
      await without(page, ["content-disposition"]);
      const url = server.url + ways[way](path);
      await page.goto(url, { waitUntil: "load" });
      const framing = await browser.context.newPage();
      await without(framing, ["content-disposition"]);
      await openHost(framing, url);
      return [
        { page, at: url },
        { page: framing, at: server.url + HOST.slice(2) },
      ];
    });
    await nothingHappened((await Promise.all(opening)).flat());
  });

  it("being an attachment holds alone", async () => {
    const opening = FILES.filter((it) => !it.isShown).map(async ({ path }) => {
      const page = await browser.context.newPage();
      await without(page, ["content-security-policy"]);
      const download = page.waitForEvent("download");
      await page.goto(server.url + ways[way](path)).catch(() => undefined);
      await download;
      return { page, at: "about:blank" };
    });
    await nothingHappened(await Promise.all(opening));
  });
});

// A control of the trap: on a busy machine one of its ways out may end the others before they begin.
const control = { retry: 2 };
it.each(["/report.html", "/picture.svg"])(
  "without both, %s would do it all",
  control,
  async (path) => {
    const page = await browser.context.newPage();
    await without(page, ["content-disposition", "content-security-policy"]);
    await page.goto(server.url + ways["the drive"](path), { waitUntil: "commit" });
    // Which of its ways out comes first is the browser's choice.
    const cookie = encodeURIComponent(`${COOKIE.name}=${COOKIE.value}`);
    const isStolen = (it: string) => it.startsWith(`${path}/`) && it.endsWith(`?cookie=${cookie}`);
    await waitUntil(() => trap.caught.some(isStolen), "the cookie in the trap");
    await waitUntil(() => page.url().startsWith(trap.url), "the page to be led away");
  },
);
