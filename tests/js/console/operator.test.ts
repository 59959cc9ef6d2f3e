/** An operator in the console: makes tenants, their keys and quotas, ends their tokens, and sees nothing of what they keep. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Client, NotGrantedError, QuotaExceededError, UnauthorizedError } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { newKey, operatorKey } from "../support/server.js";
import { open as openAction, places, Requests, replaceText, send, undo } from "./acting.js";
import { Stage } from "./stage.js";

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

/** A page of an operator, at this address. */
async function open(address = "#/tenants", secret = key) {
  const opened = await stage.page(`#/login?token=${secret}`);
  await opened.page.getByRole("heading", { name: "Tenants", level: 1 }).waitFor();
  await stage.go(opened.page, address);
  return opened;
}

function by(apiKey: string): Client {
  return new Client({ url: stage.server.url, apiKey });
}

/** Sends the form of a new key. Returns its text, once the dialog that showed it is closed. */
async function madeKey(page: Page, title: string): Promise<string> {
  await page.getByRole("dialog", { name: title }).getByRole("button", { name: "Make" }).click();
  const shown = page.getByRole("dialog", { name: "The new key" });
  const secret = await shown.locator("pre").innerText();
  await send(shown, "Done");
  return secret;
}

function logs(): string {
  return ["log", "out"].map((name) => readFileSync(join(stage.server.folder, name), "utf8")).join();
}

/** The addresses that a page asks for, and the answers that refuse. */
function watch(page: Page) {
  const seen = { asked: new Set<string>(), urls: [] as string[], refused: [] as string[] };
  page.on("request", (request) => {
    seen.urls.push(request.url());
    const { pathname } = new URL(request.url());
    if (!pathname.startsWith("/console/")) seen.asked.add(pathname);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) seen.refused.push(`${response.status()} ${response.url()}`);
  });
  return seen;
}

function sectionsOf(page: Page) {
  return page.getByRole("navigation", { name: "Sections" }).getByRole("link").allInnerTexts();
}

it("a tenant's life: made with its first key, limited, used, and locked out again", async () => {
  const opened = await open();
  const { page } = opened;
  const seen = watch(page);
  const dialog = await openAction(page, "New tenant", "New tenant");
  await replaceText(dialog, "Tenant", "Boats");
  expect(await dialog.getByRole("button", { name: "Make" }).isDisabled()).toBe(true);
  await replaceText(dialog, "Tenant", "boats");
  await replaceText(dialog, "Name", "first");
  const secret = await madeKey(page, "New tenant");
  await page.getByRole("heading", { name: "boats", level: 1 }).waitFor();
  expect(page.url()).toMatch(/#\/tenants\/boats$/);
  const boats = by(secret);
  const { tenant, credential } = await boats.whoami();
  expect(tenant).toBe("boats");

  const quota = await openAction(page, "Set the quota", "Set the quota");
  await replaceText(quota, "Items", "0");
  await replaceText(quota, "Bytes", "1.5 GiB");
  await quota.getByText("1,610,612,736 bytes, 1.5 GiB").waitFor();
  await replaceText(quota, "Requests a second, on each server", "400");
  await send(quota, "Set");
  await page.getByText("of 1.5 GiB (1,610,612,736)").waitFor();
  expect((await client.operator.quota("boats")).quota).toEqual({
    ...{ bytesMax: 1_610_612_736, itemsMax: 0, requestsPerSecond: 400 },
  });

  const other = await stage.page("#/store/ann");
  await other.page.getByLabel("Key or token").fill(secret);
  await other.page.getByRole("button", { name: "Continue" }).click();
  const item = await openAction(other.page, "New item", "New item");
  await replaceText(item, "Key", "tea");
  await replaceText(item, "Value, an object of JSON", "{}");
  await item.getByRole("button", { name: "Put" }).click();
  await item.getByText("The tenant is at its quota").waitFor();
  await item.getByText("quota_exceeded").waitFor();
  await expect(boats.store.put(["ann"], "tea", {})).rejects.toThrow(QuotaExceededError);
  await item.getByRole("button", { name: "Cancel" }).click();

  const keys = page.getByRole("list", { name: "Keys" });
  const row = keys.getByRole("listitem").filter({ hasText: credential });
  await row.getByText("the whole tenant").waitFor();
  await row.getByRole("button", { name: "Revoke" }).click();
  const confirm = page.getByRole("dialog", { name: "Revoke the key" });
  await confirm.getByText("All tokens that were made with it end, too").waitFor();
  await send(confirm, "Revoke");
  await row.getByText("revoked", { exact: true }).waitFor();
  await expect(boats.whoami()).rejects.toThrow(UnauthorizedError);
  await stage.go(other.page, "#/usage");
  const sheet = other.page.getByRole("dialog", { name: "The server asks for a new key or token" });
  await sheet.getByText("The server does not know this key or token").waitFor();

  expect(await places(page)).not.toContain(secret);
  expect([...seen.urls, logs()].join("\n")).not.toContain(secret);
  expect(seen.refused).toEqual([]);
  await stage.expectQuiet(opened);
});

describe("what an operator sees", () => {
  it("tenants, operators and the server, and no request is refused", async () => {
    const { page } = await stage.page();
    await page.getByLabel("Key or token").fill(key);
    const requests = new Requests(page);
    const seen = watch(page);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Tenants", level: 1 }).waitFor();
    expect(await sectionsOf(page)).toEqual(["Tenants", "Operators", "Health"]);
    await page.locator(".credential-name").getByText("Operator", { exact: true }).waitFor();
    const contents = [
      ...["threads", "threads/trip", "inbox", "files", "store/ann", "sessions", "snapshots"],
      ...["access", "access?show=subjects", "audit", "usage", "retention", "connect"],
    ];
    for (const address of contents) {
      await stage.go(page, `#/${address}`);
      await page.getByRole("heading", { name: "reads no contents" }).waitFor();
      await requests.quiet();
      await page.getByRole("link", { name: "Go to Tenants" }).click();
      await page.getByRole("heading", { name: "Tenants", level: 1 }).waitFor();
    }
    await page.getByRole("link", { name: "Health", exact: true }).click();
    await page.getByText("Ready", { exact: true }).waitFor();
    await page.getByText("The key of an operator may not see it").waitFor();
    await page.getByRole("link", { name: "Operators", exact: true }).click();
    await page.getByRole("heading", { name: "Keys of operators" }).waitFor();
    await requests.quiet();
    expect(seen.refused).toEqual([]);
    expect([...seen.asked].sort()).toEqual([
      ...["/readyz", "/v1/info", "/v1/operator/keys", "/v1/operator/tenants", "/v1/whoami"],
    ]);
    const kept = await page.evaluate(() => [
      Object.values(sessionStorage).join(),
      Object.values(localStorage).join() + document.cookie + location.href,
      document.documentElement.outerHTML,
    ]);
    expect(kept.map((text) => text.includes(key))).toEqual([true, false, false]);
    expect(logs()).not.toContain(key);
  });

  it("no thing of a tenant in the palette, but the tenant", async () => {
    await client.operator.createKey({ tenant: "sails" });
    const { page } = await open();
    await page.keyboard.press("Control+k");
    const dialog = page.getByRole("dialog", { name: "Go to" });
    await dialog.getByRole("combobox").fill("sails");
    expect(await dialog.locator(".palette-kind").allInnerTexts()).toEqual(["Tenant"]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "sails", level: 1 }).waitFor();
  });

  it("a key of a tenant sees no page of operators, and asks for none", async () => {
    const { page } = await stage.page(`#/login?token=${await newKey(stage.server.place)}`);
    await page.getByRole("heading", { name: "Home" }).waitFor();
    const seen = watch(page);
    for (const address of ["#/tenants", "#/tenants/boats", "#/operators"]) {
      await stage.go(page, address);
      await page.getByRole("heading", { name: "This page is for operators" }).waitFor();
      await page.getByRole("link", { name: "Go to Home" }).click();
      await page.getByRole("heading", { name: "Home" }).waitFor();
    }
    expect(await sectionsOf(page)).not.toContain("Tenants");
    expect(await sectionsOf(page)).not.toContain("Operators");
    await new Requests(page).quiet();
    expect([...seen.asked].filter((path) => path.includes("operator"))).toEqual([]);
    expect(seen.refused).toEqual([]);
  });
});

it("a tab holds the key of an operator and one of a tenant, and switches between them", async () => {
  const { page } = await open();
  await page.locator("button.credential").click();
  const menu = page.getByRole("dialog", { name: "Keys of this tab" });
  await menu.getByText("Operator of all tenants").waitFor();
  await menu.getByLabel("Key or token").fill(await newKey(stage.server.place));
  await menu.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("link", { name: "Threads", exact: true }).waitFor();
  await page.getByRole("heading", { name: "This page is for operators" }).waitFor();
  await page.locator("button.credential").click();
  await menu.getByRole("button", { name: "Operator, key_" }).click();
  await page.getByRole("heading", { name: "Tenants", level: 1 }).waitFor();
});

describe("the quota of a tenant", () => {
  it("is not lost where two set it, and Undo puts it back", async () => {
    await client.operator.setQuota("ropes", { threadsMax: 7 });
    const { page } = await open("#/tenants/ropes");
    await page.getByText("Threads 0 of 7, 0%").waitFor();
    const dialog = await openAction(page, "Set the quota", "Set the quota");
    await replaceText(dialog, "Threads", "");
    await dialog.getByText("no limit").first().waitFor();
    await replaceText(dialog, "Items", "9");
    await client.operator.setQuota("ropes", { threadsMax: 8 });
    await dialog.getByRole("button", { name: "Set", exact: true }).click();
    await dialog.getByText("Somebody else has changed the quota meanwhile").waitFor();
    await dialog.getByText("It is now Threads: 8").waitFor();
    expect((await client.operator.quota("ropes")).quota).toEqual({ threadsMax: 8 });
    await send(dialog, "Set");
    await page.getByText("Items 0 of 9, 0%").waitFor();
    expect((await client.operator.quota("ropes")).quota).toEqual({ itemsMax: 9 });
    await undo(page, "The quota of ropes is as it was");
    expect((await client.operator.quota("ropes")).quota).toEqual({ threadsMax: 8 });
    await page.getByText("Threads 0 of 8, 0%").waitFor();
  });

  it("is not sent while a field is no limit", async () => {
    await client.operator.setQuota("masts", { itemsMax: 5 });
    const { page } = await open("#/tenants/masts");
    const dialog = await openAction(page, "Set the quota", "Set the quota");
    await replaceText(dialog, "Requests a second of each key and token", "0");
    await dialog.getByText("From 1 to 1,000,000").waitFor();
    expect(await dialog.getByRole("button", { name: "Set", exact: true }).isDisabled()).toBe(true);
  });
});

it("keys with an end, for a subject and to read only; an operator revokes any of them", async () => {
  const first = by((await client.operator.createKey({ tenant: "oars", name: "first" })).key);
  const { page } = await open("#/tenants/oars");
  const dialog = await openAction(page, "Make a key", "Make a key");
  await replaceText(dialog, "Name", "reader");
  await replaceText(dialog, "Subject", "ann");
  await dialog.getByLabel("It only reads").check();
  await dialog.getByLabel("Valid").selectOption("90 days");
  const secret = await madeKey(page, "Make a key");
  expect(secret).toMatch(/^tkr_/);
  const reader = by(secret);
  expect(await reader.whoami()).toMatchObject({ tenant: "oars", subject: "ann" });
  await expect(reader.store.put(["ann"], "a", {})).rejects.toThrow(NotGrantedError);
  const { keys } = await first.keys.list();
  expect(keys.map(({ name }) => name)).toEqual(["first", "reader"]);
  const days = ((keys[1]?.expiresAt?.getTime() ?? 0) - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(90);
  const rows = page.getByRole("list", { name: "Keys" }).getByRole("listitem");
  expect(await rows.count()).toBe(2);
  expect(await places(page)).not.toContain(secret);
});

it("new signing secrets end the tokens and signed addresses of a tenant, and leave its keys", async () => {
  const { key: secret } = await client.operator.createKey({ tenant: "tides" });
  const tides = by(secret);
  const { token } = await tides.tokens.mint({ subject: "ann" });
  const ann = by(token);
  await ann.drive.upload("/memories/a.txt", new TextEncoder().encode("boat"));
  const { url } = await ann.drive.getUrl("/memories/a.txt");
  const signed = new URL(url, stage.server.url);
  expect((await fetch(signed)).status).toBe(200);
  const { page } = await open("#/tenants/tides");
  const dialog = await openAction(
    ...([page, "Replace the signing secrets", "Replace the signing secrets"] as const),
  );
  await dialog.getByText("All tokens of the tenant end, and all signed addresses").waitFor();
  const replace = dialog.getByRole("button", { name: "Replace", exact: true });
  expect(await replace.isDisabled()).toBe(true);
  await dialog.getByLabel("Type the name to confirm").fill("tides");
  await send(dialog, "Replace");
  await page.getByText("Replaced 1 signing secret of tides").waitFor();
  await expect(ann.whoami()).rejects.toThrow(UnauthorizedError);
  expect((await fetch(signed)).ok).toBe(false);
  expect((await tides.whoami()).tenant).toBe("tides");
  const again = await tides.tokens.mint({ subject: "ann" });
  expect((await by(again.token).whoami()).subject).toBe("ann");
});

it("another operator is made and revoked; the key of the page says why it is not", async () => {
  const { page } = await open("#/operators");
  const dialog = await openAction(page, "Make a key", "Make a key");
  expect(await dialog.getByLabel("Subject").count()).toBe(0);
  expect(await dialog.getByLabel("It only reads").count()).toBe(0);
  await replaceText(dialog, "Name", "night watch");
  await dialog.getByLabel("Valid").selectOption("30 days");
  const secret = await madeKey(page, "Make a key");
  expect(secret).toMatch(/^tko_/);
  const second = by(secret);
  expect(await second.whoami()).toMatchObject({ operator: true });
  const row = page.getByRole("listitem").filter({ hasText: "night watch" });
  await row.getByText("all tenants").waitFor();
  await row.getByRole("button", { name: "Revoke" }).click();
  await send(page.getByRole("dialog", { name: "Revoke the key" }), "Revoke");
  await row.getByText("revoked", { exact: true }).waitFor();
  await expect(second.whoami()).rejects.toThrow(UnauthorizedError);
  const own = page.getByRole("listitem").filter({ hasText: "this key" });
  await own.getByRole("button", { name: "Revoke" }).click();
  const confirm = page.getByRole("dialog", { name: "Revoke the key" });
  await confirm.getByText("It is the key of this page").waitFor();
  await confirm.getByRole("button", { name: "Revoke", exact: true }).click();
  await confirm.getByText("this is the key that asks").waitFor();
  expect((await client.whoami()).operator).toBe(true);
});
