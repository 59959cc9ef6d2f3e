/** Retention in the console: a rule says what it does, counts before it deletes, and reports what went. */

import { Client, type Grants } from "threadkeep";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { packed } from "../support/messagepack.js";
import { newKey } from "../support/server.js";
import { sleep } from "../support/waiting.js";
import { open as openAction, send, undo } from "./acting.js";
import { plan } from "./agents.js";
import { Stage } from "./stage.js";

let stage: Stage;
let key: string;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

/** A tenant of its own with a thread of many checkpoints. */
async function newTenant(threadId: string): Promise<number> {
  key = await newKey(stage.server.place);
  client = new Client({ url: stage.server.url, apiKey: key });
  await plan({ url: stage.server.url, apiKey: key }, threadId);
  return await checkpointsOf(threadId);
}

async function checkpointsOf(threadId: string): Promise<number> {
  return (await client.threads.get(threadId))?.checkpointCount ?? 0;
}

async function open(address: string, secret = key) {
  const opened = await stage.page(`#/login?token=${secret}`);
  await opened.page.getByRole("heading", { name: "Home" }).waitFor();
  await stage.go(opened.page, address);
  return opened;
}

it("a rule deletes only after its dry run was shown, and then what it showed", async () => {
  const before = await newTenant("trip");
  expect(before).toBeGreaterThan(4);
  const opened = await open("#/retention");
  const { page } = opened;
  await page.getByText("The tenant has no rule").waitFor();
  await page.getByText("There is no report").waitFor();
  const form = await openAction(page, "Set the rule", "Set the rule");
  const count = form.getByRole("button", { name: "Count what would go" });
  await form.getByText("A rule of the tenant needs a limit.").waitFor();
  expect(await count.isDisabled()).toBe(true);
  await form.getByLabel("Newest checkpoints that stay").fill("2");
  await form.getByLabel("Keep threads that wait").uncheck();
  const sentence = "A checkpoint is deleted when it is not among the newest 2 of its namespace.";
  await form.getByText(sentence).waitFor();
  await count.click();
  const counted = page.getByRole("dialog", { name: "What would go" });
  await counted.getByText("It would delete 0 whole threads").waitFor();
  const [dry] = (await client.listRetentionReports()).reports;
  expect(dry).toMatchObject({ dryRun: true, threadsPruned: 1 });
  const wouldGo = dry?.removed.checkpoints ?? 0;
  expect(wouldGo).toBeGreaterThan(0);
  await counted.getByText(`together ${wouldGo} checkpoint`).waitFor();
  expect(await checkpointsOf("trip")).toBe(before);
  expect(await client.getRetentionPolicy()).toMatchObject({ dryRun: true, keepLast: 2 });
  await send(counted, "Let it delete");
  await expect.poll(() => checkpointsOf("trip")).toBe(before - wouldGo);
  expect(await client.getRetentionPolicy()).toMatchObject({ dryRun: false, keepLast: 2 });
  await page.reload();
  await page.getByText(sentence).waitFor();
  const reports = page.getByRole("list", { name: "Reports" });
  const done = reports.getByRole("listitem").filter({ hasText: "pruned 1 thread" });
  await done.getByText(`${wouldGo} checkpoints`).waitFor();
  await stage.expectQuiet(opened);
});

it("who cancels leaves a dry run, which Undo takes back", async () => {
  const before = await newTenant("trip");
  await client.putRetentionPolicy({ expireAfterSeconds: 86_400 });
  const { page } = await open("#/retention");
  await page.getByText("A thread without a commit for 1 day is deleted").waitFor();
  const form = await openAction(page, "Set the rule", "Set the rule");
  await form.getByText("The rule that is on now stops with it.").waitFor();
  await form.getByLabel("Threads are deleted without a commit for", { exact: true }).fill("1");
  await form.getByLabel("without a commit for: unit").selectOption("seconds");
  await form.getByLabel("Keep threads that wait").uncheck();
  // The thread becomes old enough.
  await sleep(1_100);
  await form.getByRole("button", { name: "Count what would go" }).click();
  const counted = page.getByRole("dialog", { name: "What would go" });
  await counted.getByText("It would delete 1 whole thread,").waitFor();
  await send(counted, "Cancel");
  await page.getByText("It is a dry run: it reports what would go").waitFor();
  expect(await client.getRetentionPolicy()).toMatchObject({ dryRun: true, expireAfterSeconds: 1 });
  await undo(page, "The rule is as it was.");
  expect(await client.getRetentionPolicy()).toMatchObject({
    ...{ dryRun: false, expireAfterSeconds: 86_400, keepInterrupted: true },
  });
  expect(await checkpointsOf("trip")).toBe(before);
});

it("a rule that somebody else has changed meanwhile is left alone", async () => {
  await newTenant("trip");
  await client.putRetentionPolicy({ keepLast: 5, dryRun: true });
  const { page } = await open("#/retention");
  const form = await openAction(page, "Run now", "Run now");
  await form.getByRole("button", { name: "Count what would go" }).click();
  const counted = page.getByRole("dialog", { name: "What would go" });
  await counted.getByText("It would delete").waitFor();
  await client.putRetentionPolicy({ keepLast: 1, dryRun: true });
  await counted.getByRole("button", { name: "Let it delete" }).click();
  await counted.getByText("Somebody else has changed the rule meanwhile").waitFor();
  expect(await client.getRetentionPolicy()).toMatchObject({ dryRun: true, keepLast: 1 });
});

it("a thread has a rule of its own, which is opened by its id", async () => {
  const before = await newTenant("kept/for ever");
  await client.putRetentionPolicy({ keepLast: 1, keepInterrupted: false, dryRun: true });
  const { page } = await open("#/retention");
  await page.getByLabel("Thread id").fill("kept/for ever");
  await page.getByRole("button", { name: "Open the rule" }).click();
  await expect.poll(() => page.url()).toContain("#/retention?thread=kept%2Ffor%20ever");
  await page.getByText("The thread has no rule of its own").waitFor();
  const form = await openAction(page, "Set the rule", "Set the rule");
  await form.getByText("It has no limit, so it deletes nothing.").waitFor();
  await form.getByRole("button", { name: "Count what would go" }).click();
  const counted = page.getByRole("dialog", { name: "What would go" });
  await counted.getByText("together 0 checkpoints").waitFor();
  await send(counted, "Let it delete");
  await page.getByText("It replaces the rule of the tenant for this thread.").waitFor();
  await client.putRetentionPolicy({ keepLast: 1, keepInterrupted: false });
  await client.runRetention();
  await expect
    .poll(async () => (await client.listRetentionReports()).reports.map((one) => one.threadId))
    .toContain("kept/for ever");
  expect(await checkpointsOf("kept/for ever")).toBe(before);
  await stage.go(page, "#/retention");
  const rules = page.getByRole("list", { name: "Threads with rules of their own" });
  await rules.getByRole("link", { name: "kept/for ever" }).waitFor();
  const reports = page.getByRole("list", { name: "Reports" });
  await reports.getByRole("link", { name: "kept/for ever" }).first().click();
  await page.getByText("The own rule of the thread").waitFor();
  const deleting = await openAction(page, "Delete the rule", "Delete the rule");
  await send(deleting, "Delete");
  await page.getByText("The thread has no rule of its own").waitFor();
  await undo(page, "The rule is there again.");
  expect(await client.getRetentionPolicy("kept/for ever")).toMatchObject({ dryRun: false });
});

it("a token of one thread sees and sets its rule, and not that of the tenant", async () => {
  await newTenant("trip");
  const actions = ["read", "append", "write"];
  const grants = { threads: [{ id: "trip", actions }] } as Grants;
  const { token } = await client.tokens.mint({ grants, ttlSeconds: 600 });
  const opened = await open("#/retention?thread=trip", token);
  const { page } = opened;
  const form = await openAction(page, "Set the rule", "Set the rule");
  await form.getByLabel("Newest checkpoints that stay").fill("3");
  await form.getByRole("button", { name: "Count what would go" }).click();
  const counted = page.getByRole("dialog", { name: "What would go" });
  await counted.getByText("checkpoints of 1 other thread").waitFor();
  await send(counted, "Cancel");
  expect(await client.getRetentionPolicy("trip")).toMatchObject({ dryRun: true, keepLast: 3 });
  const sections = page.getByRole("navigation", { name: "Sections" });
  expect(await sections.getByRole("link", { name: "Retention" }).count()).toBe(0);
  await stage.go(page, "#/retention");
  await page.getByText("This key or token may not see it").waitFor();
  await stage.go(page, "#/retention?thread=other");
  await page.getByText("threads:read for other").waitFor();
  await stage.expectQuiet(opened);
});

it("a round with failures says how many threads and why", async () => {
  await newTenant("trip");
  const opened = await open("#/");
  const { page } = opened;
  await page.route("**/v1/retention/reports*", async (route) => {
    const report = {
      ...{ report_id: "r", started_at: "2026-01-31T12:00:00Z", dry_run: false, errors: 2 },
      ...{ finished_at: "2026-01-31T12:00:02.5Z", last_error: "<img src=x onerror=pwned=1>" },
      ...{ threads_examined: 5, threads_expired: 1, threads_pruned: 3, threads_skipped: 1 },
      removed: { checkpoints: 7, writes: 1, values: 9, size_bytes: 2_048, stored_bytes: 512 },
    };
    await route.fulfill({
      contentType: "application/msgpack",
      body: packed({ reports: [report] }),
    });
  });
  await stage.go(page, "#/retention");
  const row = page.getByRole("list", { name: "Reports" }).getByRole("listitem");
  await row.getByText("2 threads failed: <img src=x onerror=pwned=1>").waitFor();
  const said = await row.innerText();
  expect(said).toMatch(/took 2\.5 s.*5 threads looked at.*deleted 1 thread.*pruned 3 threads/s);
  expect(said).toMatch(/1 thread with a lease left alone.*7 checkpoints, 1 write, 9 values/s);
  expect(said).toMatch(/2\.0 KiB, stored as 512 B/);
  await stage.expectQuiet(opened);
});
