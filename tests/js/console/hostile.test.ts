/** Texts that mean harm, in every place where the console shows what is stored: nothing of them runs, loads or leads away. */

import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { newKey } from "../support/server.js";
import { hostileFiles, Trap } from "../support/trap.js";
import { sleep, waitUntil } from "../support/waiting.js";
import { fillForms, keepKeys } from "./hostile_keys.js";
import { keepSessions, loadEarlier, RUN, SESSION, SNAPSHOT } from "./hostile_sessions.js";
import { hostileTexts } from "./hostile_texts.js";
import { Stage } from "./stage.js";

/** Longer than a page needs for what it does by itself. */
const SETTLING_MS = 500;
const ID_BYTES_MAX = 200;
const THREADS = 25;
const ITEMS = 25;
const FILES = ["hostile", "files"];
const ITEMS_IN = ["<img src=x onerror=pwned=1>", "items\u202e"];

const trap = await new Trap().start();
const TEXTS = hostileTexts(trap.url);
/** Those that can be an id or a key. */
const IDS = TEXTS.filter((text) => Buffer.byteLength(text) <= ID_BYTES_MAX && !text.includes("\0"));
const [THREAD = ""] = IDS;
let stage: Stage;
let dialogs = 0;

beforeAll(async () => {
  stage = await Stage.open();
  await converse();
  await keepItems();
  await keepFiles();
  await keepSessions(stage.server.url, {
    texts: TEXTS,
    ids: IDS.slice(0, ITEMS),
    namespace: ITEMS_IN,
  });
});

afterEach(() => stage.closePages());

afterAll(async () => {
  await stage.close();
  await trap.stop();
});

/** A conversation of all texts that ends with a question, and threads whose ids and titles they are. */
async function converse(): Promise<void> {
  const client = new Client({ url: stage.server.url });
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    todos: Annotation<unknown>,
    files: Annotation<unknown>,
    ["<img src=x onerror=window.pwned=1>"]: Annotation<unknown>,
  });
  const graph = new StateGraph(State)
    .addNode("agent", () => {
      const action = {
        name: TEXTS[0],
        args: Object.fromEntries(TEXTS.map((text) => [text, text])),
      };
      interrupt({
        actionRequests: [{ ...action, description: TEXTS[1] }],
        reviewConfigs: [{ actionName: TEXTS[0], allowedDecisions: ["approve", TEXTS[2]] }],
      });
      return {};
    })
    .addEdge(START, "agent")
    .compile({ checkpointer: new ThreadkeepSaver({ url: stage.server.url }) });
  const state = {
    messages: messages(),
    todos: TEXTS.map((content) => ({ content, status: content.slice(0, 20) })),
    files: Object.fromEntries(TEXTS.map((text) => [`/${text}`, { content: text }])),
    "<img src=x onerror=window.pwned=1>": TEXTS,
  };
  const metadata = { hostile: TEXTS[3], lc_agent_name: TEXTS[4] };
  await graph.invoke(state as never, { configurable: { thread_id: THREAD }, metadata });
  for (const id of IDS.slice(1, THREADS)) {
    await client.threads.create({ threadId: id, title: id.slice(0, 200), metadata: { [id]: id } });
  }
}

function messages() {
  return TEXTS.flatMap((text, at) => {
    const call = {
      id: `call ${at} ${text.slice(0, 50)}`,
      name: text,
      args: { [text]: text },
      type: "tool_call" as const,
    };
    return [
      new HumanMessage(text),
      new AIMessage({ content: text, name: text, tool_calls: [call] }),
      new ToolMessage({ content: text, tool_call_id: call.id, name: text, status: "error" }),
      new SystemMessage({
        content: [
          { type: "text", text },
          { type: "image_url", image_url: { url: text } },
        ],
      }),
    ];
  });
}

async function keepItems(): Promise<void> {
  const store = new ThreadkeepStore({ url: stage.server.url });
  for (const key of IDS.slice(0, ITEMS)) await store.put(ITEMS_IN, key, { [key]: TEXTS, key });
}

async function keepFiles(): Promise<void> {
  const client = new Client({ url: stage.server.url });
  const bytes = (text: string) => new TextEncoder().encode(text);
  const files = hostileFiles(trap.url).map(({ path, mediaType, content }) => ({
    path,
    mediaType,
    bytes: bytes(content),
  }));
  const named = IDS.slice(0, ITEMS).map((text) => ({
    path: fileOf(text),
    bytes: bytes(text),
  }));
  await client.files.upload(FILES, [...files, ...named]);
}

function fileOf(text: string): string {
  return `/${text.replaceAll("/", "_")}`;
}

async function open(address: string) {
  const opened = await stage.page(address);
  opened.page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  return opened;
}

/** Opens every fold of a page and scrolls it to its end. Returns the results of tools that it showed on the way. */
async function showAll(page: Page): Promise<string[]> {
  return await page.evaluate(async () => {
    const seen = new Set<string>();
    const unopened = '.json-toggle[aria-expanded="false"], .cut-actions > .link-button';
    for (let atEnd = 0, end = performance.now() + 120_000; performance.now() < end && atEnd < 3; ) {
      for (const it of document.querySelectorAll("details:not([open])"))
        it.setAttribute("open", "");
      for (const it of document.querySelectorAll<HTMLElement>(unopened)) it.click();
      await new Promise((resolve) => setTimeout(resolve, 40));
      for (const it of document.querySelectorAll(".call-result pre"))
        seen.add(it.textContent ?? "");
      const before = scrollY;
      // Rows that are opened push others out of the page before they were looked at.
      scrollBy(0, innerHeight / 2);
      atEnd = scrollY === before ? atEnd + 1 : 0;
    }
    return [...seen];
  });
}

/** A conversation begins with its newest messages. */
async function loadMessages(page: Page): Promise<void> {
  await page.locator("article.message").first().waitFor();
  const earlier = page.getByRole("button", { name: "Show earlier" });
  const shown = page.locator(".earlier-messages .note");
  while ((await earlier.count()) > 0) {
    const before = await shown.innerText();
    await earlier.click();
    await expect.poll(async () => (await shown.allInnerTexts())[0]).not.toBe(before);
  }
}

/** Rows that are measured on the way push the page down again. */
async function scrollToTop(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let still = 0, end = performance.now() + 30_000; performance.now() < end && still < 5; ) {
      still = scrollY === 0 ? still + 1 : 0;
      scrollTo(0, 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}

async function nothingHappened(opened: { page: Page; errors: string[] }): Promise<void> {
  const { page } = opened;
  await sleep(SETTLING_MS);
  expect(page.url().startsWith(stage.url)).toBe(true);
  expect(await page.evaluate(() => (window as { pwned?: unknown }).pwned)).toBeUndefined();
  expect(
    await page.evaluate(
      () => document.querySelectorAll("iframe, object, embed, form[action], base").length,
    ),
  ).toBe(0);
  expect([trap.caught, dialogs]).toEqual([[], 0]);
  await stage.expectQuiet(opened);
}

it("there are about a hundred texts", () => {
  expect(TEXTS.length).toBeGreaterThanOrEqual(90);
  expect(IDS.length).toBeGreaterThanOrEqual(THREADS);
});

const THREAD_ADDRESS = `#/threads/${encodeURIComponent(THREAD)}`;
const ITEMS_ADDRESS = `#/store/${ITEMS_IN.map(encodeURIComponent).join("/")}`;
const SESSION_ADDRESS = `#/sessions/claude/${SESSION.key.map(encodeURIComponent).join("/")}`;
const RUN_ADDRESS = `#/sessions/agentrail/${RUN.key.map(encodeURIComponent).join("/")}`;
const FILES_ADDRESS = `#/files/ns/${FILES.join("/")}`;

it.each([
  ["the list of threads", "#/threads", "thread-row"],
  ["Home", "#/", "thread-row"],
  ["the Inbox", "#/inbox", "interrupt"],
  ["the timeline", `${THREAD_ADDRESS}/timeline`, "checkpoint-row"],
  ["the state", `${THREAD_ADDRESS}/state`, "channel"],
  ["the storage", `${THREAD_ADDRESS}/storage`, "table-wrap"],
  ["the items", ITEMS_ADDRESS, "item-row"],
  ["the folder", FILES_ADDRESS, "file-row"],
  ["files that were found", `${FILES_ADDRESS}?glob=**`, "file-row"],
  ["lines that were found", `${FILES_ADDRESS}?grep=img`, "found-line"],
  ["a trace", `${RUN_ADDRESS}?stream=trace`, "stream-row"],
  ["an orchestration", `${RUN_ADDRESS}?view=orchestration`, "agent-job"],
  ["the list of sessions", "#/sessions", "item-row"],
  ["the entries of a session", `${SESSION_ADDRESS}?view=entries`, "stream-row"],
  ["the list of snapshots", "#/snapshots", "item-row"],
  ["a snapshot", `#/snapshots/${SNAPSHOT}`, "file-row"],
])("nothing of them runs in %s", async (_, address, shown) => {
  const opened = await open(address);
  await opened.page.locator(`.${shown}`).first().waitFor();
  await showAll(opened.page);
  await nothingHappened(opened);
});

it("the conversation shows all of them, and nothing runs", async () => {
  const opened = await open(THREAD_ADDRESS);
  const { page } = opened;
  await loadMessages(page);
  await scrollToTop(page);
  const seen = await showAll(page);
  // As results of tools they stand as they are; long ones are cut.
  expect(TEXTS.filter((text) => text.length < 2_000 && !seen.includes(text))).toEqual([]);
  await nothingHappened(opened);
});

it("a transcript shows all of them, and nothing runs", async () => {
  const opened = await open(SESSION_ADDRESS);
  const { page } = opened;
  await page.locator("article.message").first().waitFor();
  await loadEarlier(page);
  const seen = await showAll(page);
  expect(TEXTS.filter((text) => text.length < 2_000 && !seen.includes(text))).toEqual([]);
  await nothingHappened(opened);
});

it("nothing runs in streams and documents of these names", async () => {
  const opened = await open(SESSION_ADDRESS);
  const { page } = opened;
  for (const id of IDS.slice(0, ITEMS)) {
    await stage.go(page, `${SESSION_ADDRESS}?stream=${encodeURIComponent(id)}`);
    await page.locator(".stream-row").first().waitFor();
    await stage.go(page, `${SESSION_ADDRESS}?doc=${encodeURIComponent(id)}`);
    await page.locator("article.item pre, article.item .json").first().waitFor();
  }
  await nothingHappened(opened);
});

it("links of markdown lead to web pages only, and images are addresses", async () => {
  const opened = await open(THREAD_ADDRESS);
  const { page } = opened;
  await loadMessages(page);
  await scrollToTop(page);
  const links = await page.evaluate(async () => {
    const found = new Set<string>();
    for (let rounds = 0, atEnd = 0; rounds < 500 && atEnd < 3; rounds += 1) {
      for (const it of document.querySelectorAll<HTMLAnchorElement>(".markdown a"))
        found.add(`${it.href} ${it.rel}`);
      await new Promise((resolve) => setTimeout(resolve, 40));
      const before = scrollY;
      scrollBy(0, innerHeight);
      atEnd = scrollY === before ? atEnd + 1 : 0;
    }
    return [...found];
  });
  expect(links.filter((one) => !/^(https?|mailto):\S* noopener noreferrer$/.test(one))).toEqual([]);
  expect(links.length).toBeGreaterThanOrEqual(2);
  await nothingHappened(opened);
});

it("nothing runs in items and files of these names", async () => {
  const opened = await open(ITEMS_ADDRESS);
  const { page } = opened;
  for (const id of IDS.slice(0, ITEMS)) {
    await stage.go(page, `${ITEMS_ADDRESS}?key=${encodeURIComponent(id)}`);
    await page.locator("article.item .json-toggle").first().waitFor();
    await showAll(page);
    await stage.go(page, `${FILES_ADDRESS}?path=${encodeURIComponent(fileOf(id))}`);
    await page.locator(".bytes-view").waitFor();
  }
  await nothingHappened(opened);
});

/** Opens each action of a page, looks at its dialog and closes it. */
async function openActions(page: Page, group: string): Promise<void> {
  const buttons = page.getByRole("group", { name: group }).getByRole("button");
  await buttons.first().waitFor();
  for (let at = 0; at < (await buttons.count()); at += 1) {
    await buttons.nth(at).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.waitForFunction(() => document.querySelector("dialog .loading") === null);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
}

it("nothing of them runs in the dialogs of actions, or in notices", async () => {
  const opened = await open(THREAD_ADDRESS);
  const { page } = opened;
  await openActions(page, "Actions of the thread");
  await stage.go(page, `#/snapshots/${SNAPSHOT}`);
  await openActions(page, "Actions of the snapshot");
  await page.getByRole("button", { name: "Compare with now" }).click();
  await page.getByRole("list", { name: "Changes since the snapshot" }).waitFor();
  const [id = ""] = IDS;
  await stage.go(page, `${FILES_ADDRESS}?path=${encodeURIComponent(fileOf(id))}`);
  await page.locator(".bytes-view").waitFor();
  await openActions(page, "Actions of the file");
  for (const key of IDS.slice(0, 3)) {
    await stage.go(page, `${ITEMS_ADDRESS}?key=${encodeURIComponent(key)}`);
    await page.locator("article.item .json-toggle").first().waitFor();
    await openActions(page, "Actions of the item");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    const notices = page.getByRole("region", { name: "What was done" });
    await notices.getByRole("button", { name: "Undo" }).last().click();
    await notices.getByText("The item is there again.").last().waitFor();
  }
  await nothingHappened(opened);
});

it("HTML, SVG and XML files are shown as texts", async () => {
  const opened = await open(FILES_ADDRESS);
  for (const { path } of hostileFiles(trap.url)) {
    await stage.go(opened.page, `${FILES_ADDRESS}?path=${encodeURIComponent(path)}`);
    await opened.page.getByRole("heading", { name: path }).waitFor();
    await opened.page.locator("pre", { hasText: "<script>" }).waitFor();
  }
  await nothingHappened(opened);
});

it("a title that is searched for stays a text in the address", async () => {
  const opened = await open("#/threads");
  await opened.page
    .getByRole("searchbox")
    .fill("<img src=x onerror=window.pwned=1>#/login?token=x");
  await opened.page.getByText("No thread meets the filter").waitFor();
  await nothingHappened(opened);
});

it("nothing of them runs in keys, tokens, the audit log and retention", async () => {
  // From the first key on, the server knows nobody without one.
  const key = await newKey(stage.server.place);
  await keepKeys(stage.server.url, key, IDS);
  const opened = await open(`#/login?token=${key}`);
  const { page } = opened;
  await page.getByRole("heading", { name: "Home" }).waitFor();
  const ofAccess = ["#/access", "#/access?show=subjects"];
  const ofAudit = ["#/audit", "#/audit?act=namespace_setting_put"];
  const ofThreads = IDS.slice(0, 4).map((id) => `#/retention?thread=${encodeURIComponent(id)}`);
  for (const address of [...ofAccess, ...ofAudit, "#/retention", ...ofThreads]) {
    await stage.go(page, address);
    await page.locator(".item-row").first().waitFor();
    await showAll(page);
  }
  await stage.go(page, "#/access");
  for (const text of IDS.slice(0, 4)) await fillForms(page, text);
  const named = page.getByRole("listitem").filter({ hasText: "img" }).first();
  await named.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("region", { name: "What was done" }).getByText("Revoked").waitFor();
  await nothingHappened(opened);
});

it("as HTML in a page without a policy, they run and load", async () => {
  const page = await stage.browser.context.newPage();
  await page.goto(`${trap.url}/control`);
  trap.caught.length = 0;
  const images = TEXTS.filter((text) => text.startsWith("<img"));
  await page.evaluate((texts) => {
    document.body.innerHTML = texts.join("");
  }, images);
  await waitUntil(() => trap.caught.includes("/onerror"), "the trap to catch something");
  expect(await page.evaluate(() => (window as { pwned?: unknown }).pwned)).toBe(1);
  await page.close();
});
