/** The native client in Chromium, from another origin and without `crypto.randomUUID` and `crypto.subtle`, as on a page of plain http. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkpoint, put } from "../support/checkpoints.js";
import { Browser } from "../support/chromium.js";
import { newKey, Server } from "../support/server.js";
import { waitUntil } from "../support/waiting.js";

const HTML = `<!doctype html><link rel="icon" href="data:,"><body><script src="/page.js"></script>`;

const front = createServer((request, response) => {
  const isScript = request.url?.endsWith(".js") === true;
  response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
  response.end(isScript ? script : HTML);
});
let browser: Browser;
let server: Server;
let script: string;
let page: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  page = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  server = await new Server(undefined, ["--cors-origin", page]).start();
  const bundled = await build({
    entryPoints: [new URL("console_page.ts", import.meta.url).pathname],
    ...{ bundle: true, format: "iife", platform: "browser", write: false, logLevel: "error" },
  });
  script = bundled.outputFiles[0]?.text ?? "";
  browser = await Browser.open();
});

afterAll(async () => {
  await browser.close();
  await server.remove();
  front.close();
});

it("a console reads, writes, follows and uploads", async () => {
  const apiKey = await newKey(server.place);
  const saver = new ThreadkeepSaver({ url: server.url, apiKey });
  await put(saver, "talk", checkpoint("c1", { topic: "tea" }));
  const opened = await browser.context.newPage();
  await opened.goto(`${page}/?${new URLSearchParams({ url: server.url, key: apiKey })}`);
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
