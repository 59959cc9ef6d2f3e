/** The pictures of the documents: the scene of each, with the same data, clock and window every time. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { allow, planner } from "./agents.js";
import { Stage } from "./stage.js";

const SIZE = { width: 1_200, height: 750 };
/** So long after the data was made is the clock of the page. */
const LATER_MS = 3 * 60_000;
const TITLES = ["Compare three boats", "Write to the harbour", "Pack for two days"];

interface Picture {
  name: string;
  address: string;
  /** A text that the scene has. */
  shown: string;
  /** What a person does before the picture is taken. */
  act?: (page: Page) => Promise<void>;
}

export const PICTURES: readonly Picture[] = [
  { name: "threads", address: "#/threads", shown: "Compare three boats" },
  { name: "conversation", address: "#/threads/trip", shown: "May the agent call" },
  { name: "timeline", address: "#/threads/trip/timeline", shown: "Step 9" },
  {
    name: "state",
    address: "#/threads/trip/state",
    shown: "messages",
    act: async (page) => {
      await page.locator("details.channel").first().locator("summary").first().click();
      await page.locator("details.channel[open] .json-toggle").nth(1).waitFor();
    },
  },
  { name: "retention", address: "#/retention", shown: "A checkpoint is deleted" },
  {
    name: "palette",
    address: "#/threads/trip",
    shown: "May the agent call",
    act: async (page) => {
      await page.keyboard.press("Control+k");
      const dialog = page.getByRole("dialog", { name: "Go to" });
      await dialog.getByRole("combobox").fill("re");
    },
  },
];

/** Takes all pictures into a folder. Returns their files by name. */
export async function takePictures(folder: string): Promise<Map<string, string>> {
  mkdirSync(folder, { recursive: true });
  const stage = await Stage.open();
  const files = new Map<string, string>();
  try {
    await makeScene(stage.server.url);
    const { page } = await stage.page("#/nowhere", SIZE);
    await page.clock.setFixedTime(Date.now() + LATER_MS);
    await page.reload();
    for (const { name, address, shown, act } of PICTURES) {
      await stage.go(page, address);
      await page.getByText(shown).first().waitFor();
      await act?.(page);
      await page.waitForFunction(() => document.querySelector(".loading") === null);
      const path = join(folder, `${name}.png`);
      await page.screenshot({ path, animations: "disabled", caret: "hide" });
      files.set(name, path);
      await page.keyboard.press("Escape");
    }
  } finally {
    await stage.close();
  }
  return files;
}

/** Threads of an agent, one of which waits for a person, and a rule that has reported. */
async function makeScene(url: string): Promise<void> {
  const client = new Client({ url });
  for (const [at, title] of TITLES.entries()) {
    const threadId = `ann-${at + 1}`;
    const config = { configurable: { thread_id: threadId } };
    await planner({ url }).invoke({ messages: [{ role: "user", content: title }] }, config);
    await allow({ url }, threadId);
  }
  const config = { configurable: { thread_id: "trip" } };
  const message = { role: "user", content: "Plan a trip by boat" };
  await planner({ url }).invoke({ messages: [message] }, config);
  const rule = { keepLast: 5, expireAfterSeconds: 90 * 86_400 };
  await client.putRetentionPolicy({ ...rule, dryRun: true });
  await client.runRetention();
}
