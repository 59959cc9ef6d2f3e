/** Searches in files and in the store, and the page that connects an agent, on a server that makes vectors. */

import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type EmbeddingsEndpoint, openEmbeddings } from "../support/embeddings_endpoint.js";
import { waitUntil } from "../support/waiting.js";
import { open, send, undo } from "./acting.js";
import { allow, plan } from "./agents.js";
import { violations } from "./axe.js";
import { Stage } from "./stage.js";

const NOTES = ["ann", "notes"];
const FILES = ["ann", "files"];
let stage: Stage;
let client: Client;
let endpoint: EmbeddingsEndpoint;

beforeAll(async () => {
  endpoint = await openEmbeddings();
  stage = await Stage.open(endpoint.options);
  client = new Client({ url: stage.server.url });
});

afterEach(() => stage.closePages());

afterAll(async () => {
  await stage.close();
  endpoint.close();
});

it("an example is written and deleted, and the first checkpoint opens its conversation", async () => {
  const opened = await stage.page("#/connect");
  const { page } = opened;
  await page.getByText("Waiting for the first checkpoint").waitFor();
  await page.getByRole("tab", { name: "Claude Agent SDK, Python" }).click();
  await page.getByText("ThreadkeepSessionStore").first().waitFor();
  await send(await open(page, "Write the example", "Write the example"), "Write");
  const notices = page.getByRole("region", { name: "What was done" });
  await notices.getByRole("link", { name: "A trip by boat" }).waitFor();
  expect(await client.store.count(["threadkeep-example", "notes"])).toBe(3);
  await notices.getByRole("link", { name: "A trip by boat" }).click();
  await page.locator("article.message", { hasText: "High tide at noon." }).waitFor();
  // To ask for a session that is not there is answered with 404, which a browser notes by itself.
  await stage.go(page, "#/connect");
  await undo(page, "The example is deleted.");
  expect(await client.store.count(["threadkeep-example"])).toBe(0);
  expect((await client.files.ls(["threadkeep-example", "files"])).entries).toEqual([]);
  expect((await client.sessions.list("claude")).sessions).toEqual([]);
  await page.getByText("Waiting for the first checkpoint").waitFor();
  await plan({ url: stage.server.url }, "first");
  await page.getByRole("heading", { name: "Plan a trip by boat" }).waitFor();
  expect(page.url()).toMatch(/#\/threads\/first$/);
  // Where there are threads already, the page stays.
  await stage.go(page, "#/connect");
  await page.getByRole("link", { name: "Plan a trip by boat" }).waitFor();
  await allow({ url: stage.server.url }, "first");
  expect(page.url()).toMatch(/#\/connect$/);
  await stage.expectQuiet(opened);
});

it("a token for the agent is shown once, in lines for a shell, and is in no code", async () => {
  const opened = await stage.page("#/connect");
  const { page } = opened;
  const form = await open(page, "Make a token for the agent", "Make a token for the agent");
  await form.getByLabel("Subject").fill("robot");
  expect(await violations(page)).toEqual([]);
  await form.getByRole("button", { name: "Make", exact: true }).click();
  const shown = page.getByRole("dialog", { name: "The token of the agent" });
  const lines = await shown.locator("pre code").innerText();
  expect(lines).toContain(`export THREADKEEP_URL='${stage.server.url}'`);
  const token = /export THREADKEEP_API_KEY='([^']+)'/.exec(lines)?.[1] ?? "";
  const agent = new Client({ url: stage.server.url, apiKey: token });
  expect((await agent.whoami()).subject).toBe("robot");
  expect(await violations(page)).toEqual([]);
  await shown.getByRole("button", { name: "Done" }).click();
  expect(await page.content()).not.toContain(token);
  expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain(token);
  await stage.expectQuiet(opened);
});

it("files are found by name and by their lines, and a line leads to the file", async () => {
  const text = (name: string) =>
    Array.from({ length: 30 }, (_, at) => `${name} line ${at + 1}`).join("\n");
  await client.files.write(FILES, "/plans/boat.md", `${text("boat")}\nthe TIDE is high\n`);
  await client.files.write(FILES, "/plans/deep/car.txt", text("car"));
  await client.files.write(FILES, "/other.md", "the TIDE is low\n");
  const opened = await stage.page("#/files/ns/ann/files?path=%2Fplans%2F");
  const { page } = opened;
  await page.getByLabel("Names").fill("**/*.txt");
  await page.getByRole("button", { name: "Search below" }).click();
  await page.getByRole("link", { name: "/plans/deep/car.txt" }).waitFor();
  expect(page.url()).toContain("glob=**%2F*.txt");
  expect(await page.locator(".file-row").count()).toBe(1);
  await page.getByLabel("Names").fill("");
  await page.getByLabel("Text in lines").fill("TIDE");
  await page.keyboard.press("Enter");
  await page.getByText("1 line", { exact: true }).waitFor();
  await page.getByRole("link", { name: "/plans/boat.md:31" }).click();
  const line = page.getByRole("region", { name: "Line 31" });
  await line.getByText("the TIDE is high").waitFor();
  expect(await line.locator("[aria-current]").innerText()).toBe("the TIDE is high");
  expect(await line.getByText("boat line 26").count()).toBe(1);
  expect(await line.getByText("boat line 25").count()).toBe(0);
  // The address of a search is one that can be sent to somebody.
  await page.goBack();
  await page.getByText("1 line", { exact: true }).waitFor();
  expect(await page.getByLabel("Text in lines").inputValue()).toBe("TIDE");
  await stage.expectQuiet(opened);
});

it("a search in a drive stays in the drive", async () => {
  await client.drive.upload("/memories/tea.md", new TextEncoder().encode("green TEA\n"), {
    subject: "ann",
  });
  const opened = await stage.page("#/files/drive?subject=ann&path=%2Fmemories%2F&grep=TEA");
  const { page } = opened;
  await page.getByRole("link", { name: "/memories/tea.md:1" }).click();
  await page.getByRole("region", { name: "Line 1" }).waitFor();
  expect(page.url()).toContain("#/files/drive?path=%2Fmemories%2Ftea.md&subject=ann&line=1");
  await stage.expectQuiet(opened);
});

it("items are found by a filter that was built, by meaning, and by both with scores", async () => {
  await client.store.putSetting(NOTES, { textFields: ["text"] });
  const put = (key: string, value: Record<string, unknown>) =>
    client.store.put(NOTES, key, value, { index: ["text"] });
  await put("tea", { kind: "taste", stars: 5, text: "she drinks green tea" });
  await put("boat", { kind: "plan", stars: 5, text: "the boat leaves at noon" });
  await put("cat", { kind: "fact", stars: 2, text: "a cat sleeps" });
  const query = "green tea";
  await waitUntil(async () => {
    const { items } = await client.store.search(NOTES, { query, mode: "hybrid" });
    const scored = items.filter(({ score }) => score !== undefined).length;
    const vectors = await client.store.search(NOTES, { query, mode: "vector" });
    return scored > 0 && vectors.items.every(({ score }) => score !== undefined);
  }, "the words and vectors of the items");
  const opened = await stage.page("#/store/ann/notes");
  const { page } = opened;
  const keys = () => page.locator(".item-key").allInnerTexts();
  await expect.poll(keys).toHaveLength(3);
  await page.getByRole("button", { name: "Build the filter" }).click();
  await page.getByLabel("Field of condition 1").fill("stars");
  await page.getByLabel("Comparison of condition 1").selectOption("is at least");
  await page.getByLabel("Value of condition 1, as JSON").fill("five");
  await page.getByText("A value is JSON").waitFor();
  await page.getByLabel("Value of condition 1, as JSON").fill("5");
  await page.getByRole("button", { name: "Add a condition" }).click();
  await page.getByLabel("Field of condition 2").fill("kind");
  await page.getByLabel("Value of condition 2, as JSON").fill('"fact"');
  await page.getByLabel("An item must meet").selectOption("one of them");
  const filter = page.getByLabel("Filter, an object of JSON");
  expect(await filter.inputValue()).toBe(
    '{"$or": [{"stars": {"$gte": 5}}, {"kind": {"$eq": "fact"}}]}',
  );
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Remove condition 2" }).click();
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await expect.poll(async () => (await keys()).sort()).toEqual(["boat", "tea"]);
  expect(page.url()).toContain("mode=filter");
  await page.getByLabel("Find by").selectOption("meaning");
  await page.getByLabel("A text of this meaning").fill(query);
  await page.getByRole("button", { name: "Search", exact: true }).click();
  // The filter counts, too.
  await expect.poll(keys).toEqual(["tea", "boat"]);
  await page
    .getByText(/score 0\.\d+/)
    .first()
    .waitFor();
  await filter.fill("");
  await page.getByLabel("Find by").selectOption("words and meaning");
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await expect.poll(async () => (await keys())[0]).toBe("tea");
  expect(page.url()).toMatch(/mode=hybrid$/);
  await page.reload();
  await expect.poll(async () => (await keys())[0]).toBe("tea");
  await stage.expectQuiet(opened);
});
