/** HTML pages and drawings are shown as they look: on a host of their own, with nothing of them running or reaching out. */

import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { freePort, newKey } from "../support/server.js";
import { hostileFiles, Trap } from "../support/trap.js";
import { violations } from "./axe.js";
import { Stage } from "./stage.js";

/** In which a page would have called the trap. */
const SETTLING_MS = 2_000;
const PLACE = ["ann", "work"];
const encode = (text: string) => new TextEncoder().encode(text);
let stage: Stage;
let key: string;
let client: Client;
let trap: Trap;

const STYLED = `<!doctype html><title>T</title><style>h1 { color: rgb(1, 2, 3) }</style><h1>Sailing</h1>
  <form action="/form"><button>Go</button></form>`;
const drawing = (width: number) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="30"></svg>`;

beforeAll(async () => {
  const port = await freePort();
  stage = await Stage.open(["--files-origin", `http://files.localhost:${port}`], port);
  trap = await new Trap().start();
  key = await newKey(stage.server.place);
  client = new Client({ url: stage.server.url, apiKey: key });
  await client.files.putContent(PLACE, "/a.html", encode(STYLED));
  await client.files.putContent(PLACE, "/a.svg", encode(drawing(40)));
  for (const { path, mediaType, content } of hostileFiles(trap.url)) {
    await client.files.putContent(PLACE, path, encode(content), { mediaType });
  }
});

afterEach(() => stage.closePages());

afterAll(async () => {
  await stage.close();
  await trap.stop();
});

async function openFile(path: string) {
  const { page } = await stage.page(
    `#/files/ns/${PLACE.join("/")}?path=${encodeURIComponent(path)}`,
  );
  await page.getByLabel("Key or token").fill(key);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("As it looks").click();
  return page;
}

async function policyBreaks(page: Page): Promise<string[]> {
  return await page.evaluate(() => (window as { violations?: string[] }).violations ?? []);
}

it("a page is shown in a frame of another host", async () => {
  const page = await openFile("/a.html");
  const frame = page.frameLocator("iframe");
  const heading = frame.getByRole("heading", { name: "Sailing" });
  await heading.waitFor();
  expect(await heading.evaluate((found) => getComputedStyle(found).color)).toBe("rgb(1, 2, 3)");
  const source = await page.locator("iframe").getAttribute("src");
  expect(source).toMatch(/^http:\/\/files\.localhost:\d+\/api\/storage\/open\?u=/);
  await frame.getByRole("button", { name: "Go" }).click();
  await heading.waitFor();
  expect(await policyBreaks(page)).toEqual([]);
  expect(await violations(page)).toEqual([]);
});

it("a drawing is shown as a picture, and anew when it changes", async () => {
  const page = await openFile("/a.svg");
  const picture = page.getByRole("img", { name: "The drawing /a.svg" });
  const width = () => picture.evaluate((found) => (found as HTMLImageElement).naturalWidth);
  await expect.poll(width).toBe(40);
  await client.files.putContent(PLACE, "/a.svg", encode(drawing(50)));
  await expect.poll(width).toBe(50);
  expect(await policyBreaks(page)).toEqual([]);
});

it("nothing of a hostile page or drawing runs, reaches out or leads away", async () => {
  const before = trap.caught.length;
  for (const [path, shown] of [
    ["/report.html", "iframe"],
    ["/picture.svg", ".rendered img"],
  ] as const) {
    const page = await openFile(path);
    await page.locator(shown).waitFor();
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
    expect(trap.caught.slice(before)).toEqual([]);
    expect(page.url().startsWith(stage.url)).toBe(true);
    expect(page.frames().map((frame) => frame.url())).not.toContain(trap.url);
  }
});
