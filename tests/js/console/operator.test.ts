/** What an operator does in the console: reads the audit log, makes and revokes keys, and makes tokens. */

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { newKey, run } from "../support/server.js";
import { Stage } from "./stage.js";

/** More than two pages of the log. */
const POLICIES = 230;
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

/** A page of somebody who is logged in. */
async function open(address: string, secret = key) {
  const opened = await stage.page(`#/login?token=${secret}`);
  await opened.page.getByRole("heading", { name: "Home" }).waitFor();
  await stage.go(opened.page, address);
  return opened;
}

async function downloaded(page: Page, button: string): Promise<string> {
  const wanted = page.waitForEvent("download");
  await page.getByRole("button", { name: button, exact: true }).click();
  return await readFile(await (await wanted).path(), "utf8");
}

describe("the audit log", () => {
  beforeAll(async () => {
    await client.threads.create({ threadId: 'trip, by "boat"' });
    for (let at = 0; at < POLICIES; at += 1) {
      await client.putRetentionPolicy({ threadId: 'trip, by "boat"', keepLast: 1 + at });
    }
    await client.putRetentionPolicy({ keepLast: 5, dryRun: true });
    await client.store.putSetting(["ann", "notes"], { history: 3 });
  });

  it("shows acts newest first in pages, with links to what they were done to", async () => {
    const opened = await open("#/audit");
    const { page } = opened;
    const events = page.getByRole("list", { name: "Events" });
    await events.getByText("Namespace setting set").waitFor();
    await page.getByText("100 events to download. Scroll down").waitFor();
    expect(await events.getByRole("listitem").count()).toBeLessThan(60);
    const setting = events.getByRole("link", { name: '["ann","notes"]' });
    expect(await setting.getAttribute("href")).toBe("#/store/ann/notes");
    const first = events.getByRole("link", { name: "trip" }).first();
    await first.click();
    await page.getByRole("heading", { name: "trip" }).waitFor();
    await stage.expectQuiet(opened);
  });

  it("downloads what is shown, as the server tells it", async () => {
    const { page } = await open("#/audit?act=policy_put");
    await page.getByText("100 events to download").waitFor();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.getByText("200 events to download").waitFor();
    const first = await client.auditText({ act: "policy_put", limit: 200 });
    const lines = await downloaded(page, "JSON Lines");
    expect(lines).toBe(first.events.map(({ text }) => `${text}\n`).join(""));
    const answer = await fetch(`${stage.server.url}/v1/audit?act=policy_put&limit=200`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const told = (await answer.json()) as { events: object[] };
    expect(
      lines
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(told.events);
    const rows = (await downloaded(page, "CSV")).trimEnd().split("\r\n");
    expect(rows.length).toBe(201);
    const newest = first.events[1];
    expect(rows[2]).toBe(
      [
        ...[newest?.eventId, newest?.at, "policy_put", newest?.actor],
        ...['"trip, by ""boat"""', 1, `"${newest?.details.replaceAll('"', '""')}"`],
      ].join(","),
    );
  });

  it("filters by act and time, which stand in the address", async () => {
    const { events } = await client.auditText({ act: "policy_put", limit: 1_000 });
    const middle = events.at(-1)?.at.slice(0, 19) ?? "";
    const { page } = await open("#/audit");
    await page.getByLabel("Act").selectOption("Retention policy set");
    await page.getByLabel("Until (UTC)").fill(middle);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await expect.poll(() => page.url()).toContain("#/audit?act=policy_put&until=");
    const { events: early } = await client.auditText({ act: "policy_put", until: `${middle}Z` });
    expect(early).toEqual([]);
    await page.getByText("No event meets the filter").waitFor();
    await stage.go(page, `#/audit?act=policy_put&since=${middle}Z`);
    await page.getByText("100 events to download").waitFor();
    expect(await page.getByLabel("Since (UTC)").inputValue()).toBe(middle);
  });

  it("is not there for a credential that may not read it", async () => {
    const { token } = await client.tokens.mint({ subject: "ann" });
    const { page } = await open("#/audit", token);
    await page.getByText("This key or token may not see it").waitFor();
    await page.getByText("tenant:read").waitFor();
    expect(await page.getByRole("link", { name: "Audit", exact: true }).count()).toBe(1);
    const sections = page.getByRole("navigation", { name: "Sections" });
    expect(await sections.getByRole("link", { name: "Audit" }).count()).toBe(0);
  });
});

describe("usage", () => {
  it("shows what the tenant has against its quota, and every limit", async () => {
    const tenant = (await client.whoami()).tenant;
    await run(stage.server.place, [
      ...["quotas", "set", "--tenant", tenant, "--bytes-max", "50000000", "--items-max", "4000"],
      ...["--requests-per-second", "700"],
    ]);
    await client.store.put(["ann", "notes"], "first", { text: "boat" });
    // The server measures every ten seconds.
    await expect
      .poll(async () => (await client.usage()).quota.itemsMax, { timeout: 30_000, interval: 500 })
      .toBe(4_000);
    const opened = await open("#/usage");
    const { page } = opened;
    await page.getByRole("meter", { name: "Items" }).waitFor();
    const { bytes, threads, items } = await client.usage();
    const bars = await page.locator(".bars li").allInnerTexts();
    expect(bars[0]).toContain(`(${bytes.toLocaleString("en")}) of 48 MiB (50,000,000), `);
    expect(bars[1]).toContain(`Threads ${threads}, no limit`);
    expect(bars[2]).toContain(`Items ${items} of 4,000, `);
    expect(await page.getByRole("meter").count()).toBe(2);
    await page.getByText("700", { exact: true }).waitFor();
    const limits = await client.limits();
    const rows = page.locator(".limits > div");
    await expect.poll(() => rows.count()).toBe(Object.keys(limits).length);
    await page.getByLabel("Part of the name").fill("key_name_bytes");
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringMatching(new RegExp(`key_name_bytes_max\\s+${limits.key_name_bytes_max}`)),
    ]);
    await stage.expectQuiet(opened);
  });
});
