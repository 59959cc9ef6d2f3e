/** Ten tasks for which people open the console, each done by keys alone. */

import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { newKey } from "../support/server.js";
import { FILE, plan } from "./agents.js";
import { Keys } from "./keys.js";
import { Stage } from "./stage.js";

const THREADS = ["trip", "rename", "prune", "restore"];
const TITLE = "Plan a trip by boat";
const NOTES = ["ann", "notes"];
const LOGIN = "log in with a key";
const MOVE = "write a file, and move it";
/** Answers that belong to a task and that a browser notes by itself: who asks without a key, and a file that was just moved away. */
const NOTED = new Map([
  [LOGIN, "401"],
  [MOVE, "404"],
]);
let stage: Stage;
let key: string;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
  const { url, place } = stage.server;
  key = await newKey(place);
  client = new Client({ url, apiKey: key });
  for (const id of THREADS) await plan({ url, apiKey: key }, id);
  await client.store.put(NOTES, "first", { n: 1 });
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

type Task = (keys: Keys) => Promise<void>;

/** What each does. Those with an address begin there, as from a link that somebody has sent. */
const TASKS: Record<string, { at?: string; task: Task }> = {
  [LOGIN]: {
    task: async (keys) => {
      await keys.tabTo(keys.page.getByLabel("Key or token"));
      await keys.type(key);
      await keys.press("Enter");
      await keys.heading("Home");
    },
  },
  "find a thread, and read a file that its agent wrote": {
    task: async (keys) => {
      await keys.press("g", "t");
      await keys.heading("Threads");
      await keys.press("/");
      await keys.type("prun");
      await expect.poll(() => keys.page.locator(".thread-row").count()).toBe(1);
      await keys.open(keys.link(TITLE));
      await keys.heading(TITLE);
      expect(keys.page.url()).toContain("#/threads/prune");
      const file = keys.button(FILE);
      await keys.open(file);
      await keys.page.getByRole("dialog").getByText("Sail at noon.").waitFor();
      await keys.press("Escape");
      await expect.poll(() => file.evaluate((it) => it === document.activeElement)).toBe(true);
    },
  },
  "get the code that answers a question": {
    task: async (keys) => {
      await keys.press("g", "i");
      await keys.heading("Inbox");
      await keys.open(keys.page.locator("summary", { hasText: "Answer by code" }));
      await keys.tabTo(keys.page.getByLabel("Decision"));
      await keys.press("r");
      const code = keys.page.locator(".resume code").first();
      await expect.poll(() => code.innerText()).toContain("reject");
      await keys.tabTo(keys.page.locator(".resume").getByRole("tab", { name: "Python" }));
      await keys.press("ArrowRight");
      await expect.poll(() => code.innerText()).toContain("new Command");
    },
  },
  "look at the state of an earlier step": {
    at: "#/threads/trip",
    task: async (keys) => {
      await keys.open(keys.link("Timeline"));
      await keys.page.getByRole("link", { name: "Step 9", exact: true }).waitFor();
      await keys.press("j", "j", "j", "Enter");
      await keys.page.getByText(/^Step \d+, loop/).waitFor();
      const channel = keys.page.locator("details.channel", { hasText: "messages" }).first();
      await keys.open(channel.locator("> summary"));
      // The list is open, each message in it when somebody asks.
      await keys.open(channel.locator(".json-entries .json-toggle").first());
      await channel.getByText("Plan a trip by boat").first().waitFor();
    },
  },
  "see what a step has changed": {
    at: "#/threads/trip/timeline",
    task: async (keys) => {
      await keys.open(keys.link("Diff to its parent"));
      await keys.page.locator(".side-added").first().waitFor();
    },
  },
  "rename a thread, and take it back": {
    at: "#/threads/rename",
    task: async (keys) => {
      await keys.action("rename", "Rename the thread");
      await keys.press("Control+a");
      await keys.type("By boat");
      await keys.press("Enter");
      await keys.heading("By boat");
      await keys.undo("The title is as it was.");
      await keys.heading(TITLE);
      expect((await client.threads.get("rename"))?.titleFrom).toBe("first_message");
    },
  },
  "prune a thread, and take it back": {
    at: "#/threads/prune",
    task: async (keys) => {
      const before = (await client.threads.get("prune"))?.checkpointCount ?? 0;
      const dialog = await keys.action("prune", "Prune the thread");
      await keys.fill("Newest checkpoints of each namespace that stay", "3");
      await dialog.getByText("It removes").waitFor();
      await keys.send(dialog, "Prune");
      expect((await client.threads.get("prune"))?.checkpointCount).toBeLessThan(before);
      await keys.undo("The thread is as it was before.");
      expect((await client.threads.get("prune"))?.checkpointCount).toBe(before);
    },
  },
  "put an item, and edit it": {
    at: `#/store/${NOTES.join("/")}`,
    task: async (keys) => {
      let dialog = await keys.action("new item", "New item");
      await keys.fill("Key", "tea");
      await keys.fill("Value, an object of JSON", '{"cups": 1.0}');
      await keys.send(dialog, "Put");
      await keys.page.getByRole("heading", { name: "tea" }).waitFor();
      dialog = await keys.action("edit", "Edit the item");
      await keys.fill("Value, an object of JSON", '{"cups": 2.0}');
      await keys.send(dialog, "Save");
      expect((await client.store.getText(NOTES, "tea"))?.text).toBe('{"cups":2.0}');
    },
  },
  [MOVE]: {
    at: `#/files/ns/${NOTES.join("/")}`,
    task: async (keys) => {
      let dialog = await keys.action("new file", "New file");
      await keys.fill("Name", "new.md");
      await keys.fill("Content", "Sail at noon.");
      await keys.send(dialog, "Create");
      await keys.page.getByRole("heading", { name: "/new.md" }).waitFor();
      dialog = await keys.action("rename or move", "Rename or move");
      await keys.fill("New path", "/docs/plan.md");
      await keys.send(dialog, "Move");
      await keys.page.getByRole("heading", { name: "/docs/plan.md" }).waitFor();
      const content = await client.files.getContent(NOTES, "/docs/plan.md");
      expect(new TextDecoder().decode(content)).toBe("Sail at noon.");
    },
  },
  "take a snapshot, and restore it": {
    task: async (keys) => {
      await keys.press("g", "n");
      await keys.heading("Snapshots");
      let dialog = await keys.action("take", "Take a snapshot");
      await keys.fill("Threads", "restore");
      await keys.fill("Id", "monday");
      await keys.send(dialog, "Take");
      await keys.heading("monday");
      await client.threads.delete("restore");
      dialog = await keys.action("restore", "Restore the snapshot");
      await dialog.getByText("thread restore: made again with").waitFor();
      await keys.send(dialog, "Restore");
      await expect.poll(() => client.threads.get("restore")).toBeDefined();
    },
  },
};

it.each(Object.entries(TASKS))("%s", async (name, { at, task }) => {
  const login = name === LOGIN ? "#/" : `#/login?token=${key}`;
  const opened = await stage.page(login, undefined, (page) => Keys.watch(page));
  const keys = new Keys(opened.page);
  if (name !== LOGIN) await keys.heading("Home");
  if (at !== undefined) {
    await stage.go(opened.page, at);
    await opened.page.getByRole("main").locator(".actions, .rows").first().waitFor();
  }
  await task(keys);
  await keys.expectAlone();
  const noted = NOTED.get(name);
  const errors = opened.errors.filter((one) => noted === undefined || !one.includes(noted));
  await stage.expectQuiet({ page: opened.page, errors });
});
