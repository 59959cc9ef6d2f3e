/** The console on a plain name of a network, which browsers do not trust, and pages of others beside it. */

import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "threadkeep";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Browser } from "../support/chromium.js";
import { newKey, Server } from "../support/server.js";

const NAME = "memory.example";
let server: Server;
let keyless: Server;
let browser: Browser;
let foreign: HttpServer;
let key: string;

beforeAll(async () => {
  server = await new Server().start();
  keyless = await new Server().start();
  key = await newKey(server.place);
  browser = await Browser.open([`--host-resolver-rules=MAP ${NAME} 127.0.0.1`]);
  foreign = createServer((_, answer) => {
    answer.writeHead(200, { "content-type": "text/html" });
    answer.end(`<iframe src="${keyless.url}/console/"></iframe>`);
  });
  await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await browser.close();
  foreign.closeAllConnections();
  foreign.close();
  await server.remove();
  await keyless.remove();
});

it("works over plain http on a name, where browsers have no locks, no clipboard and no random ids", async () => {
  const client = new Client({ url: server.url, apiKey: key });
  await client.threads.create({ threadId: "trip", title: "First title" });
  const { page, errors } = await browser.page();
  await page.goto(`http://${NAME}:${new URL(server.url).port}/console/#/threads/trip`);
  expect(await page.evaluate(() => [isSecureContext, "locks" in navigator])).toEqual([
    false,
    false,
  ]);
  await page.getByLabel("Key or token").fill(key);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "First title" }).waitFor();
  await page.getByRole("button", { name: "Rename" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").first().fill("Renamed here");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { name: "Renamed here" }).waitFor();
  await client.threads.update("trip", { title: "Renamed elsewhere" });
  await page.getByRole("heading", { name: "Renamed elsewhere" }).waitFor();
  // Chromium tells that it ignores a header there, and that nobody was logged in at first.
  const expected = /^The Cross-Origin-Opener-Policy header has been ignored|status of 401/;
  expect(errors.filter((text) => !expected.test(text))).toEqual([]);
});

it("a page of somebody else can neither frame the console nor call its server", async () => {
  const { page } = await browser.page();
  const { port } = foreign.address() as AddressInfo;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`http://localhost:${port}/`);
  await expect.poll(() => page.frames().length).toBe(2);
  expect(await page.frames()[1]?.evaluate(() => document.body.innerText)).not.toContain(
    "threadkeep",
  );
  expect(asked.filter((path) => path.startsWith("/v1/"))).toEqual([]);
  const called = await page.evaluate(async (url) => {
    const calls = [
      fetch(`${url}/v1/whoami`),
      fetch(`${url}/v1/threads/search`, { method: "POST", body: "{}" }),
    ];
    return (await Promise.allSettled(calls)).map(({ status }) => status);
  }, keyless.url);
  expect(called).toEqual(["rejected", "rejected"]);
});
