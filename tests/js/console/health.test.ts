/** Health in the console: what the server is, how it answers, and a support bundle without anything of a person. */

import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { freePort, newKey, Server } from "../support/server.js";
import { Stage } from "./stage.js";

let stage: Stage;
let key: string;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
  key = await newKey(stage.server.place);
  client = new Client({ url: stage.server.url, apiKey: key });
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

async function open(secret = key) {
  const opened = await stage.page(`#/login?token=${secret}`);
  await opened.page.getByRole("heading", { name: "Home" }).waitFor();
  await stage.go(opened.page, "#/health");
  return opened;
}

/** Somebody comes back to the page, which then asks for what it shows. */
async function comeBack(page: Page): Promise<void> {
  await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
}

/** The cells of the route, without its name. */
async function cellsOf(page: Page, route: string): Promise<string[]> {
  const row = page.locator("tr").filter({ has: page.getByText(route, { exact: true }) });
  return await row.locator("td").allInnerTexts();
}

it("shows what the server is, and the requests that it has answered by route", async () => {
  const info = await client.info();
  for (let at = 0; at < 20; at += 1) await client.threads.get("secret thread");
  await fetch(`${stage.server.url}/v1/threads/get`, { method: "POST", body: "{}" });
  const opened = await open();
  const { page } = opened;
  await page.getByText("Ready", { exact: true }).waitFor();
  await page.getByText(info.version, { exact: true }).first().waitFor();
  await page.getByText("SQLite", { exact: true }).waitFor();
  await page.getByText("Requests", { exact: true }).first().waitFor();
  await expect.poll(() => cellsOf(page, "POST /v1/threads/get")).toHaveLength(7);
  const [count, , half, most, , refused, failed] = await cellsOf(page, "POST /v1/threads/get");
  expect([count, refused, failed]).toEqual(["21", "1", "0"]);
  expect([half, most].filter((text) => !/^[\d.]+ m?s$/.test(text ?? ""))).toEqual([]);
  const pools = page.getByRole("region", { name: "Connections to the database" });
  const cells = (name: string) =>
    pools
      .getByRole("row", { name: new RegExp(`^${name}\\b`) })
      .getByRole("cell")
      .allInnerTexts();
  expect(await cells("Writes")).toEqual(["0", "0", "1", "0"]);
  expect((await cells("Searches and lists"))[2]).toBe("6");
  await page.getByRole("heading", { name: "Queues" }).waitFor();
  await page.getByText("Followers of items").waitFor();
  // Neither is set up here.
  expect(await page.getByRole("heading", { name: /Object store|Redis/ }).count()).toBe(0);
  for (let at = 0; at < 10; at += 1) await client.threads.get("secret thread");
  await comeBack(page);
  await expect.poll(async () => (await cellsOf(page, "POST /v1/threads/get"))[0]).toBe("31");
  const [, now] = await cellsOf(page, "POST /v1/threads/get");
  expect(Number(now)).toBeGreaterThan(0);
  await page.getByText(/requests a second in the last \d+ seconds?/).waitFor();
  await stage.expectQuiet(opened);
});

it("the code of the page reads a text, not JSON", async () => {
  const { page } = await open();
  await page.getByRole("button", { name: "Show as code" }).click();
  const code = page.getByRole("dialog").locator("pre");
  const python = await code.innerText();
  expect(python).toContain(`${stage.server.url}/metrics`);
  expect(python).toContain(".read().decode()");
  expect(python).not.toContain("import json");
  await page.getByRole("tab", { name: "TypeScript" }).click();
  expect(await code.innerText()).toContain("await client.metrics()");
});

it("asks seldom", async () => {
  const { page } = await open();
  await page.getByRole("heading", { name: "Support bundle" }).waitFor();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.waitForTimeout(20_000);
  expect([...new Set(asked)].sort()).toEqual(["/metrics", "/readyz"]);
  // Twice where the first time was just after the page was complete.
  expect(asked.length).toBeLessThanOrEqual(4);
});

it("a support bundle has versions, limits and counts, and nothing of the tenant", async () => {
  await client.threads.create({ threadId: "secret thread", title: "secret title" });
  await client.store.put(["secret namespace"], "secret key", { secret: 1 });
  const { page } = await open();
  const copy = page.getByRole("button", { name: "Copy a support bundle" });
  await copy.waitFor();
  // The policy of the page lets nobody read the clipboard.
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => {
      (window as { copied?: string }).copied = text;
    };
  });
  await copy.click();
  await page.getByText("Copied").waitFor();
  const text = await page.evaluate(() => (window as { copied?: string }).copied ?? "");
  const bundle = JSON.parse(text);
  const { tenant, credential } = await client.whoami();
  for (const one of ["secret", key, tenant, credential, stage.server.url.slice(7)]) {
    expect(text, one).not.toContain(one);
  }
  expect(bundle.limits).toEqual(await client.limits());
  expect(bundle.server).toMatchObject({ engine: "sqlite", is_ready: true });
  expect(bundle.features).toMatchObject({ redis: false, console: true });
  const kept = (await client.metrics())
    .split("\n")
    .filter((line) => line.startsWith("threadkeep_") && line.includes("_count{"))
    .map((line) => line.slice(0, line.lastIndexOf(" ")));
  const told = bundle.metrics.map((line: string) => line.slice(0, line.lastIndexOf(" ")));
  expect(told).toContain(kept.find((line) => line.includes("/v1/threads/get")));
});

it("a credential that does not read the tenant sees the version, and no counts", async () => {
  const { token } = await client.tokens.mint({ subject: "ann" });
  const opened = await open(token);
  const { page } = opened;
  await page.getByText("Ready", { exact: true }).waitFor();
  await page.getByText("It needs tenant:read.").waitFor();
  expect(await page.getByRole("heading", { name: "Support bundle" }).count()).toBe(0);
  await stage.expectQuiet(opened);
});

it("a server that shows its metrics elsewhere is no error", async () => {
  const server = new Server(undefined, ["--metrics-listen", `127.0.0.1:${await freePort()}`]);
  await server.start();
  const { page } = await stage.browser.page();
  await page.goto(`${server.url}/console/#/health`);
  await page.getByText("The server shows its metrics on an address of its own").waitFor();
  await page.getByText("--metrics-listen").waitFor();
  await server.remove();
});

it("says when the server is away, and when it is ready again", async () => {
  const { page } = await open();
  await page.getByText("Ready", { exact: true }).waitFor();
  await page.getByRole("heading", { name: "Support bundle" }).waitFor();
  await stage.server.stop("SIGKILL");
  await comeBack(page);
  await page.getByText("Not ready", { exact: true }).waitFor();
  await page.getByText("The server does not answer").first().waitFor();
  // What was known stays.
  expect(await page.getByRole("heading", { name: "Queues" }).count()).toBe(1);
  await stage.server.start();
  await comeBack(page);
  await page.getByText("Ready", { exact: true }).waitFor();
});
