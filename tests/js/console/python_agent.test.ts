/** A real deepagents agent of Python works while the console is open: each step appears by itself, also when the server is killed between. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cleanEnvironment, ROOT } from "../support/settings.js";
import { Stage } from "./stage.js";

const PYTHON = `${ROOT}target/py/bin/python`;
const THREAD = "trip";
let stage: Stage;
let folder: string;
const agents: ChildProcess[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  folder = mkdtempSync(join(tmpdir(), "tk-paced-"));
});

afterAll(async () => {
  for (const agent of agents) agent.kill("SIGKILL");
  await stage.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the agent; the result is its end, with what it said when it failed. */
function start(...more: string[]): Promise<string> {
  const args = ["-m", "support.paced_agent", stage.server.url, THREAD, folder, ...more];
  const agent = spawn(PYTHON, args, {
    cwd: `${ROOT}tests/python`,
    env: { ...cleanEnvironment(), PYTHONPATH: `${ROOT}clients/python/src` } as NodeJS.ProcessEnv,
    stdio: ["ignore", "ignore", "pipe"],
  });
  agents.push(agent);
  let said = "";
  agent.stderr?.on("data", (text) => {
    said += text;
  });
  return new Promise((resolve, reject) => {
    agent.once("error", reject);
    agent.once("exit", (code) => resolve(code === 0 ? "" : `it ended with ${code}: ${said}`));
  });
}

/** Lets the model give its next answer. */
function speak(number: number): void {
  writeFileSync(join(folder, String(number)), "");
}

function call(page: Page, tool: string) {
  return page.getByRole("region", { name: `Call of the tool ${tool}` });
}

it("shows each step of the agent once, without a reload", async () => {
  const list = await stage.page("#/threads");
  const inbox = await stage.page("#/inbox");
  await list.page.getByText("There are no threads yet").waitFor();
  const planning = start();
  speak(1);
  await list.page.getByRole("link", { name: "Plan a trip by boat" }).waitFor();
  const opened = await stage.page(`#/threads/${THREAD}`);
  const { page } = opened;
  const task = call(page, "task");
  await task.getByText("no result yet").waitFor();
  speak(2);
  await task.getByText("Agent researcher").click();
  await call(page, "ls").waitFor();
  speak(3);
  await expect.poll(() => task.innerText()).toContain("The tide is high at noon.");

  await stage.server.stop("SIGKILL");
  speak(4);
  await stage.server.start();
  await call(page, "write_file").waitFor();
  await page.getByRole("button", { name: "/plan.md" }).waitFor();
  speak(5);
  await page.getByText("May the agent call search?").waitFor();
  await inbox.page.getByText("May the agent call search?").waitFor();
  expect(await planning).toBe("");

  const going = start("allow");
  speak(6);
  await page.locator("article.message", { hasText: "Here is the plan." }).waitFor();
  expect(await going).toBe("");
  await inbox.page.getByText("No thread waits for a person").waitFor();
  await expect.poll(() => page.getByText("May the agent call search?").count()).toBe(0);
  for (const tool of ["task", "ls", "write_file", "search"]) {
    expect(await call(page, tool).count(), tool).toBe(1);
  }
  for (const text of ["Plan a trip by boat", "Here is the plan."]) {
    expect(await page.locator("article.message", { hasText: text }).count(), text).toBe(1);
  }
});
