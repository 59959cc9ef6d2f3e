/** The palette and the keys of the console: everything in the list of keys does what the list says. */

import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { newKey } from "../support/server.js";
import { plan } from "./agents.js";
import { violations } from "./axe.js";
import { Stage } from "./stage.js";

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
  await plan({ url: stage.server.url }, "trip");
  const client = new Client({ url: stage.server.url });
  await client.snapshots.take({ snapshotId: "lunch", threads: ["trip"] });
  await client.sessions.append({ kind: "claude", key: ["work", "a"] }, [
    { data: { type: "user" } },
  ]);
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

async function palette(page: Page) {
  await page.keyboard.press("Control+k");
  const dialog = page.getByRole("dialog", { name: "Go to" });
  await dialog.waitFor();
  return { dialog, field: dialog.getByRole("combobox") };
}

/** Chooses the first entry of this kind by keys. */
async function choose(page: Page, text: string, kind: string): Promise<void> {
  const { dialog, field } = await palette(page);
  await field.fill(text);
  const kinds = await dialog.getByRole("option").locator(".palette-kind").allInnerTexts();
  expect(kinds).toContain(kind);
  for (let at = 0; at < kinds.indexOf(kind); at += 1) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
}

describe("the palette", () => {
  it("leads to pasted ids of threads, checkpoints, snapshots and sessions, and to links", async () => {
    const client = new Client({ url: stage.server.url });
    const { nodes } = await client.checkpoints.timeline("trip", { limit: 3 });
    const checkpoint = nodes.at(-1)?.checkpointId ?? "";
    const opened = await stage.page();
    const { page } = opened;
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await choose(page, "trip", "Thread");
    await page.getByRole("heading", { name: "Plan a trip by boat" }).waitFor();
    await choose(page, checkpoint, "Checkpoint of this thread");
    await expect.poll(() => page.url()).toContain(`#/threads/trip?cp=${checkpoint}`);
    await choose(page, "lunch", "Snapshot");
    await page.getByRole("heading", { name: "lunch" }).waitFor();
    await choose(page, "claude:work/a", "Session");
    await page.getByRole("heading", { name: "work/a" }).waitFor();
    await choose(page, `${stage.url}#/threads/trip/state`, "Address");
    await page.getByText("messages").first().waitFor();
    expect(page.url()).toMatch(/#\/threads\/trip\/state$/);
    await choose(page, "reten", "Section");
    await page.getByRole("heading", { name: "Retention" }).waitFor();
    await stage.expectQuiet(opened);
  });

  it("opens the actions of the page, and the focus comes back to where it was", async () => {
    const { page } = await stage.page("#/threads/trip");
    const opener = page.getByRole("button", { name: "Show as code" });
    await opener.focus();
    await choose(page, "rena", "Actions of the thread");
    await page.getByRole("dialog", { name: "Rename the thread" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await opener.evaluate((it) => it === document.activeElement)).toBe(true);
    const { dialog } = await palette(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await opener.evaluate((it) => it === document.activeElement)).toBe(true);
    await stage.go(page, "#/usage");
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    const { field, dialog: other } = await palette(page);
    await field.fill("rena");
    await other.getByRole("option").first().waitFor();
    const kinds = await other.locator(".palette-kind").allInnerTexts();
    expect(kinds).not.toContain("Actions of the thread");
  });

  it("is a combobox whose keys move the chosen entry", async () => {
    const { page } = await stage.page();
    await page.getByRole("heading", { name: "Home" }).waitFor();
    const { dialog, field } = await palette(page);
    expect(await field.evaluate((it) => it === document.activeElement)).toBe(true);
    const chosen = async () => {
      const id = await field.getAttribute("aria-activedescendant");
      const selected = dialog.locator('[aria-selected="true"]');
      expect(await selected.getAttribute("id")).toBe(id);
      return await selected.locator(".palette-text").innerText();
    };
    const names = await dialog.locator(".palette-text").allInnerTexts();
    expect(names.slice(0, 2)).toEqual(["Home", "Threads"]);
    expect(await chosen()).toBe("Home");
    await page.keyboard.press("ArrowDown");
    expect(await chosen()).toBe("Threads");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    expect(await chosen()).toBe(names.at(-1));
    await page.keyboard.press("PageUp");
    expect(await chosen()).toBe("Home");
    await page.keyboard.press("PageDown");
    expect(await chosen()).toBe(names.at(-1));
    for (const theme of ["light", "dark"]) {
      await page.evaluate((one) => {
        document.documentElement.dataset["theme"] = one;
      }, theme);
      expect(await violations(page), theme).toEqual([]);
    }
    await field.fill("tks_secret");
    await dialog.getByText("A key or token is not looked for").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Enter");
    expect(await dialog.count()).toBe(1);
    expect(page.url()).not.toContain("secret");
    await field.fill("trip");
    await dialog.getByRole("option").first().click();
    await page.getByRole("heading", { name: "Plan a trip by boat" }).waitFor();
  });

  it("fits a narrow page, where a button opens it", async () => {
    const { page } = await stage.page("#/", { width: 360, height: 740 });
    await page.getByRole("button", { name: "Go to" }).click();
    await page.getByRole("dialog", { name: "Go to" }).getByRole("combobox").fill("x".repeat(200));
    expect(await violations(page)).toEqual([]);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
  });
});

/** What each key does, from which page. `keys` are pressed one after the other. */
type Check = (page: Page) => Promise<void>;
const heading =
  (name: string): Check =>
  async (page) =>
    await page.getByRole("heading", { name, level: 1 }).waitFor();
const shownDialog =
  (name: string): Check =>
  async (page) =>
    await page.getByRole("dialog", { name }).waitFor();
const isMarked: Check = async (page) => await page.locator("[data-marked]").waitFor();
const CHECKS: Record<string, { from?: string; before?: string[]; check: Check }> = {
  "?": { check: shownDialog("Keys") },
  "Ctrl K": { check: shownDialog("Go to") },
  "/": {
    from: "#/threads",
    check: async (page) =>
      await page
        .waitForFunction(() => document.activeElement?.getAttribute("type") === "search")
        .then(() => {}),
  },
  "g h": { from: "#/threads", check: heading("Home") },
  "g t": { check: heading("Threads") },
  "g i": { check: heading("Inbox") },
  "g f": { check: heading("Files") },
  "g s": { check: heading("Store") },
  "g e": { check: heading("Sessions") },
  "g n": { check: heading("Snapshots") },
  "g a": { check: heading("Access") },
  "g l": { check: heading("Audit") },
  "g u": { check: heading("Usage") },
  "g r": { check: heading("Retention") },
  "g o": { check: heading("Health") },
  j: { from: "#/threads", check: isMarked },
  k: { from: "#/threads", check: isMarked },
  Enter: { from: "#/threads", before: ["j"], check: heading("Plan a trip by boat") },
  x: {
    from: "#/threads",
    before: ["j"],
    check: async (page) => await page.getByText("1 thread is selected.").waitFor(),
  },
  ".": { from: "#/threads", check: shownDialog("This page as code") },
};

async function press(page: Page, keys: string): Promise<void> {
  if (keys === "Ctrl K") return await page.keyboard.press("Control+k");
  for (const key of keys.split(" ")) await page.keyboard.press(key);
}

/** Waits until a page takes keys for what it shows. */
async function load(page: Page, address: string): Promise<void> {
  await stage.go(page, address);
  const shown = address === "#/threads" ? ".rows .thread-row" : "h1";
  await page.locator(shown).first().waitFor();
}

describe("keys", () => {
  it("the list has all keys that are tried here, and no other", async () => {
    const { page } = await stage.page();
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.keyboard.press("?");
    const listed = await page.getByRole("dialog", { name: "Keys" }).locator("kbd").allInnerTexts();
    expect([...listed].sort()).toEqual(Object.keys(CHECKS).sort());
  });

  it.each(Object.entries(CHECKS))("%s does what the list says", async (keys, given) => {
    const { from = "#/", before = [], check } = given;
    const { page } = await stage.page();
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await load(page, from);
    for (const one of before) await press(page, one);
    await press(page, keys);
    await check(page);
  });

  it("single keys count nowhere while they are off or a field has the focus, but Ctrl K does", async () => {
    const { page } = await stage.page("#/threads");
    const field = page.getByRole("searchbox");
    await field.focus();
    await page.keyboard.press("g");
    await page.keyboard.press("u");
    expect(await field.inputValue()).toBe("gu");
    await page.keyboard.press("Control+k");
    await shownDialog("Go to")(page);
    // It is open already: the key opens no other one.
    await page.keyboard.press("Control+k");
    expect(await page.getByRole("dialog").count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keys" }).click();
    await page.getByLabel("Single keys are commands").uncheck();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator("main").focus();
    await page.keyboard.press("?");
    await page.keyboard.press("Control+k");
    await shownDialog("Go to")(page);
    expect(await page.getByRole("dialog").count()).toBe(1);
  });
});

// From the first key on, the server knows nobody without one, so these come last.
it("offers only sections and actions that the credential may use", async () => {
  const key = await newKey(stage.server.place);
  const owner = new Client({ url: stage.server.url, apiKey: key });
  await owner.threads.create({ threadId: "t", title: "A thread" });
  const grants = { threads: [{ id: "t", actions: ["read"] as "read"[] }] };
  const { token } = await owner.tokens.mint({ grants, ttlSeconds: 600 });
  const { page } = await stage.page(`#/login?token=${token}`);
  await page.getByRole("heading", { name: "Home" }).waitFor();
  await stage.go(page, "#/threads/t");
  await page.getByRole("heading", { name: "A thread" }).waitFor();
  const { dialog, field } = await palette(page);
  const entries = await dialog.getByRole("option").locator(".palette-text").allInnerTexts();
  expect(entries).toEqual(["Home", "Threads", "Inbox", "Connect", "Show as code"]);
  await field.fill("lunch");
  const kinds = await dialog.getByRole("option").locator(".palette-kind").allInnerTexts();
  expect(kinds).toEqual(["Checkpoint of this thread", "Thread"]);
});
