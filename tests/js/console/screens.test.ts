/** Differences across threads, the storage of a thread, many threads at once, what changed since a snapshot, and Agentrail's sessions. */

import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { createTraceStoreFactory, ThreadkeepAgentrailStore } from "threadkeep/agentrail";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { checkpoint, put } from "../support/checkpoints.js";
import { open, replaceText, send, undo } from "./acting.js";
import { violations } from "./axe.js";
import { Stage } from "./stage.js";

let stage: Stage;
let client: Client;
let saver: ThreadkeepSaver;

beforeAll(async () => {
  stage = await Stage.open();
  client = new Client({ url: stage.server.url });
  saver = new ThreadkeepSaver({ url: stage.server.url });
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

/** The shown difference of a channel. */
function channel(page: Page, name: string) {
  const title = page.getByRole("heading", { name, exact: true, level: 2 });
  return page.locator(".diff section", { has: title });
}

it("two threads are compared by their values, whatever their versions say", async () => {
  // The versions of all channels are 1, in both.
  await put(saver, "left", checkpoint("c1", { note: "before", same: "x", mine: 1 }));
  await put(saver, "right", checkpoint("c2", { note: "after", same: "x" }));
  const opened = await stage.page("#/threads/left/timeline");
  const { page } = opened;
  await page.getByRole("button", { name: "Mark it" }).click();
  await page.getByText("is marked. Open any thread").waitFor();
  expect(await violations(page)).toEqual([]);
  await stage.go(page, "#/threads/right/timeline");
  await page.getByRole("link", { name: "Compare with the mark" }).click();
  await channel(page, "note").locator(".side-removed", { hasText: "before" }).waitFor();
  await channel(page, "note").locator(".side-added", { hasText: "after" }).waitFor();
  await channel(page, "same").getByText("The values look alike.").waitFor();
  await channel(page, "mine").locator(".side-removed").first().waitFor();
  expect(page.url()).toMatch(/#\/threads\/right\/diff\?from=c1&to=c2&from_thread=left$/);
  await page.getByRole("link", { name: "Swap" }).click();
  await channel(page, "note").locator(".side-removed", { hasText: "after" }).waitFor();
  expect(page.url()).toMatch(/#\/threads\/left\/diff\?from=c2&to=c1&from_thread=right$/);
  // The form takes ids, and without one the newest checkpoint.
  await page.getByText("Compare other checkpoints").click();
  await page.getByLabel("From: thread id").fill("left");
  await page.getByLabel("From: checkpoint id").fill("");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.getByText("No state channel differs").waitFor();
  expect(page.url()).toMatch(/#\/threads\/left\/diff\?from=c1&to=c1$/);
  await stage.expectQuiet(opened);
});

it("a thread tells what it takes, what it shares, and its lease can be broken", async () => {
  await client.threads.copy("left", "copy of left");
  await client.acquireLease("left", "robot", { ttlSeconds: 600 });
  const opened = await stage.page("#/threads/left");
  const { page } = opened;
  await page.getByRole("link", { name: "Storage" }).click();
  const table = page.getByRole("table");
  await table.getByRole("row", { name: /^note/ }).waitFor();
  const told = await client.threads.getStorage("left");
  expect(told).toMatchObject({ sharedWith: 1, checkpoints: 1 });
  const facts = (title: string) =>
    page.locator("dl.facts > div", { has: page.getByText(title, { exact: true }) }).locator("dd");
  expect(await facts("Shared with").innerText()).toBe("1 thread");
  expect(await facts("As sent").locator("span").getAttribute("title")).toBe(
    `${told?.logicalBytes.toLocaleString("en")} bytes`,
  );
  expect(await table.getByRole("row").count()).toBe(1 + (told?.channels.length ?? 0));
  await send(await open(page, "Break the lease", "Break the lease"), "Break");
  await page.getByText("Nobody has the lease of the thread now.").waitFor();
  await client.acquireLease("left", "another", { ttlSeconds: 60 });
  await client.breakLease("left");
  await page.getByRole("link", { name: "The retention rule of the thread" }).click();
  await page.getByText("The thread has no rule of its own").waitFor();
  await stage.expectQuiet(opened);
});

it("several threads are selected, counted, deleted and brought back", async () => {
  for (const id of ["many-1", "many-2", "many-3"]) {
    await put(saver, id, checkpoint("c1"));
    await put(saver, id, checkpoint("c2"));
  }
  const opened = await stage.page("#/threads?sort=thread_id&q=many-");
  const { page } = opened;
  await page.getByRole("link", { name: "many-3" }).waitFor();
  await page.getByRole("checkbox", { name: "Select many-1" }).check();
  // The keys go on from the mark that was clicked.
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByText("2 threads are selected.").waitFor();
  expect(await page.getByRole("checkbox", { name: "Select many-2" }).isChecked()).toBe(true);
  expect(await violations(page)).toEqual([]);
  const pruning = await open(page, "Prune them", "Prune the selected threads");
  await replaceText(pruning, "Newest checkpoints of each namespace that stay", "1");
  await pruning.getByText("It removes 2 checkpoints").waitFor();
  await send(pruning, "Prune");
  await expect.poll(async () => (await client.threads.get("many-2"))?.checkpointCount).toBe(1);
  expect((await client.threads.get("many-3"))?.checkpointCount).toBe(2);
  await undo(page, "The threads are as they were before.");
  expect((await client.threads.get("many-1"))?.checkpointCount).toBe(2);
  await page.getByRole("checkbox", { name: "Select many-1" }).check();
  await page.getByRole("button", { name: "Select all that are loaded" }).click();
  await page.getByText("3 threads are selected.").waitFor();
  await page.getByRole("checkbox", { name: "Select many-3" }).uncheck();
  const deleting = await open(page, "Delete them", "Delete the selected threads");
  await deleting.getByText("It removes 4 checkpoints").waitFor();
  const button = deleting.getByRole("button", { name: "Delete", exact: true });
  await deleting.getByLabel("Type the name to confirm").fill("3 threads");
  expect(await button.isDisabled()).toBe(true);
  expect(await violations(page)).toEqual([]);
  await deleting.getByLabel("Type the name to confirm").fill("2 threads");
  await send(deleting, "Delete");
  await page.getByText("Deleted 2 threads.").waitFor();
  expect(await client.threads.count({ q: "many-" })).toBe(1);
  await undo(page, "The threads are as they were before.");
  await page.getByRole("link", { name: "many-2" }).waitFor();
  expect(await client.threads.count({ q: "many-" })).toBe(3);
  await stage.expectQuiet(opened);
});

it("a snapshot tells what has changed since", async () => {
  await put(saver, "kept", checkpoint("c1"));
  await put(saver, "written", checkpoint("c1"));
  await put(saver, "gone", checkpoint("c1"));
  for (const key of ["a", "b"]) await client.store.put(["since"], key, { n: 1 });
  const session = { kind: "own", key: ["since"] };
  await client.sessions.append(session, [{ data: 1 }]);
  await client.snapshots.take({
    snapshotId: "before",
    threads: ["kept", "written", "gone"],
    namespaces: [["since"]],
    sessions: [session],
  });
  await put(saver, "written", checkpoint("c2"));
  await client.threads.delete("gone");
  await client.store.put(["since"], "a", { n: 2 });
  await client.store.put(["since"], "c", { n: 1 });
  await client.sessions.append(session, [{ data: 2 }]);
  const opened = await stage.page("#/snapshots/before");
  const { page } = opened;
  await page.getByRole("button", { name: "Compare with now" }).click();
  await page.getByText("4 things changed or gone, 1 as in the snapshot.").waitFor();
  const rows = page.getByRole("list", { name: "Changes since the snapshot" });
  const row = (name: string) => rows.locator(".file-row", { hasText: name }).innerText();
  expect(await row("thread kept")).toContain("the same");
  expect(await row("thread written")).toContain("1 checkpoint then, 2 now");
  expect(await row("thread gone")).toContain("gone, or not granted");
  expect(await row("namespace since")).toContain("1 item changed or gone, 1 new, 1 the same");
  expect(await row("session own: since")).toContain("1 entry then, 2 now");
  expect(await violations(page)).toEqual([]);
  // It was a dry run.
  expect(await client.threads.get("gone")).toBeUndefined();
  await stage.expectQuiet(opened);
});

it("a session of Agentrail shows messages, trace, todos and its orchestration", async () => {
  const options = { url: stage.server.url };
  const store = new ThreadkeepAgentrailStore(options);
  const { sessionId, sessionRef } = await store.getOrCreate("acme", "ann", "agent");
  const at = new Date(1_800_000_000_000).toISOString();
  const usage = { inputTokens: 5, outputTokens: 7, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  await store.appendMessages("acme", sessionId, [
    { role: "user", content: "List the boats", timestamp: 1 },
    {
      ...{ role: "assistant", provider: "p", modelId: "m", stopReason: "toolUse", timestamp: 2 },
      content: [{ type: "toolCall", id: "c1", name: "ls", arguments: { path: "/boats" } }],
      usage: { ...usage, totalTokens: 12, cost },
    },
    {
      ...{ role: "toolResult", toolCallId: "c1", toolName: "ls", isError: false, timestamp: 3 },
      content: [{ type: "text", text: "sloop" }],
    },
  ]);
  await createTraceStoreFactory(options)(sessionRef).appendEnvelope({
    ...{ id: "t1", timestamp: at, sequence: 0, source: "runtime" },
    event: { type: "turn.start", turn: 1 },
  });
  const session = { kind: "agentrail", key: ["acme", sessionId] };
  await client.sessions.putDocument(session, "memo/TODO.md", "- [ ] Pack the tea\n");
  const event = (eventId: string, more: object) => ({
    id: eventId,
    data: { eventId, occurredAt: at, runId: "r", ...more },
  });
  const agent = { id: "a1", runId: "r", role: "worker", displayName: "Skipper" };
  const job = { jobId: "j", inputIds: [], outcome: "failed", error: "no wind" };
  await client.sessions.append(
    session,
    [
      event("e1", { type: "run_started", initialTask: { id: "t", kind: "sail", input: {} } }),
      event("e2", { type: "agent_spawned", agent }),
      event("e3", { type: "agent_job_failed", agentId: "a1", job }),
    ],
    { stream: "orch/events" },
  );
  const opened = await stage.page(`#/sessions/agentrail/acme/${sessionId}`);
  const { page } = opened;
  const call = page.getByRole("region", { name: "Call of the tool ls" });
  await call.locator(".call-result", { hasText: "sloop" }).waitFor();
  const places = page.getByRole("navigation", { name: "Streams and documents" });
  await places.getByRole("link", { name: "Trace", exact: true }).click();
  await page.locator(".stream-row", { hasText: "turn.start" }).getByText("runtime").waitFor();
  await places.getByRole("link", { name: "Todos", exact: true }).click();
  await page.getByText("Pack the tea").waitFor();
  await places.getByRole("link", { name: "Orchestration", exact: true }).click();
  await page.getByText("Skipper").waitFor();
  await page.getByText("no wind").waitFor();
  expect(page.url()).toContain("view=orchestration");
  await page.getByRole("link", { name: "Its events" }).click();
  await page.locator(".stream-row", { hasText: "agent_job_failed" }).waitFor();
  await stage.expectQuiet(opened);
});
