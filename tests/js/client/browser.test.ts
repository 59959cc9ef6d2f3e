/** The native client in Chromium, from another origin and without `crypto.randomUUID` and `crypto.subtle`, as on a page of plain http. */

import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkpoint, put } from "../support/checkpoints.js";
import { Browser } from "../support/chromium.js";
import { ScriptPage } from "../support/script_page.js";
import { newKey, Server } from "../support/server.js";
import { waitUntil } from "../support/waiting.js";

let browser: Browser;
let server: Server;
let page: ScriptPage;

beforeAll(async () => {
  page = await ScriptPage.serve(new URL("console_page.ts", import.meta.url));
  server = await new Server(undefined, ["--cors-origin", page.url]).start();
  browser = await Browser.open();
});

afterAll(async () => {
  await browser.close();
  await server.remove();
  page.close();
});

it("a console reads, writes, follows and uploads", async () => {
  const apiKey = await newKey(server.place);
  const saver = new ThreadkeepSaver({ url: server.url, apiKey });
  await put(saver, "talk", checkpoint("c1", { topic: "tea" }));
  const opened = await browser.context.newPage();
  await opened.goto(`${page.url}/?${new URLSearchParams({ url: server.url, key: apiKey })}`);
  const read = async () => (await opened.textContent("pre")) ?? "";
  const text = await waitUntil(read, "what the page shows");
  const { version, ...shown } = JSON.parse(text);
  expect(shown).toEqual({
    ...{ hasTenant: true, hasUuid: "undefined" },
    told: ["ready", `put k ${version}`],
    ...{ value: { text: "tea" }, sent: "the page was left", sizeBytes: (17 << 20) + 5 },
    ...{ opened: "cake", downloaded: "cake", values: { topic: "tea" } },
    entries: expect.arrayContaining(["/a.txt", "/film.bin"]),
    wrong: expect.objectContaining({ code: "invalid", field: "namespace" }),
  });
});
