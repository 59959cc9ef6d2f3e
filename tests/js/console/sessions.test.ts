/** Sessions and snapshots in the console: a transcript grows while it is open, and a snapshot says what it holds. */

import { Client } from "threadkeep";
import { ThreadkeepSessionStore } from "threadkeep/claude";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Stage } from "./stage.js";

const PROJECT = "-home-ann/work";
const IN_ADDRESS = `#/sessions/claude/${encodeURIComponent(PROJECT)}/boat`;
let stage: Stage;
let client: Client;
let store: ThreadkeepSessionStore;

beforeAll(async () => {
  stage = await Stage.open();
  client = new Client({ url: stage.server.url });
  store = new ThreadkeepSessionStore({ url: stage.server.url });
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

function user(uuid: string, content: unknown) {
  return { type: "user", uuid, message: { role: "user", content } };
}

function assistant(uuid: string, content: unknown) {
  return { type: "assistant", uuid, message: { role: "assistant", content } };
}

const USE = { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls boats" } };

it("a session appears in the list without a reload, and its next entries in the open stream", async () => {
  const listed = await stage.page("#/sessions");
  await listed.page.getByText("There are no sessions of the kind claude").waitFor();
  const key = { projectKey: PROJECT, sessionId: "boat" };
  await store.append(key, [user("u1", "List the boats"), assistant("u2", [USE])]);
  await listed.page.getByRole("link", { name: "-home-ann%2Fwork/boat" }).click();
  const { page } = listed;
  await page.locator("article.message", { hasText: "List the boats" }).waitFor();
  const call = page.getByRole("region", { name: "Call of the tool Bash" });
  await call.getByText("no result yet").waitFor();
  const result = { type: "tool_result", tool_use_id: "t1", content: "sloop" };
  await store.append(key, [user("u3", [result]), assistant("u4", "There is a **sloop**.")]);
  await call.locator(".call-result", { hasText: "sloop" }).waitFor();
  await page.locator("article.message strong", { hasText: "sloop" }).waitFor();
  await store.append({ ...key, subpath: "subagents/one" }, [user("s1", "Look at the pier")]);
  await page.getByRole("link", { name: "subagents/one" }).click();
  await page.locator("article.message", { hasText: "Look at the pier" }).waitFor();
  expect(page.url()).toContain("stream=subagents%2Fone");
  await stage.expectQuiet(listed);
});

it("a long stream opens at its end, and earlier entries come when they are asked for", async () => {
  const session = { kind: "own", key: ["long"] };
  const entries = Array.from({ length: 250 }, (_, at) => ({ data: { line: `line ${at + 1}` } }));
  await client.sessions.append(session, entries);
  const opened = await stage.page("#/sessions?kind=own");
  const { page } = opened;
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/v1/sessions/load")) asked.push(request.url());
  });
  await page.getByRole("link", { name: "long", exact: true }).click();
  await page.getByText("entry 151", { exact: true }).waitFor();
  expect(asked).toHaveLength(1);
  await page.getByRole("button", { name: "Earlier entries" }).click();
  await page.getByText("entry 51", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Earlier entries" }).click();
  await page.getByText("entry 1", { exact: true }).waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Earlier entries" }).count()).toBe(0);
  await stage.expectQuiet(opened);
});

it("documents are trees or texts, and the filter of the list stands in the address", async () => {
  const session = { kind: "own", key: ["papers", "one"] };
  await client.sessions.create(session, { user: "ann", title: "Papers of Ann" });
  await client.sessions.putDocument(session, "plan.json", '{"boats": ["sloop"]}');
  await client.sessions.putDocument(session, "notes", "no JSON");
  const opened = await stage.page("#/sessions?kind=own");
  const { page } = opened;
  await page.getByLabel("First parts of the key").fill("papers");
  await page.getByLabel("User").fill("ann");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await expect.poll(() => page.url()).toMatch(/#\/sessions\?kind=own&prefix=%2Fpapers&user=ann$/);
  await page.getByRole("link", { name: "Papers of Ann" }).click();
  await page.getByText("The session has no entries").waitFor();
  await page.getByRole("link", { name: "plan.json" }).click();
  await page.getByText("boats:").waitFor();
  await page.getByRole("link", { name: "notes" }).click();
  await page.locator("pre", { hasText: "no JSON" }).waitFor();
  await stage.expectQuiet(opened);
});

it("an entry is shown as it is stored", async () => {
  const { page } = await stage.page(`${IN_ADDRESS}?view=entries`);
  const tree = page.locator(".stream-row .json-toggle").first();
  await tree.click();
  await page.getByText("uuid:").first().waitFor();
});

it("a token for one session gets there, and sees no other section", async () => {
  const { token } = await client.tokens.mint({
    ttlSeconds: 600,
    grants: { sessions: [{ id: "own:long", actions: ["read"] }] },
  });
  const opened = await stage.page(`#/login?token=${token}`);
  const { page } = opened;
  await page.getByRole("link", { name: "Sessions", exact: true }).click();
  await page.getByRole("link", { name: "own: long" }).click();
  await page.getByText("entry 151", { exact: true }).waitFor();
  expect(await page.getByRole("navigation", { name: "Sections" }).innerText()).toMatch(
    /^Home\s+Sessions\s+Connect$/,
  );
});

it("a snapshot says what it holds, with the code that restores it", async () => {
  await client.snapshots.take({
    snapshotId: "before-lunch",
    sessions: [{ kind: "own", key: ["long"] }],
    labels: { why: "lunch" },
    document: { step: 7 },
  });
  const opened = await stage.page("#/snapshots");
  const { page } = opened;
  await page.getByRole("link", { name: "why=lunch" }).click();
  await expect.poll(() => page.url()).toMatch(/#\/snapshots\?label=why&value=lunch$/);
  await page.getByRole("link", { name: "before-lunch" }).click();
  await page.getByText("1: 250 entries").waitFor();
  await page.getByText("step:").waitFor();
  await page.getByText("Restore by code").click();
  const code = page.locator("details[open] pre code");
  await expect.poll(() => code.innerText()).toContain('restore("before-lunch", dry_run=True)');
  await page.getByRole("link", { name: "own: long" }).click();
  await page.getByText("entry 151", { exact: true }).waitFor();
  await stage.expectQuiet(opened);
});

it("keys go to both sections", async () => {
  const { page } = await stage.page();
  await page.getByRole("heading", { name: "Home" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  await page.getByRole("heading", { name: "Snapshots" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("e");
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
});
