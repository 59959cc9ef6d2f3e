/** Tests the pages in the console that administer a tenant: audit log, usage, keys, tokens and the erasure of subjects. */

import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { Client, NotGrantedError, TokenRevokedError, UnauthorizedError } from "threadkeep";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { checkpoint, put } from "../support/checkpoints.js";
import { newKey, run } from "../support/server.js";
import { open as openAction, places, send } from "./acting.js";
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

/** Sends the form of a token. Returns its text, once the dialog that showed it is closed. */
async function makeToken(page: Page, dialog: Locator): Promise<string> {
  await dialog.getByRole("button", { name: "Make", exact: true }).click();
  const shown = page.getByRole("dialog", { name: "The new token" });
  const token = await shown.locator("pre").innerText();
  await send(shown, "Done");
  return token;
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
    await client.store.put(["ann", "notes"], "second", { text: "train" });
    await client.store.put(["reports"], "long", { text: "x".repeat(3_000) });
    const saver = new ThreadkeepSaver({ url: stage.server.url, apiKey: key });
    for (const [thread, length] of [
      ["small", 10],
      ["large", 5_000],
      ["medium", 500],
    ] as const) {
      await put(saver, thread, checkpoint("1", { text: "x".repeat(length) }));
    }
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
    const largest = page.locator("section", { hasText: "Largest threads" }).locator(".thread-id");
    await expect
      .poll(() => largest.allInnerTexts())
      .toEqual(["large", "medium", "small", 'trip, by "boat"']);
    const spaces = page.getByRole("region", { name: "Largest namespaces" }).locator("tbody tr");
    await expect
      .poll(() => spaces.allInnerTexts())
      .toEqual([
        expect.stringMatching(/^reports\s+1\s+2\.9 KiB/),
        expect.stringMatching(/^ann \/ notes\s+2\s+31 B/),
      ]);
    await spaces.first().getByRole("link").click();
    await page.getByRole("link", { name: "long", exact: true }).waitFor();
    await page.goBack();
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

describe("keys", () => {
  it("a key that is made opens the API, is shown once, and is refused after it is revoked", async () => {
    const opened = await open("#/access");
    const { page } = opened;
    const dialog = await openAction(page, "Make a key", "Make a key");
    await dialog.getByLabel("Name", { exact: true }).fill("dashboard");
    await dialog.getByLabel("It only reads").check();
    await dialog.getByLabel("Valid").selectOption("30 days");
    await dialog.getByRole("button", { name: "Make", exact: true }).click();
    const shown = page.getByRole("dialog", { name: "The new key" });
    const secret = await shown.locator("pre").innerText();
    expect(secret).toMatch(/^tkr_/);
    const made = new Client({ url: stage.server.url, apiKey: secret });
    const { credential, tenant } = await made.whoami();
    expect(tenant).toBe((await client.whoami()).tenant);
    await expect(made.threads.create({ threadId: "refused" })).rejects.toThrow(NotGrantedError);
    await shown.getByRole("button", { name: "Done" }).click();
    const keys = page.getByRole("list", { name: "Keys" });
    const row = keys.getByRole("listitem").filter({ hasText: "dashboard" });
    await row.getByText("read only").waitFor();
    const { keys: listed } = await client.keys.list();
    const { prefix, expiresAt } = listed.find((one) => one.keyId === credential) ?? {};
    expect(secret.startsWith(prefix ?? "none")).toBe(true);
    expect((expiresAt?.getTime() ?? 0) - Date.now()).toBeGreaterThan(29 * 86_400_000);
    await row.getByText(`${prefix}…`).waitFor();
    await row.getByText(/expires (in 30 days|next month)/).waitFor();
    await row.getByText(credential).waitFor();
    expect(await places(page)).not.toContain(secret);
    await row.getByRole("button", { name: "Revoke" }).click();
    const confirm = page.getByRole("dialog", { name: "Revoke the key" });
    await confirm.getByText("All programs with this key are refused at once").waitFor();
    await send(confirm, "Revoke");
    await row.getByText("revoked", { exact: true }).waitFor();
    await expect(made.whoami()).rejects.toThrow(UnauthorizedError);
    await stage.expectQuiet(opened);
  });

  it("the key of the page is not revoked, and says why", async () => {
    const { page } = await open("#/access");
    const keys = page.getByRole("list", { name: "Keys" });
    const row = keys.getByRole("listitem").filter({ hasText: "this key" });
    await row.getByRole("button", { name: "Revoke" }).click();
    const confirm = page.getByRole("dialog", { name: "Revoke the key" });
    await confirm.getByText("It is the key of this page").waitFor();
    await confirm.getByRole("button", { name: "Revoke", exact: true }).click();
    await confirm.getByText("this is the key that asks").waitFor();
    await page.keyboard.press("Escape");
    await client.whoami();
  });

  it("a key of a subject sees no keys, and makes tokens for its subject", async () => {
    const { key: secret } = await client.keys.create({ subject: "ann" });
    const { page } = await open("#/access", secret);
    await page.getByText("This key or token may not see it").waitFor();
    const make = page.getByRole("button", { name: "Make a key" });
    expect(await make.getAttribute("title")).toBe("needs tenant");
    const dialog = await openAction(page, "Make a token", "Make a token");
    await dialog.getByText("It speaks for ann, as this key does").waitFor();
    await dialog.getByLabel("It may do").selectOption("everything that the subject has");
    const token = await makeToken(page, dialog);
    const { subject } = await new Client({ url: stage.server.url, apiKey: token }).whoami();
    expect(subject).toBe("ann");
  });
});

describe("tokens", () => {
  it("a token that is built may do exactly what the sentence says", async () => {
    for (const threadId of ["ours", "theirs"]) await client.threads.create({ threadId });
    const opened = await open("#/access");
    const { page } = opened;
    const dialog = await openAction(page, "Make a token", "Make a token");
    const make = dialog.getByRole("button", { name: "Make", exact: true });
    await dialog.getByText("Grant 1: it has no name.").waitFor();
    expect(await make.isDisabled()).toBe(true);
    await dialog.getByLabel("Name", { exact: true }).fill("ours");
    await dialog.getByLabel("append").check();
    await dialog.getByRole("button", { name: "Add a grant" }).click();
    const second = dialog.getByRole("group", { name: "Grant 2" });
    await second.getByLabel("Things").selectOption("namespaces");
    await second.getByLabel("Namespace", { exact: true }).fill("shared/notes");
    const sentence =
      "For 15 minutes, it may read and add to the thread ours; read the namespace shared/notes and all below it. It may do nothing else.";
    await dialog.getByText(sentence).waitFor();
    await dialog.getByText("JSON of the request").click();
    const json = JSON.parse(await dialog.locator("details pre").first().innerText());
    expect(json).toEqual({
      grants: {
        threads: [{ id: "ours", actions: ["read", "append"] }],
        namespaces: [{ prefix: ["shared", "notes"], actions: ["read"] }],
      },
      ttl_seconds: 900,
    });
    const token = await makeToken(page, dialog);
    expect(await places(page)).not.toContain(token);
    const made = new Client({ url: stage.server.url, apiKey: token });
    const { expiresAt, grants } = await made.whoami();
    expect(grants).toEqual(json.grants);
    const minutes = ((expiresAt?.getTime() ?? 0) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(13);
    expect(minutes).toBeLessThanOrEqual(15);
    expect((await made.threads.get("ours"))?.threadId).toBe("ours");
    await made.threads.update("ours", { title: "changed" });
    await made.store.search(["shared", "notes"]);
    const refused = [
      () => made.threads.delete("ours"),
      () => made.threads.update("theirs", { title: "x" }),
      () => made.store.put(["shared", "notes"], "a", {}),
      () => made.sessions.list("claude"),
      () => made.usage(),
    ];
    for (const call of refused) await expect(call(), String(call)).rejects.toThrow(NotGrantedError);
    expect(await made.threads.get("theirs")).toBeUndefined();
    await client.store.put(["ann", "notes"], "hidden", {});
    expect((await made.store.search(["ann"])).items).toEqual([]);
    await stage.expectQuiet(opened);
  });

  it("is listed while it is valid, and is refused after it is revoked", async () => {
    const { token, tokenId } = await client.tokens.mint({ readOnly: true, ttlSeconds: 600 });
    const { page } = await open("#/access");
    await page.getByRole("tab", { name: "Tokens" }).click();
    expect(page.url()).toMatch(/#\/access\?show=tokens$/);
    const row = page.getByRole("listitem").filter({ hasText: tokenId });
    await row.getByText("read only").waitFor();
    await row.getByText((await client.whoami()).credential).waitFor();
    await row.getByRole("button", { name: "Revoke" }).click();
    await send(page.getByRole("dialog", { name: "Revoke the token" }), "Revoke");
    await row.waitFor({ state: "detached" });
    const made = new Client({ url: stage.server.url, apiKey: token });
    await expect(made.whoami()).rejects.toThrow(TokenRevokedError);
    await stage.go(page, "#/audit?act=token_revoked");
    const link = page.getByRole("link", { name: tokenId });
    expect(await link.getAttribute("href")).toBe("#/access?show=tokens");
  });

  it("shows the console as the token sees it, and goes back to the key", async () => {
    const { page } = await open("#/access");
    const dialog = await openAction(page, "Make a token", "Make a token");
    await dialog.getByLabel("Subject").fill("bea");
    await dialog.getByLabel("It may do").selectOption("everything that the subject has");
    await dialog.getByLabel("It lasts").selectOption("1 hour");
    await dialog.getByRole("button", { name: "Make", exact: true }).click();
    const shown = page.getByRole("dialog", { name: "The new token" });
    const token = await shown.locator("pre").innerText();
    await shown.getByRole("button", { name: "See as this token" }).click();
    await page.getByText("The server keeps no threads of this tenant yet").waitFor();
    const sections = page.getByRole("navigation", { name: "Sections" });
    expect(await sections.getByRole("link", { name: "Access" }).count()).toBe(0);
    const kept = await page.evaluate(() => [
      Object.values(sessionStorage).join(),
      Object.values(localStorage).join() + location.href + document.documentElement.outerHTML,
    ]);
    expect(kept.map((text) => text.includes(token))).toEqual([true, false]);
    await page.locator("button.credential").click();
    await page.getByRole("dialog").getByRole("button", { name: "key_" }).click();
    await sections.getByRole("link", { name: "Access" }).waitFor();
  });
});

it("a subject is erased after its name is typed, with a receipt", async () => {
  const { token } = await client.tokens.mint({ subject: "cleo" });
  const cleo = new Client({ url: stage.server.url, apiKey: token });
  await cleo.threads.create({ threadId: "cleo's" });
  await cleo.store.put(["cleo"], "a", {});
  const { page } = await open("#/access");
  const dialog = await openAction(page, "Erase a subject", "Erase a subject");
  const erase = dialog.getByRole("button", { name: "Erase", exact: true });
  await dialog.getByLabel("Subject").fill("cleo");
  expect(await erase.isDisabled()).toBe(true);
  await dialog.getByLabel("Type the name to confirm").fill("cleo");
  await erase.click();
  const receipt = page.getByRole("dialog", { name: "The receipt" });
  await receipt.getByText("cleo was erased").waitFor();
  const rows = await receipt.locator(".limits > div").allInnerTexts();
  expect(rows.map((row) => row.split(/\s+/).join(" "))).toEqual(
    expect.arrayContaining(["threads 1", "items 1", "sessions 0", "snapshots 0"]),
  );
  expect(await client.threads.get("cleo's")).toBeUndefined();
});
