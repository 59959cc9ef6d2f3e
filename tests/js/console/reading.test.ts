/** Counts what the console asks for and shows of large threads, and tests that copies are whole and exact. */

import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  CHANNELS,
  EXACT,
  FILES,
  LONE,
  LONG,
  NAMESPACE,
  putExact,
  SESSION,
} from "./exact_values.js";
import {
  EDITED,
  MESSAGE_BYTES,
  MESSAGES,
  messageText,
  putLarge,
  putSteps,
  SELDOM,
  STEPS,
  TEXT,
} from "./large_threads.js";
import { Stage } from "./stage.js";

const ROWS_MAX = 120;
const STATE_BYTES_MAX = 200 * 1_024;
const STEPS_OF_A_PAGE = 200;
/** Characters of a whole text before "show more". */
const TEXT_SHOWN = 16_384;
let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
  const { url } = stage.server;
  await putSteps(url, "steps");
  await putLarge(url, "large");
  await putExact(url, "exact");
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

interface Copying {
  copied?: string;
}

/** These answers have no end. */
const STREAM = /^\/v1\/(threads|store)\/changes$/;

/** Counts what the page asks the server for, decoded. */
class Traffic {
  readonly calls: URL[] = [];
  #bodies: Promise<number>[] = [];

  constructor(page: Page) {
    page.on("response", (response) => {
      const url = new URL(response.url());
      if (!url.pathname.startsWith("/v1/") || STREAM.test(url.pathname)) return;
      this.calls.push(url);
      this.#bodies.push(
        response.body().then(
          (body) => body.length,
          () => 0,
        ),
      );
    });
  }

  of(path: string): URL[] {
    return this.calls.filter(({ pathname }) => pathname === path);
  }

  async bytes(): Promise<number> {
    const all = await Promise.all(this.#bodies);
    return all.reduce((total, one) => total + one, 0);
  }
}

/** Opens an empty page first, so that no request goes by unseen. */
async function open(address: string) {
  const opened = await stage.page("#/nowhere");
  await opened.page.getByText("There is no page at this address").waitFor();
  const traffic = new Traffic(opened.page);
  await stage.go(opened.page, address);
  return { ...opened, traffic };
}

function channel(page: Page, name: string) {
  return page.locator("details.channel", { has: page.locator(`summary:has-text("${name}")`) });
}

async function openChannel(page: Page, name: string) {
  const found = channel(page, name).first();
  await found.locator("> summary").click();
  return found;
}

async function downloaded(page: Page, click: () => Promise<void>): Promise<Buffer> {
  const downloading = page.waitForEvent("download");
  await click();
  return readFileSync(await (await downloading).path());
}

it("a timeline of 1,050 steps has few rows in the page, and drops the pages that were passed", async () => {
  const opened = await open("#/threads/steps/timeline");
  const { page, traffic } = opened;
  await page.getByRole("link", { name: `Step ${STEPS - 1}`, exact: true }).waitFor();
  const pages = () => traffic.of("/v1/checkpoints/timeline").length;
  // The other one tells the namespaces.
  expect(pages()).toBeLessThanOrEqual(2);
  expect(traffic.of("/v1/checkpoints/list")).toEqual([]);
  const rows = page.locator(".checkpoint-row");
  let most = 0;
  const scrollUntil = async (top: number, name: string) => {
    const found = page.getByRole("link", { name, exact: true });
    await expect
      .poll(async () => {
        most = Math.max(most, await rows.count());
        await page.evaluate(
          (to) => scrollTo(0, to === 0 ? 0 : document.documentElement.scrollHeight),
          top,
        );
        return await found.count();
      })
      .toBe(1);
  };
  await scrollUntil(1, "Step 0");
  const down = pages();
  expect(down).toBeLessThanOrEqual(2 + Math.ceil(STEPS / STEPS_OF_A_PAGE));
  // Five pages stay, so the first of six has to come again.
  await scrollUntil(0, `Step ${STEPS - 1}`);
  expect(pages()).toBeGreaterThan(down);
  expect(most).toBeGreaterThan(5);
  expect(most).toBeLessThanOrEqual(ROWS_MAX);
  await stage.expectQuiet(opened);
});

it("the steps that changed a channel are told, with their differences", async () => {
  const opened = await open("#/threads/steps/state");
  const { page } = opened;
  const seldom = await openChannel(page, "seldom");
  await seldom.getByText("Steps that changed it").click();
  const steps = seldom.locator(".blame li");
  await expect.poll(() => steps.allInnerTexts()).toHaveLength(2);
  for (let pages = 1; pages * STEPS_OF_A_PAGE < STEPS; pages += 1) {
    await seldom.getByRole("button", { name: "Look at earlier steps" }).click();
    await expect
      .poll(() => steps.count())
      .toBeGreaterThanOrEqual(Math.min(2 * (pages + 1), STEPS / SELDOM));
  }
  const told = (await steps.allInnerTexts()).map((text) => /Step (\d+)/.exec(text)?.[1]);
  expect(told).toEqual([
    "1000",
    "900",
    "800",
    "700",
    "600",
    "500",
    "400",
    "300",
    "200",
    "100",
    "0",
  ]);
  await seldom.getByRole("link", { name: "What it changed" }).first().click();
  await page.getByText("Unchanged").or(page.locator(".side-added")).first().waitFor();
  await stage.expectQuiet(opened);
});

it("a conversation of 5 MB begins with its newest 50 messages, and gets earlier ones when asked", async () => {
  const opened = await open("#/threads/large");
  const { page, traffic } = opened;
  await page.getByText(`${MESSAGES - 50} earlier messages`).waitFor();
  await page.locator("article.message").first().waitFor();
  expect(await traffic.bytes()).toBeLessThanOrEqual(STATE_BYTES_MAX);
  expect(traffic.of("/v1/state").length).toBeLessThanOrEqual(2);
  expect(await page.locator("article.message").count()).toBeLessThanOrEqual(ROWS_MAX);
  const first = page.locator(`article[data-message="m${MESSAGES - 50}"]`);
  await first.getByText(/of text, 2.0 KiB shown/).waitFor();
  // The text is plain until the program for markdown is loaded; the button moves then.
  await first.locator(".markdown > p").waitFor();
  await first.getByRole("button", { name: "show all" }).click();
  await expect.poll(() => first.locator(".markdown").innerText()).toBe(messageText(MESSAGES - 50));
  const before = traffic.of("/v1/checkpoints/values").length;
  await page.getByRole("button", { name: "Show earlier" }).click();
  await page.getByText(`${MESSAGES - 100} earlier messages`).waitFor();
  expect(traffic.of("/v1/checkpoints/values").length - before).toBe(1);
  await page.locator(`article[data-message="m${MESSAGES - 51}"]`).waitFor();
  await stage.expectQuiet(opened);
});

it("a state of 5 MB comes in part, and a cut place whole when asked", async () => {
  const opened = await open("#/threads/large/state");
  const { page, traffic } = opened;
  const messages = await openChannel(page, "messages");
  await messages
    .getByText(`${MESSAGES.toLocaleString("en")} entries`)
    .first()
    .waitFor();
  const text = await openChannel(page, "text");
  await text.getByText("293 KiB of text, 16 KiB shown").waitFor();
  expect(await traffic.bytes()).toBeLessThanOrEqual(STATE_BYTES_MAX);
  expect(await page.locator(".json-entries li").count()).toBeLessThanOrEqual(ROWS_MAX);
  const all = await downloaded(page, () =>
    text.getByRole("button", { name: "Download all of it" }).click(),
  );
  expect(all.equals(Buffer.from(TEXT))).toBe(true);
  await text.getByRole("button", { name: "show all" }).click();
  await expect
    .poll(() => text.locator(".plain-text pre").innerText())
    .toBe(TEXT.slice(0, TEXT_SHOWN));
  const json = await downloaded(page, () =>
    messages.getByRole("button", { name: "Download JSON" }).click(),
  );
  const found = JSON.parse(json.toString()) as { content: string }[];
  expect(found.map(({ content }) => content)).toEqual(
    Array.from({ length: MESSAGES }, (_, at) => messageText(at)),
  );
  await stage.expectQuiet(opened);
});

it("a difference reads only channels that differ", async () => {
  const opened = await open("#/threads/large/diff?from=c1&to=c2");
  const { page, traffic } = opened;
  await page.locator(".side-added", { hasText: "after" }).waitFor();
  await page.locator(".side-removed", { hasText: "before" }).waitFor();
  const read = traffic.of("/v1/checkpoints/values");
  expect(read.map(({ searchParams }) => searchParams.getAll("channel"))).toEqual([
    ["note"],
    ["note"],
  ]);
  expect(traffic.of("/v1/state")).toEqual([]);
  expect(await traffic.bytes()).toBeLessThanOrEqual(20 * 1_024);
  await stage.expectQuiet(opened);
});

it("one message of 5 MB that differs is shown alone, and only its channel is read", async () => {
  const opened = await open("#/threads/large/diff?from=c0&to=c1");
  const { page, traffic } = opened;
  const sides = page.locator(".side-added, .side-removed");
  await page.locator(".side-removed", { hasText: EDITED.content }).waitFor();
  await page.locator(".side-added", { hasText: `message ${EDITED.at} ` }).waitFor();
  expect(await sides.count()).toBe(2);
  expect(await page.locator(".patch .note", { hasText: "unchanged" }).allInnerTexts()).toEqual([
    `${EDITED.at} entries unchanged`,
    `${MESSAGES - EDITED.at - 1} entries unchanged`,
  ]);
  await page.getByText("Unchanged: text, note").waitFor();
  const read = traffic.of("/v1/checkpoints/values");
  expect(read.map(({ searchParams }) => searchParams.getAll("channel"))).toEqual([
    ["messages"],
    ["messages"],
  ]);
  expect(traffic.of("/v1/state")).toEqual([]);
  const channel = JSON.stringify(Array.from({ length: MESSAGES }, (_, at) => messageText(at)));
  const bytes = await traffic.bytes();
  expect(bytes).toBeGreaterThan(2 * MESSAGE_BYTES * (MESSAGES - 1));
  // Each message has its id and type, too. The other channel of this state alone has 300 KB.
  expect(bytes).toBeLessThanOrEqual(2 * (channel.length + 60 * MESSAGES) + 20 * 1_024);
  await stage.expectQuiet(opened);
});

describe("copies and downloads are what is stored", () => {
  let client: Client;

  beforeAll(() => {
    client = new Client({ url: stage.server.url });
  });

  /** The policy of the page lets nobody read the clipboard. */
  async function copied(page: Page, button: Locator): Promise<string | undefined> {
    await page.evaluate(() => {
      delete (window as Copying).copied;
      navigator.clipboard.writeText = async (text) => {
        (window as Copying).copied = text;
      };
    });
    await button.click();
    await expect.poll(() => page.evaluate(() => (window as Copying).copied)).toBeDefined();
    return await page.evaluate(() => (window as Copying).copied);
  }

  it("of channels, whatever their codec", async () => {
    const opened = await open("#/threads/exact/state");
    const { page } = opened;
    for (const [name, [codec, data]] of Object.entries(CHANNELS)) {
      const one = await openChannel(page, name);
      const json = await downloaded(page, () =>
        one.getByRole("button", { name: "Download JSON" }).click(),
      );
      const shown = await client.checkpoints.valueText("exact", `/${name}`);
      expect(json.toString(), name).toBe(codec === "json" ? Buffer.from(data).toString() : shown);
      if (name === "exact") {
        expect(await copied(page, one.getByRole("button", { name: "Copy the value" }))).toBe(EXACT);
      }
      await one.getByRole("button", { name: "As it is stored" }).click();
      const stored = await downloaded(page, () =>
        one.getByRole("button", { name: "Download", exact: true }).first().click(),
      );
      const options = { channels: [name], raw: true };
      const { channels = [] } = (await client.checkpoints.values("exact", options)) ?? {};
      expect(stored.equals(data), name).toBe(true);
      expect(stored.equals(channels[0]?.raw?.value?.data ?? new Uint8Array()), name).toBe(true);
      await one.locator("> summary").click();
    }
    await stage.expectQuiet(opened);
  });

  it("of a text that the page has in part", async () => {
    const opened = await open("#/threads/exact/state");
    const { page } = opened;
    // The server shows half of a pair as U+FFFD: the download of the channel above has it as it is stored.
    for (const [name, whole] of [
      ["long", LONG],
      ["lone", LONG.replaceAll("é", "\ufffd")],
    ] as const) {
      const one = await openChannel(page, name);
      const all = one.getByRole("button", { name: "Download all of it" });
      expect((await downloaded(page, () => all.click())).toString() === whole, name).toBe(true);
      const copy = one.getByRole("button", { name: "Copy the whole of the value" });
      expect((await copied(page, copy)) === whole, name).toBe(true);
      // The whole one is in the page then, with a button of its own.
      await one.getByRole("button", { name: "show all" }).click();
      const text = one.getByRole("button", { name: "Copy the whole text" });
      expect((await copied(page, text)) === whole, name).toBe(true);
    }
    // A clipboard has no half of a pair, JSON text has.
    await stage.go(page, `#/store/${NAMESPACE.join("/")}?key=lone`);
    const text = await copied(page, page.getByRole("button", { name: "Copy the whole text" }));
    expect(text === JSON.stringify(LONE)).toBe(true);
    await stage.expectQuiet(opened);
  });

  it("of an item, of metadata and of a document", async () => {
    const [namespace, key] = [NAMESPACE.join("/"), SESSION.key.join("/")];
    const item = (await client.store.getText(NAMESPACE, "item"))?.text;
    const metadata = (await client.threads.getMetadataText("exact"))?.text;
    const document = (await client.sessions.getDocument(SESSION, "document"))?.content;
    expect([item, metadata, document]).toEqual([EXACT, EXACT, EXACT]);
    const opened = await open(`#/store/${namespace}?key=item`);
    const { page } = opened;
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    expect(await copied(page, button("Copy the value"))).toBe(item);
    await stage.go(page, "#/threads/exact");
    expect(await copied(page, button("Copy the metadata"))).toBe(metadata);
    await stage.go(page, `#/sessions/claude/${key}?doc=document`);
    expect(await copied(page, button("Copy the document"))).toBe(document);
    const json = await downloaded(page, () => button("Download").click());
    expect(json.toString()).toBe(document);
    await stage.expectQuiet(opened);
  });

  it("of files", async () => {
    const opened = await open("#/files");
    const { page } = opened;
    for (const [path, bytes] of Object.entries(FILES)) {
      await stage.go(page, `#/files/ns/${NAMESPACE.join("/")}?path=${encodeURIComponent(path)}`);
      await page.getByRole("heading", { name: path }).waitFor();
      const button = page.locator(".bytes-view").getByRole("button", { name: "Download" });
      const stored = await downloaded(page, () => button.first().click());
      expect(stored.equals(bytes), path).toBe(true);
      expect(stored.equals(await client.files.getContent(NAMESPACE, path)), path).toBe(true);
    }
    await stage.expectQuiet(opened);
  });
});
