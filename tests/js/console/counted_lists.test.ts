/** Lists with counts: subjects and what they have, kinds of sessions, and namespaces. Each is longer than a page of the server. */

import type { Page } from "playwright-core";
import { Client, label } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { newKey } from "../support/server.js";
import { retry } from "./acting.js";
import { violations } from "./axe.js";
import { hostileTexts } from "./hostile_texts.js";
import { Stage } from "./stage.js";

/** More than a page of 100. */
const MANY = 120;
const NARROW = { width: 360, height: 740 };
const [HOSTILE = ""] = hostileTexts("http://trap.test");
/** The longest that a kind can be. */
const LONG_KIND = "k".repeat(64);
let stage: Stage;
let key: string;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
  key = await newKey(stage.server.place);
  client = new Client({ url: stage.server.url, apiKey: key });
  await fillSubjects();
  await fillKinds();
  await fillNamespaces();
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

const numbered = (name: string) =>
  Array.from({ length: MANY }, (_, at) => `${name}-${String(at).padStart(3, "0")}`);

async function fillSubjects(): Promise<void> {
  for (const subject of numbered("subject")) await client.keys.create({ subject });
  const { key: ofAnn } = await client.keys.create({ subject: "ann" });
  const ann = new Client({ url: stage.server.url, apiKey: ofAnn });
  await ann.threads.create({ threadId: "ann's first", title: "First of Ann" });
  await ann.threads.create({ threadId: "ann's second", title: "Second of Ann" });
  await client.threads.create({ threadId: "nobody's", title: "Of nobody" });
  for (const at of [1, 2, 3]) await ann.store.put(["ann", "notes"], `note ${at}`, { at });
  await ann.sessions.append({ kind: "claude", key: ["ann's"] }, [{ data: {} }]);
  const { key: ofHostile } = await client.keys.create({ subject: HOSTILE });
  const hostile = new Client({ url: stage.server.url, apiKey: ofHostile });
  await hostile.store.put([label(HOSTILE)], "a", { a: 1 });
}

async function fillKinds(): Promise<void> {
  for (const kind of numbered("kind")) await client.sessions.create({ kind, key: ["a"] });
  for (const part of ["a", "b"]) await client.sessions.create({ kind: "claude", key: [part] });
  await client.sessions.create({ kind: LONG_KIND, key: ["a"] }, { title: "Of a long kind" });
}

async function fillNamespaces(): Promise<void> {
  for (const name of numbered("n")) await client.store.put(["many", name], "a", {});
  await client.store.put(["zoo", HOSTILE.replaceAll(".", "")], "a", {});
}

/** A page of somebody who is logged in. */
async function open(address: string, secret = key, size = { width: 1_280, height: 900 }) {
  const opened = await stage.page(`#/login?token=${secret}`, size);
  await opened.page.getByRole("heading", { name: "Home" }).waitFor();
  await stage.go(opened.page, address);
  return opened;
}

/** Both appearances, and no part of the page beyond its side. */
async function expectAccessible(page: Page): Promise<void> {
  for (const theme of ["light", "dark"]) {
    await page.getByLabel("Appearance").selectOption(theme);
    expect(await violations(page), theme).toEqual([]);
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
}

/** Has the server refuse a path until the function that is returned is called. */
async function refuse(page: Page, path: string): Promise<() => Promise<void>> {
  const problem = { type: "about:blank", title: "no", status: 500, code: "internal", detail: "no" };
  const body = JSON.stringify(problem);
  const answer = { status: 500, contentType: "application/problem+json", body };
  await page.route(`**${path}*`, (route) => route.fulfill(answer));
  return () => page.unroute(`**${path}*`);
}

describe("subjects", () => {
  it("are shown with what they have, and lead to it", async () => {
    const opened = await open("#/access");
    const { page } = opened;
    await page.getByRole("tab", { name: "Subjects" }).click();
    expect(page.url()).toMatch(/#\/access\?show=subjects$/);
    const rows = page.getByRole("list", { name: "Subjects" }).getByRole("listitem");
    const ann = rows.filter({ has: page.getByText("ann", { exact: true }) });
    const counts = ["1 key", "2 threads", "1 session", "0 snapshots", "3 items"];
    for (const text of counts) await ann.getByText(text, { exact: true }).waitFor();
    const { subjects } = await client.subjects.list();
    const told = subjects.find(({ subject }) => subject === "ann");
    expect(told).toMatchObject({ keys: 1, threads: 2, sessions: 1, items: 3, partial: false });
    const size = `${told?.sizeBytes.toLocaleString("en")} bytes`;
    expect(await ann.getByTitle(size).count()).toBe(1);
    await ann.getByRole("link", { name: "2 threads" }).click();
    await page.getByText("First of Ann").waitFor();
    await page.getByText("2 threads", { exact: true }).waitFor();
    expect(await page.locator(".thread-row").count()).toBe(2);
    await page.getByRole("link", { name: "Show all" }).click();
    await page.getByText("Of nobody").waitFor();
    await page.goBack();
    await page.goBack();
    await ann.getByRole("link", { name: "3 items" }).click();
    await page.getByRole("link", { name: "note 3" }).waitFor();
    await page.goBack();
    await ann.getByRole("link", { name: "drive" }).click();
    await page.getByRole("heading", { name: "Files" }).waitFor();
    expect(page.url()).toMatch(/#\/files\/drive\?subject=ann$/);
    await stage.expectQuiet(opened);
  });

  it("come page by page in few rows, with texts that mean harm as texts", async () => {
    const opened = await open("#/access?show=subjects", key, NARROW);
    const { page } = opened;
    const list = page.getByRole("list", { name: "Subjects" });
    const hostile = list.getByRole("listitem").filter({ hasText: HOSTILE });
    await hostile.getByText("1 item", { exact: true }).waitFor();
    await expectAccessible(page);
    await hostile.getByRole("link", { name: "1 item" }).click();
    await page.getByRole("link", { name: "a", exact: true }).waitFor();
    await stage.go(page, "#/access?show=subjects");
    const last = list.getByText(numbered("subject").at(-1) ?? "", { exact: true });
    let most = 0;
    await expect
      .poll(async () => {
        most = Math.max(most, await list.getByRole("listitem").count());
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        return await last.count();
      })
      .toBe(1);
    expect(most).toBeLessThan(60);
    expect(await page.evaluate(() => (window as { pwned?: unknown }).pwned)).toBeUndefined();
    await stage.expectQuiet(opened);
  });

  it("are erased from their rows, after the name is typed", async () => {
    const { key: secret } = await client.keys.create({ subject: "aaa" });
    const aaa = new Client({ url: stage.server.url, apiKey: secret });
    await aaa.threads.create({ threadId: "of aaa" });
    const opened = await open("#/access?show=subjects");
    const { page } = opened;
    const list = page.getByRole("list", { name: "Subjects" });
    const row = list.getByRole("listitem").filter({ has: page.getByText("aaa", { exact: true }) });
    await row.getByRole("button", { name: "Erase" }).click();
    const dialog = page.getByRole("dialog", { name: "Erase a subject" });
    expect(await dialog.getByLabel("Subject").inputValue()).toBe("aaa");
    const erase = dialog.getByRole("button", { name: "Erase", exact: true });
    expect(await erase.isDisabled()).toBe(true);
    await dialog.getByLabel("Type the name to confirm").fill("aaa");
    await erase.click();
    const receipt = page.getByRole("dialog", { name: "The receipt" });
    await receipt.getByText("aaa was erased").waitFor();
    await receipt.getByRole("button", { name: "Done" }).click();
    await row.waitFor({ state: "detached" });
    expect(await client.threads.get("of aaa")).toBeUndefined();
    await stage.expectQuiet(opened);
  });

  it("that cannot be read, or are none of the caller's business, are said to be so", async () => {
    const { page } = await open("#/access");
    const allow = await refuse(page, "/v1/subjects");
    await page.getByRole("tab", { name: "Subjects" }).click();
    await page.getByRole("alert").getByText("internal", { exact: true }).waitFor();
    await allow();
    await retry(page, page.getByRole("list", { name: "Subjects" }));
    const { key: ofBob } = await client.keys.create({ subject: "bob" });
    const bob = await open("#/access?show=subjects", ofBob);
    await bob.page.getByText("This key or token may not see it").waitFor();
    await stage.expectQuiet(bob);
  });
});

describe("kinds of sessions", () => {
  it("are choices with counts, and what is typed is shown as well", async () => {
    const opened = await open("#/sessions", key, NARROW);
    const { page } = opened;
    const kinds = page.getByRole("navigation", { name: "Kinds of sessions" });
    const row = (kind: string) =>
      kinds.getByRole("listitem").filter({ has: page.getByRole("link", { name: kind }) });
    // Ann's, and two of nobody.
    await row("claude").getByText("3 sessions").waitFor();
    const claude = kinds.getByRole("link", { name: "claude" });
    expect(await claude.getAttribute("aria-current")).toBe("page");
    expect(await page.getByLabel("Kind", { exact: true }).inputValue()).toBe("claude");
    await expectAccessible(page);
    await kinds.getByRole("link", { name: "kind-007" }).click();
    expect(page.url()).toMatch(/#\/sessions\?kind=kind-007$/);
    await page
      .getByRole("list", { name: "Sessions" })
      .getByRole("link", { name: "a", exact: true })
      .waitFor();
    // The last kind is on the second page, and can be typed before that is loaded.
    expect(await row(LONG_KIND).count()).toBe(0);
    await page.getByLabel("Kind", { exact: true }).fill(LONG_KIND);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.getByRole("link", { name: "Of a long kind" }).waitFor();
    await page.getByRole("button", { name: "More kinds" }).click();
    await row(LONG_KIND).getByText("1 session").waitFor();
    const chosen = kinds.getByRole("link", { name: LONG_KIND });
    expect(await chosen.getAttribute("aria-current")).toBe("page");
    expect(await page.getByRole("button", { name: "More kinds" }).count()).toBe(0);
    expect(await kinds.getByRole("listitem").count()).toBe(MANY + 2);
    await expectAccessible(page);
    await stage.expectQuiet(opened);
  });

  it("that cannot be read leave the list as it is", async () => {
    const { page } = await open("#/");
    const allow = await refuse(page, "/v1/sessions/kinds");
    await stage.go(page, "#/sessions");
    await page.getByRole("alert").getByText("internal", { exact: true }).waitFor();
    await page
      .getByRole("list", { name: "Sessions" })
      .getByRole("link", { name: "a", exact: true })
      .waitFor();
    await allow();
    await retry(page, page.getByRole("navigation", { name: "Kinds of sessions" }));
  });

  it("are those of the caller, and none for a token of one session", async () => {
    const grants = { sessions: [{ prefix: "kind-001:", actions: ["read" as const] }] };
    const some = await open("#/sessions", (await client.tokens.mint({ grants })).token);
    const kinds = some.page.getByRole("navigation", { name: "Kinds of sessions" });
    await kinds.getByRole("link", { name: "kind-001" }).waitFor();
    expect(await kinds.getByRole("listitem").count()).toBe(1);
    const one = { sessions: [{ id: "claude:a", actions: ["read" as const] }] };
    const single = await open("#/sessions", (await client.tokens.mint({ grants: one })).token);
    await single.page.getByRole("link", { name: "claude: a" }).waitFor();
    const shown = single.page.getByRole("navigation", { name: "Kinds of sessions" });
    expect(await shown.count()).toBe(0);
    for (const opened of [some, single]) await stage.expectQuiet(opened);
  });
});

describe("namespaces", () => {
  it("have the counts of their items, and those beyond a page come when they are asked for", async () => {
    const opened = await open("#/store", key, NARROW);
    const { page } = opened;
    const tree = page.getByRole("navigation", { name: "Namespaces" });
    const counts = (name: string) =>
      tree
        .locator(".counted-link")
        .filter({ has: page.getByRole("link", { name, exact: true }) })
        .locator(".count")
        .innerText();
    await tree.getByRole("link", { name: "many", exact: true }).waitFor();
    // `ann` and `many` hold no item themselves.
    expect(await counts("ann")).toMatch(/^3\s+items$/);
    expect(await counts("notes")).toMatch(/^3\s+items$/);
    expect(await counts("many")).toMatch(/^9\d\+\s+items$/);
    expect(await tree.getByRole("link", { name: "zoo" }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole("button", { name: "More namespaces" }).click();
    await tree.getByRole("link", { name: "zoo" }).waitFor();
    expect(await counts("many")).toMatch(new RegExp(`^${MANY}\\s+items$`));
    expect(await counts("zoo")).toMatch(/^1\s+items$/);
    expect(await page.getByRole("button", { name: "More namespaces" }).count()).toBe(0);
    await tree.getByRole("link", { name: HOSTILE.replaceAll(".", "") }).click();
    await page.getByRole("link", { name: "a", exact: true }).waitFor();
    expect(await page.evaluate(() => (window as { pwned?: unknown }).pwned)).toBeUndefined();
    await expectAccessible(page);
    await stage.expectQuiet(opened);
  });

  it("that cannot be read are said to be so, and can be asked for again", async () => {
    const { page } = await open("#/");
    const allow = await refuse(page, "/v1/store/namespaces");
    await stage.go(page, "#/store");
    await page.getByRole("alert").getByText("internal", { exact: true }).waitFor();
    await allow();
    await retry(page, page.getByRole("navigation", { name: "Namespaces" }));
    const grants = { threads: [{ id: "t", actions: ["read" as const] }] };
    const other = await open("#/store", (await client.tokens.mint({ grants })).token);
    await other.page.getByText("namespaces:read").first().waitFor();
  });
});

it("the code of a page calls what it shows", async () => {
  const { page } = await open("#/access?show=subjects");
  const code = async (address: string, language: string) => {
    await stage.go(page, address);
    await page.getByRole("button", { name: "Show as code" }).click();
    await page.getByRole("tab", { name: language }).click();
    const text = await page.getByRole("dialog").locator("pre").innerText();
    await page.keyboard.press("Escape");
    return text;
  };
  expect(await code("#/access?show=subjects", "curl")).toContain("/v1/subjects?limit=100");
  const sessions = await code("#/sessions?kind=claude", "TypeScript");
  expect(sessions).toContain('client.sessions.list("claude", ');
  expect(sessions).toContain("client.sessions.kinds(");
  expect(await code("#/store", "TypeScript")).toContain("client.store.listNamespaces({ counts:");
});
