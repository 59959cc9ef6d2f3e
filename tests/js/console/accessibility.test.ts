/**
 * Screens of the console by the rules of axe-core, light and dark, narrow and wide; and what a narrow page needs. Meanwhile other views are
 * left alone: an idle page asks nothing for a minute, or seldom where no stream tells it of changes.
 */

import { Client } from "threadkeep";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { checkpoint, put } from "../support/checkpoints.js";
import { run } from "../support/server.js";
import { waitUntil } from "../support/waiting.js";
import { open, send } from "./acting.js";
import { FILE, plan } from "./agents.js";
import { violations } from "./axe.js";
import { IdleViews } from "./idle.js";
import { Stage } from "./stage.js";

const SIZES = [
  { width: 1_280, height: 900 },
  { width: 360, height: 740 },
];
const NO_SNAPSHOT = "no such snapshot";
const SCREENS: [name: string, address: string, shown: string][] = [
  ["Home", "#/", "waits for a person"],
  ["Threads", "#/threads", "Plan a trip by boat"],
  ["no thread", "#/threads?status=error", "No thread meets the filter"],
  ["Inbox", "#/inbox", "May the agent call"],
  ["conversation", "#/threads/trip", "May the agent call"],
  ["timeline", "#/threads/trip/timeline", "Step 9"],
  ["state", "#/threads/trip/state", "messages"],
  ["a diff of two threads", "#/threads/two/diff?from=c1&to=c1&from_thread=one", "are of two"],
  ["storage", "#/threads/trip/storage", "no other thread"],
  ["no such thread", "#/threads/nobody", "There is no such thread"],
  ["Store", "#/store/ann", "first"],
  ["an item", "#/store/ann/notes?key=first", "kind"],
  ["Files", "#/files", "ann"],
  ["a folder", "#/files/ns/ann/notes", "The folder is empty"],
  ["files by line", "#/files/ns/ann/files?grep=tide", "/plans/boat.md"],
  ["a line of a file", "#/files/ns/ann/files?path=%2Fplans%2Fboat.md&line=2", "the tide"],
  ["Sessions", "#/sessions", "long"],
  ["no session", "#/sessions?kind=other", "There are no sessions"],
  ["a session", "#/sessions/claude/work/long", "Look at the sea"],
  ["its entries", "#/sessions/claude/work/long?view=entries", "entry 1"],
  ["its document", "#/sessions/claude/work/long?doc=plan", "boats"],
  ["a trace", "#/sessions/agentrail/acme/one?stream=trace", "turn.start"],
  ["an orchestration", "#/sessions/agentrail/acme/one?view=orchestration", "Skipper"],
  ["no such session", "#/sessions/claude/nobody", "There is no such session"],
  ["Snapshots", "#/snapshots", "why=lunch"],
  ["a snapshot", "#/snapshots/lunch", "1 entry"],
  [NO_SNAPSHOT, "#/snapshots/none", "There is no such snapshot"],
  ["Access without keys", "#/access", "The tenant has no keys"],
  ["Access without tokens", "#/access?show=tokens", "No token is valid"],
  ["Access without subjects", "#/access?show=subjects", "The tenant has no subjects"],
  ["threads of a subject", "#/threads?owner=ann", "Threads of the subject ann"],
  ["Audit", "#/audit", "1 event to download"],
  ["no event", "#/audit?act=role_created", "No event meets the filter"],
  ["Usage", "#/usage", "no limit"],
  ["Retention", "#/retention", "It is a dry run"],
  ["no own rule", "#/retention?thread=trip", "The thread has no rule of its own"],
  ["Health", "#/health", "no credential"],
  ["Connect", "#/connect", "create_deep_agent"],
  ["not a page", "#/nowhere", "There is no page at this address"],
];
let stage: Stage;
let idle: IdleViews;

beforeAll(async () => {
  idle = await IdleViews.open();
  stage = await Stage.open();
  await plan({ url: stage.server.url }, "trip");
  const store = new ThreadkeepStore({ url: stage.server.url });
  await store.put(["ann", "notes"], "first", {
    kind: "note",
    lines: ["a", "b"],
    deep: { x: [1, null, true] },
  });
  const client = new Client({ url: stage.server.url });
  const session = { kind: "claude", key: ["work", "long".repeat(30)] };
  const data = { type: "user", message: { role: "user", content: "Look at the sea" } };
  await client.sessions.append(session, [{ data }]);
  const shown = { kind: "claude", key: ["work", "long"] };
  await client.sessions.append(shown, [{ data }]);
  await client.sessions.putDocument(shown, "plan", '{"boats": 1}');
  await client.snapshots.take({
    snapshotId: "lunch",
    sessions: [session],
    labels: { why: "lunch" },
  });
  await client.putRetentionPolicy({ keepLast: 5, dryRun: true });
  const saver = new ThreadkeepSaver({ url: stage.server.url });
  await put(saver, "one", checkpoint("c1", { note: "before", list: [1, 2] }));
  await put(saver, "two", checkpoint("c1", { note: "after", list: [1, 2] }));
  await client.files.write(["ann", "files"], "/plans/boat.md", "# Boat\nlook at the tide\n");
  const orchestrated = { kind: "agentrail", key: ["acme", "one"] };
  const event = { type: "turn.start", turn: 1 };
  await client.sessions.append(orchestrated, [{ data: { source: "runtime", event } }], {
    stream: "trace",
  });
  const agent = { id: "a", displayName: "Skipper", role: "worker", status: "idle" };
  const state = { runs: { r: { id: "r", status: "running" } }, agents: { a: agent } };
  await client.sessions.putDocument(orchestrated, "orch/snapshot", JSON.stringify(state));
});

afterEach(() => stage.closePages());

afterAll(async () => {
  await stage.close();
  await idle.close();
});

describe.each(SIZES)("at $width px", (size) => {
  it.each(SCREENS)("%s", async (name, address, shown) => {
    const opened = await stage.page(address, size);
    const { page } = opened;
    await page.getByText(shown).first().waitFor();
    for (const theme of ["light", "dark"]) {
      await page.getByLabel("Appearance").selectOption(theme);
      expect(await violations(page), theme).toEqual([]);
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow, "px that a narrow page is too wide").toBeLessThanOrEqual(0);
    // To get a snapshot that is not there is answered with 404, which a browser notes by itself.
    const isNoted = (error: string) => name === NO_SNAPSHOT && error.includes("404");
    await stage.expectQuiet({ page, errors: opened.errors.filter((one) => !isNoted(one)) });
  });
});

it("dialogs, and the focus that returns", async () => {
  const { page } = await stage.page("#/threads/trip");
  const opener = page.getByRole("button", { name: "Show as code" });
  await opener.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await opener.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.getByRole("button", { name: FILE }).click();
  await page.getByRole("dialog").waitFor();
  expect(await violations(page)).toEqual([]);
});

it("fields of a filter keep the focus when they change the address", async () => {
  const { page } = await stage.page("#/threads");
  const field = page.getByRole("searchbox");
  const hasFocus = () => field.evaluate((element) => element === document.activeElement);
  await field.focus();
  await page.keyboard.type("pla");
  await expect.poll(() => page.url()).toMatch(/\?q=pla$/);
  await page.getByText("Plan a trip by boat").waitFor();
  expect(await hasFocus()).toBe(true);
  await page.keyboard.type("x");
  await page.getByText("No thread meets the filter").waitFor();
  expect(await hasFocus()).toBe(true);
  expect(await field.inputValue()).toBe("plax");
});

it.each(SIZES)("forms of a rule at $width px", async (size) => {
  const opened = await stage.page("#/retention?thread=trip", size);
  const { page } = opened;
  const check = async (what: string) => {
    for (const theme of ["light", "dark"]) {
      await page.evaluate((one) => {
        document.documentElement.dataset["theme"] = one;
      }, theme);
      expect(await violations(page), `${what}, ${theme}`).toEqual([]);
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow, what).toBeLessThanOrEqual(0);
  };
  const form = await open(page, "Set the rule", "Set the rule");
  await check("an empty form");
  await form.getByLabel("Newest checkpoints that stay").fill("none");
  await check("a field that is wrong");
  await form.getByLabel("Newest checkpoints that stay").fill("1000");
  await form.getByRole("button", { name: "Count what would go" }).click();
  const counted = page.getByRole("dialog", { name: "What would go" });
  await counted.getByText("It would delete").waitFor();
  await check("what would go");
  await counted.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("It is a dry run: it reports").waitFor();
  await page.getByText("Rule of the thread", { exact: true }).waitFor();
  await check("a rule with a report");
  await open(page, "Run now", "Run now");
  await check("a rule is run");
  await page.keyboard.press("Escape");
  const deleting = await open(page, "Delete the rule", "Delete the rule");
  await check("a rule is deleted");
  await send(deleting, "Delete");
  await page.getByText("The thread has no rule of its own").waitFor();
  await stage.expectQuiet(opened);
});

describe.each(SIZES)("keys and tokens at $width px", (size) => {
  let key: string;

  // From the first key on, the server knows nobody without one.
  beforeAll(async () => {
    // The head of the page shows the name of the tenant.
    const tenant = `t-${"w".repeat(40)}`;
    key = (await run(stage.server.place, ["keys", "create", "--tenant", tenant])).trim();
    const client = new Client({ url: stage.server.url, apiKey: key });
    await waitUntil(
      () =>
        client.whoami().then(
          () => true,
          () => false,
        ),
      "the server to know the key",
    );
    const { keyId } = await client.keys.create({ name: "a name ".repeat(12), readOnly: true });
    await client.keys.revoke(keyId);
    await client.tokens.mint({ readOnly: true, ttlSeconds: 3_600 });
    await client.keys.create({ subject: "a subject ".repeat(12).trim() });
  });

  it("lists, forms and what is shown once", async () => {
    const opened = await stage.page(`#/login?token=${key}`, size);
    const { page } = opened;
    await page.getByRole("heading", { name: "Home" }).waitFor();
    const check = async (what: string) => {
      for (const theme of ["light", "dark"]) {
        await page.evaluate((one) => {
          document.documentElement.dataset["theme"] = one;
        }, theme);
        expect(await violations(page), `${what}, ${theme}`).toEqual([]);
      }
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, what).toBeLessThanOrEqual(0);
    };
    await stage.go(page, "#/access");
    await page.getByText("this key", { exact: true }).waitFor();
    await check("keys");
    const making = await open(page, "Make a key", "Make a key");
    await check("form of a key");
    await making.getByRole("button", { name: "Make", exact: true }).click();
    await page.getByRole("dialog", { name: "The new key" }).waitFor();
    await check("a new key");
    await page.keyboard.press("Escape");
    const building = await open(page, "Make a token", "Make a token");
    await building.getByRole("button", { name: "Add a grant" }).click();
    await check("problem of a token");
    await building.getByLabel("It may do").selectOption("the same, but only to read");
    await building.getByText("Show as code").click();
    await check("form of a token");
    await building.getByRole("button", { name: "Make", exact: true }).click();
    await page.getByRole("dialog", { name: "The new token" }).waitFor();
    await check("a new token");
    await page.keyboard.press("Escape");
    await open(page, "Revoke", "Revoke the key");
    await check("a key is revoked");
    await page.keyboard.press("Escape");
    await open(page, "Erase a subject", "Erase a subject");
    await check("a subject is erased");
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "Keys" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByText("by key_").first().waitFor();
    await check("tokens");
    await page.keyboard.press("ArrowRight");
    await page.getByText("0 threads", { exact: true }).first().waitFor();
    await check("subjects");
    await open(page, "Erase", "Erase a subject");
    await check("a subject of the list is erased");
    await page.keyboard.press("Escape");
    await stage.expectQuiet(opened);
  });
});

it("views that nobody touched asked nothing for a minute, or little, and then show what changes", () =>
  idle.expectLittleAsked());
