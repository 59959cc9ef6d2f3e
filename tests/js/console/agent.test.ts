/** A real deepagents agent works while the console is open: what it does appears, and can be looked into. */

import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ANSWER, allow, FILE, plan, SUBAGENT_TEXT } from "./agents.js";
import { Stage } from "./stage.js";

const THREAD = "trip/1?#\u202e";
const IN_ADDRESS = `#/threads/${encodeURIComponent(THREAD)}`;
let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
  await plan({ url: stage.server.url }, THREAD);
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

function message(page: Page, text: string) {
  return page.locator("article.message", { hasText: text });
}

it("goes from Home to the conversation, where calls have their results and the agent's file", async () => {
  const opened = await stage.page();
  const { page } = opened;
  await page.getByText("1 thread waits for a person").waitFor();
  await page.getByText(/, threadkeep \d+\.\d+\.\d+ on SQLite$/).waitFor();
  await page.getByRole("link", { name: "Plan a trip by boat" }).click();
  await message(page, "Plan a trip by boat").waitFor();
  const task = page.getByRole("region", { name: "Call of the tool task" });
  await expect.poll(() => task.locator(".call-result").innerText()).toContain(SUBAGENT_TEXT);
  await page.getByText("no result yet").waitFor();
  await page.getByRole("button", { name: FILE }).click();
  await page.getByRole("dialog").getByText("Sail at noon.").waitFor();
  await page.keyboard.press("Escape");
  await stage.expectQuiet(opened);
});

it("shows the sub-agent's conversation under its call", async () => {
  const opened = await stage.page(IN_ADDRESS);
  const task = opened.page.getByRole("region", { name: "Call of the tool task" });
  await task.getByText("Agent researcher").click();
  const inner = task.locator(".inner-conversation");
  await inner.getByText("When is the tide?").waitFor();
  await inner.getByRole("region", { name: "Call of the tool ls" }).waitFor();
  await inner.getByText(SUBAGENT_TEXT).waitFor();
  await stage.expectQuiet(opened);
});

it("asks in the Inbox, with the code that answers", async () => {
  const opened = await stage.page("#/inbox");
  const { page } = opened;
  const card = page.getByRole("region", { name: "Waits for a person" });
  await card.getByText("May the agent call search?").waitFor();
  await card.getByText("Answer by code").click();
  const code = card.locator("pre code");
  await expect
    .poll(() => code.innerText())
    .toContain('Command(resume={"decisions": [{"type": "approve"}]})');
  expect(await code.innerText()).toContain('"thread_id": "trip/1?#\\u202e"');
  await card.getByLabel("Decision").selectOption("reject");
  await expect.poll(() => code.innerText()).toContain('"type": "reject"');
  await card.getByRole("tab", { name: "TypeScript" }).click();
  await expect.poll(() => code.innerText()).toContain("new Command({ resume:");
  await stage.expectQuiet(opened);
});

it("marks what is hidden in the id of the thread", async () => {
  const { page } = await stage.page(IN_ADDRESS);
  await page.locator(".thread-facts .hidden-mark", { hasText: "U+202E" }).waitFor();
});

describe("timeline, state and diff", () => {
  it("shows the steps of both graphs, newest first, and what each changed", async () => {
    const opened = await stage.page(`${IN_ADDRESS}/timeline`);
    const { page } = opened;
    const rows = page.getByRole("list", { name: "Checkpoints" }).getByRole("listitem");
    await expect.poll(() => rows.first().innerText()).toMatch(/Step 9[\s\S]*changed: messages/);
    await page
      .getByRole("link", { name: /^tools:/ })
      .first()
      .click();
    await page.getByText("Only the namespace").waitFor();
    await expect.poll(() => rows.first().innerText()).toContain("tools:");
    await stage.expectQuiet(opened);
  });

  it("shows a channel as a tree and as it is stored", async () => {
    const opened = await stage.page(`${IN_ADDRESS}/state`);
    const { page } = opened;
    const channel = page.locator("details.channel", { hasText: "messages" });
    await channel.locator("summary").click();
    await channel.getByText("[6 entries]").waitFor();
    await channel.getByRole("button", { name: "As it is stored" }).click();
    await channel.locator("pre", { hasText: "Plan a trip by boat" }).waitFor();
    const downloading = page.waitForEvent("download");
    await channel.getByRole("button", { name: "Download" }).click();
    const path = await (await downloading).path();
    const client = new Client({ url: stage.server.url });
    expect(readFileSync(path, "utf8")).toContain("Plan a trip by boat");
    expect((await client.getThread(THREAD))?.threadId).toBe(THREAD);
    await stage.expectQuiet(opened);
  });

  it("compares two checkpoints in the worker", async () => {
    const opened = await stage.page(`${IN_ADDRESS}/timeline`);
    const { page } = opened;
    await page.getByRole("link", { name: "Diff to its parent" }).first().click();
    await page.getByText("5 entries unchanged").waitFor();
    await page.locator(".side-added", { hasText: "tool_calls" }).waitFor();
    await stage.expectQuiet(opened);
  });
});

it("shows a page as code without any key", async () => {
  const { page } = await stage.page("#/threads?status=interrupted&q=boat");
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  await page.keyboard.press(".");
  const dialog = page.getByRole("dialog");
  await expect
    .poll(() => dialog.locator("code").last().innerText())
    .toContain('status="interrupted"');
  await dialog.getByRole("tab", { name: "curl" }).click();
  await expect
    .poll(() => dialog.locator("code").last().innerText())
    .toContain("$THREADKEEP_API_KEY");
});

it("keys walk through a list and open a row", async () => {
  const { page } = await stage.page("#/threads");
  await page.getByRole("link", { name: "Plan a trip by boat" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Conversation" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("Go to the filter of the page").waitFor();
});

it("filters stand in the address and stay after a reload", async () => {
  const { page } = await stage.page("#/threads");
  await page.getByLabel("Status").selectOption("idle");
  await page.getByText("No thread meets the filter").waitFor();
  expect(page.url()).toMatch(/#\/threads\?status=idle$/);
  await page.reload();
  await page.getByText("No thread meets the filter").waitFor();
  await page.getByLabel("Status").selectOption("interrupted");
  await page.getByRole("link", { name: "Plan a trip by boat" }).waitFor();
});

it("a thread that is not there says so", async () => {
  const { page } = await stage.page("#/threads/nobody");
  await page.getByText("There is no such thread").waitFor();
});

// Ends the questions of the thread, so it comes last.
it("new messages and the end of the question appear without a reload", async () => {
  const opened = await stage.page(IN_ADDRESS);
  const inbox = await stage.page("#/inbox");
  const { page } = opened;
  await page.getByText("May the agent call search?").waitFor();
  await inbox.page.getByText("May the agent call search?").waitFor();
  await allow({ url: stage.server.url }, THREAD);
  await message(page, ANSWER).waitFor();
  const search = page.getByRole("region", { name: "Call of the tool search" });
  await expect.poll(() => search.locator(".call-result").innerText()).toContain("result of boats");
  await expect.poll(() => page.getByText("May the agent call search?").count()).toBe(0);
  await page.locator(".badge", { hasText: "idle" }).waitFor();
  await inbox.page.getByText("No thread waits for a person").waitFor();
  await stage.expectQuiet(opened);
});
