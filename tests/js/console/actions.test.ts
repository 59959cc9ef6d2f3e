/** Threads and snapshots are changed by clicks, and the client sees what became of them. */

import { Command } from "@langchain/langgraph";
import type { Locator, Page } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { KINDS } from "../equivalence/graphs.js";
import { open, replaceText, send, undo } from "./acting.js";
import { plan } from "./agents.js";
import { violations } from "./axe.js";
import { Stage } from "./stage.js";
import { Twins } from "./twins.js";

const THREADS = ["rename", "meta", "copy", "fork", "rewind", "prune", "delete", "restore"];
let stage: Stage;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
  client = new Client({ url: stage.server.url });
  for (const id of THREADS) await plan({ url: stage.server.url }, id);
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

async function openThread(id: string, tab = ""): Promise<Page> {
  const { page } = await stage.page(`#/threads/${id}${tab}`);
  await page.getByRole("group", { name: "Actions of the thread" }).waitFor();
  return page;
}

interface Counts {
  checkpoints: number;
  writes: number;
  sizeBytes?: number;
}

/** Reads in a dialog how much goes, and how many checkpoints stay where it says so. */
async function said(dialog: Locator): Promise<Counts & { stay: number; values?: number }> {
  const callout = dialog.locator(".callout").first();
  const text = await callout.innerText();
  const number = (of: RegExp, where = text) => Number(of.exec(where)?.[1]?.replaceAll(",", ""));
  const counts = {
    checkpoints: number(/removes ([\d,]+) checkpoint/),
    writes: number(/([\d,]+) write/),
    stay: number(/([\d,]+) checkpoints? stay/),
  };
  const size = callout.locator('[title$=" bytes"]').first();
  if ((await size.count()) === 0) return counts;
  const sizeBytes = number(/([\d,]+) bytes/, (await size.getAttribute("title")) ?? "");
  return { ...counts, values: number(/([\d,]+) value/), sizeBytes };
}

/** Returns the counts of the server for a thread. */
async function stored(threadId: string): Promise<Required<Counts>> {
  const found = await client.threads.getStorage(threadId);
  if (!found) throw new Error(`there is no thread ${threadId}`);
  const { checkpoints, writes, logicalBytes: sizeBytes } = found;
  return { checkpoints, writes, sizeBytes };
}

/** Returns the counts of a thread without what goes. */
function without(before: Required<Counts>, gone: Counts): Counts {
  const { checkpoints, writes, sizeBytes } = before;
  const left = {
    checkpoints: checkpoints - gone.checkpoints,
    writes: writes - gone.writes,
  };
  return gone.sizeBytes === undefined ? left : { ...left, sizeBytes: sizeBytes - gone.sizeBytes };
}

it("a thread is renamed by keys alone, and Undo takes the title back", async () => {
  const page = await openThread("rename");
  const button = page.getByRole("button", { name: "Rename", exact: true });
  await button.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Rename the thread" });
  await dialog.waitFor();
  // The field has the focus at once, and Escape gives it back to the button.
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("A boat trip");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "A boat trip" }).waitFor();
  expect(await client.threads.get("rename")).toMatchObject({
    title: "A boat trip",
    titleFrom: "set",
  });
  await undo(page, "The title is as it was.");
  await page.getByRole("heading", { name: "Plan a trip by boat" }).waitFor();
  expect(await client.threads.get("rename")).toMatchObject({ titleFrom: "first_message" });
});

it("metadata is edited exactly, and a conflict shows both sides", async () => {
  const kept = `{"score":1.0,"big":${2n ** 70n},"color":"red"}`;
  await client.threads.update("meta", { metadataText: kept, replaceMetadata: true });
  const page = await openThread("meta");
  const dialog = await open(page, "Metadata", "Metadata of the thread");
  const field = dialog.getByLabel("Metadata, an object of JSON");
  await field.waitFor();
  const shown = await field.inputValue();
  expect(shown).toContain('"score": 1.0');
  await field.fill(`${shown},`);
  expect(await dialog.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
  await field.fill(shown.replace('"red"', '"blue"'));
  // Somebody else is faster.
  await client.threads.update("meta", { metadata: { color: "green" } });
  await dialog.getByRole("button", { name: "Save" }).click();
  const conflict = dialog.getByRole("region", { name: "Conflict" });
  await conflict.waitFor();
  expect(await conflict.locator(".side-removed").allInnerTexts()).toEqual([
    expect.stringContaining("green"),
  ]);
  expect(await conflict.locator(".side-added").allInnerTexts()).toEqual([
    expect.stringContaining("blue"),
  ]);
  expect(await violations(page)).toEqual([]);
  await send(dialog, "Save");
  const saved = (await client.threads.getMetadataText("meta"))?.text ?? "";
  expect(saved).toContain('"score":1.0');
  expect(saved).toContain(`"big":${2n ** 70n}`);
  expect(saved).toContain('"color":"blue"');
  await undo(page, "The metadata is as it was.");
  expect((await client.threads.getMetadataText("meta"))?.text).toContain("green");
});

it("a copy has everything, and an id that is taken is said", async () => {
  const page = await openThread("copy");
  const dialog = await open(page, "Copy", "Copy the thread");
  await replaceText(dialog, "Id of the new thread", "meta");
  await dialog.getByRole("button", { name: "Copy", exact: true }).click();
  const alert = dialog.getByRole("alert");
  await alert.waitFor();
  expect(await alert.innerText()).toMatch(/thread_exists[\s\S]*request/);
  await replaceText(dialog, "Id of the new thread", "the copy");
  await send(dialog, "Copy");
  await page.getByText("the copy", { exact: true }).first().waitFor();
  const [source, copy] = [await client.threads.get("copy"), await client.threads.get("the copy")];
  expect(copy?.checkpointCount).toBe(source?.checkpointCount);
});

it("a fork begins at the checkpoint of the address", async () => {
  const { checkpoints } = await client.checkpoints.list({ threadId: "fork", checkpointNs: "" });
  const early = checkpoints.at(-2)?.checkpointId ?? "";
  const page = await openThread("fork", `/state?cp=${early}`);
  const dialog = await open(page, "Fork", "Fork the thread");
  await dialog.getByText(early).waitFor();
  await replaceText(dialog, "Id of the new thread", "forked");
  await send(dialog, "Fork");
  const newest = await client.checkpoints.list({ threadId: "forked", checkpointNs: "", limit: 1 });
  expect(newest.checkpoints[0]?.checkpointId).toBe(early);
  expect((await client.threads.get("forked"))?.checkpointCount).toBe(2);
});

it("a rewind shows what goes, leaves what a fork has, and Undo brings the rest back", async () => {
  const before = await client.threads.get("rewind");
  const { checkpoints } = await client.checkpoints.list({ threadId: "rewind", checkpointNs: "" });
  const early = checkpoints.at(-2)?.checkpointId ?? "";
  const page = await openThread("rewind", `/state?cp=${early}`);
  const dialog = await open(page, "Rewind", "Rewind the thread");
  const said = await client.threads.rewind("rewind", { checkpointId: early, dryRun: true });
  expect(said.checkpointsRemoved).toBeGreaterThan(1);
  await dialog.getByText(`It removes ${said.checkpointsRemoved} checkpoints`).waitFor();
  expect(await violations(page)).toEqual([]);
  await send(dialog, "Rewind");
  expect((await client.threads.get("rewind"))?.checkpointCount).toBe(said.checkpoints);
  const newest = await client.checkpoints.list({ threadId: "rewind", checkpointNs: "", limit: 1 });
  expect(newest.checkpoints[0]?.checkpointId).toBe(early);
  await undo(page, "The thread is as it was before.");
  expect((await client.threads.get("rewind"))?.checkpointCount).toBe(before?.checkpointCount);
});

it("a prune shows what goes, removes that, and Undo brings it back", async () => {
  const before = await client.threads.get("prune");
  const page = await openThread("prune");
  const dialog = await open(page, "Prune", "Prune the thread");
  await replaceText(dialog, "Newest checkpoints of each namespace that stay", "2");
  const said = await client.checkpoints.prune(["prune"], {
    ...{ keepLast: 2, keepInterrupted: true, dryRun: true },
  });
  expect(said.total.checkpoints).toBeGreaterThan(1);
  await dialog.getByText(`It removes ${said.total.checkpoints} checkpoints`).waitFor();
  expect(await violations(page)).toEqual([]);
  await send(dialog, "Prune");
  const left = (before?.checkpointCount ?? 0) - said.total.checkpoints;
  expect((await client.threads.get("prune"))?.checkpointCount).toBe(left);
  await undo(page, "The thread is as it was before.");
  expect((await client.threads.get("prune"))?.checkpointCount).toBe(before?.checkpointCount);
});

it("a thread is deleted after its id was typed, leaves the Inbox, and comes back by Undo", async () => {
  const before = await client.threads.get("delete");
  const page = await openThread("delete");
  const dialog = await open(page, "Delete", "Delete the thread");
  await dialog.getByText(`It removes ${before?.checkpointCount} checkpoints`).waitFor();
  const button = dialog.getByRole("button", { name: "Delete", exact: true });
  expect(await button.isDisabled()).toBe(true);
  await dialog.getByLabel("Type the name to confirm").fill("delet");
  expect(await button.isDisabled()).toBe(true);
  await dialog.getByLabel("Type the name to confirm").fill("delete");
  expect(await violations(page)).toEqual([]);
  await send(dialog, "Delete");
  expect(await client.threads.get("delete")).toBeUndefined();
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.locator("article.waiting").first().waitFor();
  const waiting = page.locator('article.waiting a[href="#/threads/delete"]');
  expect(await waiting.count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await undo(page, "The thread is as it was before.");
  await waiting.waitFor();
  expect(await client.threads.get("delete")).toMatchObject({
    checkpointCount: before?.checkpointCount,
    status: "interrupted",
  });
});

it("a snapshot is taken, restored with Undo, and deleted", async () => {
  const { page } = await stage.page("#/snapshots");
  await client.store.put(["boats"], "one", { name: "Ann" });
  let dialog = await open(page, "Take a snapshot", "Take a snapshot");
  await replaceText(dialog, "Threads", "restore\n");
  await replaceText(dialog, "Namespaces", "boats");
  await replaceText(dialog, "Id", "monday");
  await replaceText(dialog, "Note", "before lunch");
  expect(await violations(page)).toEqual([]);
  await send(dialog, "Take");
  await page.getByRole("heading", { name: "monday" }).waitFor();
  expect(await client.snapshots.get("monday")).toMatchObject({
    labels: { note: "before lunch" },
    threads: [{ threadId: "restore" }],
    namespaces: [{ namespace: ["boats"], items: 1 }],
  });
  await client.store.put(["boats"], "one", { name: "Bob" });
  await client.store.put(["boats"], "two", { name: "Eve" });
  await client.threads.delete("restore");
  dialog = await open(page, "Restore", "Restore the snapshot");
  await dialog.getByText("namespace boats: 1 item written, 0 unchanged, 1 removed").waitFor();
  await dialog.getByText("thread restore: made again with").waitFor();
  expect(await violations(page)).toEqual([]);
  await send(dialog, "Restore");
  expect((await client.store.get(["boats"], "one"))?.value).toEqual({ name: "Ann" });
  expect(await client.store.get(["boats"], "two")).toBeUndefined();
  expect(await client.threads.get("restore")).toBeDefined();
  await undo(page, "Everything is as it was before the restore.");
  expect((await client.store.get(["boats"], "one"))?.value).toEqual({ name: "Bob" });
  expect((await client.store.get(["boats"], "two"))?.value).toEqual({ name: "Eve" });
  dialog = await open(page, "Delete", "Delete the snapshot");
  await dialog.getByLabel("Type the name to confirm").fill("monday");
  await send(dialog, "Delete");
  expect(await client.snapshots.get("monday")).toBeUndefined();
});

describe.each(KINDS)("a real graph with %s channels", (kind) => {
  const thread = `travel-${kind}`;
  const answers = ["Ann", "blue"].map((resume) => new Command({ resume }));
  let twins: Twins;

  // Two whole turns, then one that waits for its second answer.
  beforeAll(async () => {
    twins = new Twins({ url: stage.server.url }, kind);
    for (const turn of [1, 2])
      await twins.expectEqual(thread, [{ log: [`turn ${turn}`] }, ...answers]);
    await twins.expectEqual(thread, [{ log: ["turn 3"] }, ...answers.slice(0, 1)]);
  });

  it("goes on from a fork, from a copy, and from their source as before", async () => {
    const [at, inMemory] = await twins.before(thread, "after");
    const page = await openThread(thread, `/state?cp=${at}`);
    let dialog = await open(page, "Fork", "Fork the thread");
    await replaceText(dialog, "Id of the new thread", `${thread} fork`);
    await send(dialog, "Fork");
    const fork = (await stored(`${thread} fork`)).checkpoints;
    await page.getByText(`${thread} fork has ${fork} checkpoints of ${thread}`).waitFor();
    twins.copy(thread, `${thread} fork`, inMemory);
    await stage.go(page, `#/threads/${thread}`);
    dialog = await open(page, "Copy", "Copy the thread");
    await replaceText(dialog, "Id of the new thread", `${thread} copy`);
    await send(dialog, "Copy");
    expect(await stored(`${thread} copy`)).toEqual(await stored(thread));
    twins.copy(thread, `${thread} copy`);
    // The one runs from where it was forked; the others wait, and get other answers.
    await twins.expectEqual(`${thread} fork`, [null, { log: ["another turn"] }, ...answers]);
    await twins.expectEqual(`${thread} copy`, [new Command({ resume: "green" })]);
    await twins.expectEqual(thread, []);
  });

  it("goes on from where it was rewound, and after Undo from where it was", async () => {
    const kept = twins.keep();
    const [at, inMemory] = await twins.before(thread, "ask");
    const before = await stored(thread);
    const page = await openThread(thread, `/state?cp=${at}`);
    const dialog = await open(page, "Rewind", "Rewind the thread");
    await dialog.getByText("It removes").waitFor();
    const shown = await said(dialog);
    await send(dialog, "Rewind");
    const left = await stored(thread);
    expect(left).toMatchObject(without(before, shown));
    expect(left.checkpoints).toBe(shown.stay);
    twins.rewind(thread, inMemory);
    await twins.expectEqual(thread, [null, ...answers, { log: ["another turn"] }]);
    await undo(page, "The thread is as it was before.");
    expect(await stored(thread)).toEqual(before);
    twins.putBack(kept);
    await twins.expectEqual(thread, [new Command({ resume: "red" }), { log: ["turn 4"] }]);
  });

  it("goes on after a prune, and its counts are what went", async () => {
    const page = await openThread(thread);
    const content = async () => (await client.threads.getStorage(thread))?.contentBytes ?? 0;
    for (const [keep, isKept] of [
      ["4", false],
      ["1", true],
    ] as const) {
      const [before, contentBefore] = [await stored(thread), await content()];
      const dialog = await open(page, "Prune", "Prune the thread");
      await replaceText(dialog, "Newest checkpoints of each namespace that stay", keep);
      await dialog.getByLabel("Take a snapshot first").setChecked(isKept);
      await dialog.getByText(isKept ? "until it ends" : "stored as").waitFor();
      const shown = await said(dialog);
      await send(dialog, "Prune");
      expect(await stored(thread)).toMatchObject(without(before, shown));
      // Values that the dialog names go, unless the snapshot keeps them.
      expect(shown.values).toBeGreaterThan(0);
      expect((await content()) < contentBefore).toBe(!isKept);
    }
    // What was not pruned shows the same state.
    await twins.expectEqual(thread, [...answers, { log: ["turn 5"] }], "state");
  });
});
