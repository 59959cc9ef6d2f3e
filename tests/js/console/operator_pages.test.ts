/** The pages of an operator in each of their states, by keys alone, and by the rules of axe-core: light and dark, narrow and wide. */

import type { Page, Route } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { operatorKey } from "../support/server.js";
import { waitUntil } from "../support/waiting.js";
import { open as openAction, retry } from "./acting.js";
import { violations } from "./axe.js";
import { Keys } from "./keys.js";
import { Stage } from "./stage.js";

const SIZES = [
  { width: 1_280, height: 900 },
  { width: 360, height: 740 },
];
const LONG = "x".repeat(63);
/** More than a page of the list, with names that stand behind all others. */
const TENANTS = 120;
let stage: Stage;
let key: string;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
  key = await operatorKey(stage.server.place);
  client = new Client({ url: stage.server.url, apiKey: key });
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

async function open(address: string, size = SIZES[0]) {
  const opened = await stage.page(`#/login?token=${key}`, size);
  await opened.page.getByRole("heading", { name: "Tenants", level: 1 }).waitFor();
  await stage.go(opened.page, address);
  return opened;
}

async function expectByTheRules(page: Page): Promise<void> {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((one) => {
      document.documentElement.dataset["theme"] = one;
    }, theme);
    expect(await violations(page), theme).toEqual([]);
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(overflow, "px that a narrow page is too wide").toBeLessThanOrEqual(0);
}

it("a server without tenants says how one is made", async () => {
  const { page } = await open("#/tenants");
  await page.getByText("The server has no tenants yet").waitFor();
  await expectByTheRules(page);
});

describe("with tenants", () => {
  beforeAll(async () => {
    const { key: secret } = await client.operator.createKey({ tenant: "acme", name: "deploy" });
    const acme = new Client({ url: stage.server.url, apiKey: secret });
    await acme.threads.create({ threadId: "trip" });
    await acme.store.put(["ann"], "a", { text: "x".repeat(2_000) });
    await client.operator.setQuota("acme", { bytesMax: 1_000, requestsPerSecond: 900 });
    const { keyId } = await client.operator.createKey({ tenant: "acme", ttlSeconds: 86_400 });
    await client.operator.revokeKey(keyId, { tenant: "acme" });
    await client.operator.setQuota(LONG, { itemsMax: 5 });
    // The server measures every ten seconds.
    const isMeasured = async () => (await client.operator.quota("acme")).bytes > 2_000;
    await waitUntil(isMeasured, "the server to measure");
  });

  describe.each(SIZES)("at $width px", (size) => {
    it.each([
      ["#/tenants", "last write"],
      ["#/tenants/acme", "deploy"],
      [`#/tenants/${LONG}`, "The tenant has no keys"],
      ["#/tenants/NotAName", "No tenant has such a name"],
      ["#/operators", "this key"],
      ["#/health", "The key of an operator may not see it"],
      ["#/threads", "This page is for keys and tokens of a tenant"],
    ])("%s", async (address, shown) => {
      const opened = await open(address, size);
      await opened.page.getByText(shown).first().waitFor();
      await expectByTheRules(opened.page);
      await stage.expectQuiet(opened);
    });

    it.each([
      ["#/tenants", "New tenant", "New tenant"],
      ["#/tenants/acme", "Set the quota", "Set the quota"],
      ["#/tenants/acme", "Make a key", "Make a key"],
      ["#/tenants/acme", "Replace the signing secrets", "Replace the signing secrets"],
      ["#/tenants/acme", "Revoke", "Revoke the key"],
      ["#/tenants/acme", "Show as code", "This page as code"],
      ["#/operators", "Make a key", "Make a key"],
    ])("%s: %s", async (address, action, title) => {
      const { page } = await open(address, size);
      await page.getByRole("button", { name: action, exact: true }).first().focus();
      await openAction(page, action, title);
      await expectByTheRules(page);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      const focused = page.locator(":focus");
      expect(await focused.innerText()).toBe(action);
    });
  });

  it("the list tells what each tenant has stored", async () => {
    const { page } = await open("#/tenants");
    const row = page.getByRole("list", { name: "Tenants" }).getByRole("listitem").first();
    await row.getByRole("link", { name: "acme" }).waitFor();
    const facts = await row.locator(".thread-facts").innerText();
    expect(facts.replace(/\s+/g, " ")).toMatch(/^2\.\d KiB 1 thread 1 item last write/);
    await page
      .getByRole("listitem")
      .filter({ hasText: LONG })
      .getByText("nothing written")
      .waitFor();
  });

  it("a tenant over its quota says so, and the code of the page has no key", async () => {
    const { page } = await open("#/tenants/acme");
    await page.getByRole("meter", { name: "Bytes" }).waitFor();
    const bars = await page.locator(".bars li").allInnerTexts();
    expect(bars[0]).toMatch(/of 1000 B \(1,000\), 2\d\d(\.\d)?%/);
    expect(bars[1]).toBe("Threads 1, no limit");
    await page.getByRole("button", { name: "Show as code" }).click();
    const texts: string[] = [];
    for (const name of ["Python", "TypeScript", "curl"]) {
      await page.getByRole("tab", { name }).click();
      texts.push(await page.locator("dialog code").last().innerText());
    }
    expect(texts[0]).toContain('client.operator.quota("acme")');
    expect(texts[0]).toContain('client.operator.list_keys("acme", limit=100)');
    expect(texts[1]).toContain('client.operator.listKeys({ tenant: "acme", limit: 100 })');
    expect(texts[2]).toContain("/v1/operator/quotas?tenant=acme");
    expect(texts.join()).not.toContain(key);
    await page.keyboard.press("Escape");
    const dialog = await openAction(page, "Set the quota", "Set the quota");
    await dialog.getByText("The tenant has more: what adds is refused at once").waitFor();
  });

  it("a tenant that is not there can be made from its address", async () => {
    const { page } = await open("#/tenants/late");
    await page.getByRole("heading", { name: "There is no such tenant" }).waitFor();
    await expectByTheRules(page);
    const dialog = await openAction(page, "New tenant", "New tenant");
    expect(await dialog.getByLabel("Tenant").inputValue()).toBe("late");
    await dialog.getByLabel("Tenant").fill("acme");
    await dialog.getByText("It gets another key").waitFor();
    await dialog.getByLabel("Tenant").fill("late");
    await dialog.getByRole("button", { name: "Make" }).click();
    const shown = page.getByRole("dialog", { name: "The new key" });
    const secret = await shown.locator("pre").innerText();
    // The tenant is there now, and the page below knows it: the text of the key stays until it was seen.
    await page.getByRole("heading", { name: "late", level: 1, includeHidden: true }).waitFor();
    expect(await shown.locator("pre").innerText()).toBe(secret);
    await expectByTheRules(page);
    await shown.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { name: "late", level: 1 }).waitFor();
  });

  it("by keys alone: to a tenant by its name, back to the list, and to the keys of operators", async () => {
    const opened = await stage.page(`#/login?token=${key}`, SIZES[0], Keys.watch);
    const keys = new Keys(opened.page);
    await keys.heading("Tenants");
    await opened.page.getByRole("link", { name: "acme" }).waitFor();
    await keys.press("/");
    await keys.type("acme");
    await keys.press("Enter");
    await keys.heading("acme");
    await keys.press("g", "a");
    await keys.heading("Keys of operators");
    await keys.press("g", "o");
    await keys.heading("Health");
    await keys.press("g", "t");
    await keys.heading("Tenants");
    await opened.page.getByRole("link", { name: "acme" }).waitFor();
    await keys.press("j", "Enter");
    await keys.heading("acme");
    const dialog = await keys.action("Set the quota", "Set the quota");
    await keys.fill("Threads", "20");
    await keys.send(dialog, "Set");
    await opened.page.getByText("Threads 1 of 20, 5%").waitFor();
    await keys.undo("The quota of acme is as it was");
    await keys.press("g", "h");
    await keys.heading("Tenants");
    await keys.expectAlone();
  });
});

describe("answers of the server", () => {
  const REQUEST = { request_id: "req-42" };
  const problem = (status: number, code: string) => async (route: Route) => {
    await route.fulfill({
      status,
      headers: { "content-type": "application/problem+json" },
      body: JSON.stringify({ title: code, status, code, detail: `because of ${code}`, ...REQUEST }),
    });
  };

  it("a list that fails shows the code and the request, and is asked for again", async () => {
    const { page } = await open("#/operators");
    await page.getByText("this key").waitFor();
    const tenants = "**/v1/operator/tenants?*";
    await page.reload();
    await page.route(tenants, problem(500, "internal"));
    await stage.go(page, "#/tenants");
    const failure = page.getByRole("alert");
    await failure.getByText("internal", { exact: true }).waitFor();
    await failure.getByText("req-42").waitFor();
    await expectByTheRules(page);
    await page.unroute(tenants);
    await retry(page, page.getByText("tenants yet").or(page.getByText("acme")).first());
  });

  it("a tenant whose quota cannot be read, and a form that is refused", async () => {
    await client.operator.setQuota("broken", { itemsMax: 5 });
    const { page } = await open("#/operators");
    const quotas = "**/v1/operator/quotas?*";
    await page.route(quotas, problem(500, "internal"));
    await stage.go(page, "#/tenants/broken");
    await page.getByRole("heading", { name: "broken", level: 1 }).waitFor();
    await page.getByRole("alert").getByText("req-42").waitFor();
    await page.unroute(quotas);
    await retry(page, page.getByText("The tenant has no keys"));
    await page.route("**/v1/operator/quotas/put", problem(422, "invalid"));
    const dialog = await openAction(page, "Set the quota", "Set the quota");
    await dialog.getByRole("button", { name: "Set", exact: true }).click();
    await dialog.getByRole("alert").getByText("because of invalid").waitFor();
    await dialog.getByText("req-42").waitFor();
  });

  it("a slow answer says that it is loading", async () => {
    const { page } = await open("#/operators");
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    await page.route("**/v1/operator/quotas?*", async (route) => {
      await held;
      await route.continue();
    });
    await client.operator.setQuota("slow", { itemsMax: 5 });
    await stage.go(page, "#/tenants/slow");
    await page.getByRole("status").getByText("Loading …").waitFor();
    go();
    await page.getByRole("heading", { name: "slow", level: 1 }).waitFor();
  });

  it("a key that is revoked asks for another, and the page stays", async () => {
    const made = await client.operator.createKey({ name: "short" });
    const { page } = await stage.page(`#/login?token=${made.key}`);
    await page.getByRole("heading", { name: "Tenants", level: 1 }).waitFor();
    await client.operator.revokeKey(made.keyId);
    await stage.go(page, "#/operators");
    const sheet = page.getByRole("dialog", { name: "The server asks for a new key or token" });
    await sheet.getByLabel("Key or token").fill(key);
    await sheet.getByRole("button", { name: "Continue" }).click();
    await sheet.waitFor({ state: "detached" });
    await page.getByText("this key").waitFor();
    expect(page.url()).toMatch(/#\/operators$/);
  });
});

it("a long list comes in pages, and only rows in view are in the page", async () => {
  for (let at = 0; at < TENANTS; at += 1) {
    await client.operator.setQuota(`z-${String(at).padStart(3, "0")}`, { itemsMax: 5 });
  }
  const { page } = await open("#/operators");
  const cursors: (string | null)[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === "/v1/operator/tenants") cursors.push(searchParams.get("cursor"));
  });
  await stage.go(page, "#/tenants");
  await page.getByRole("list", { name: "Tenants" }).getByRole("link").first().waitFor();
  expect(await page.getByRole("listitem").count()).toBeLessThan(60);
  const last = page.getByRole("link", { name: `z-${TENANTS - 1}` });
  await expect
    .poll(async () => {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      return await last.count();
    })
    .toBe(1);
  expect(cursors.filter((one) => one !== null).length).toBe(1);
});
