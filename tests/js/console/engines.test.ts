/** The pages of the console on PostgreSQL, and of a tenant that is encrypted, before and after its key is destroyed. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, KeyDestroyedError } from "threadkeep";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../support/database.js";
import { run } from "../support/server.js";
import { BINARY } from "../support/settings.js";
import { waitUntil } from "../support/waiting.js";
import { plan } from "./agents.js";
import { Stage } from "./stage.js";

const TENANT = "acme";
const THREAD = "trip";
const NOTES = ["ann", "notes"];
const SESSION = { kind: "claude", key: ["work", "sea"] };
/** Stands for the address of a difference, which has ids of checkpoints. */
const DIFF = "diff";
const DESTROYED = "The content was encrypted with a key that has been destroyed";

/** An address, what its page shows, and what it still shows without the key of the tenant. */
type Screen = [address: string, shown: string, left: string];
const SCREENS: Screen[] = [
  ["#/", "Plan a trip by boat", THREAD],
  ["#/threads", "Plan a trip by boat", THREAD],
  ["#/inbox", "May the agent call", THREAD],
  [`#/threads/${THREAD}`, "The tide is high at noon.", DESTROYED],
  [`#/threads/${THREAD}/timeline`, "Step 9", DESTROYED],
  [`#/threads/${THREAD}/state`, "messages", DESTROYED],
  [DIFF, "added", DESTROYED],
  ["#/store", "ann", "ann"],
  [`#/store/${NOTES.join("/")}`, "first", DESTROYED],
  [`#/store/${NOTES.join("/")}?key=first`, "a note on boats", DESTROYED],
  [`#/files/ns/${NOTES.join("/")}`, "a.txt", DESTROYED],
  [`#/files/ns/${NOTES.join("/")}?path=%2Fa.txt`, "text of the file", DESTROYED],
  ["#/sessions", "sea", DESTROYED],
  ["#/sessions/claude/work/sea", "Look at the sea", DESTROYED],
  ["#/sessions/claude/work/sea?doc=plan", "boats", DESTROYED],
  ["#/snapshots", "why=lunch", DESTROYED],
  ["#/snapshots/lunch", "why=lunch", DESTROYED],
  ["#/access", "this key", "this key"],
  ["#/audit", "to download", "to download"],
  ["#/usage", "no limit", "no limit"],
  ["#/retention", "The tenant has no rule", "The tenant has no rule"],
  ["#/health", "Ready", "Ready"],
];

/** Puts something of each kind, and returns the address of a difference. */
async function fill(url: string, apiKey: string): Promise<string> {
  const client = new Client({ url, apiKey });
  await plan({ url, apiKey }, THREAD);
  await client.store.put(NOTES, "first", { text: "a note on boats" });
  await client.files.write(NOTES, "/a.txt", "text of the file\n");
  const data = { type: "user", message: { role: "user", content: "Look at the sea" } };
  await client.sessions.append(SESSION, [{ data }]);
  await client.sessions.putDocument(SESSION, "plan", '{"boats": 1}');
  const labels = { why: "lunch" };
  await client.snapshots.take({ snapshotId: "lunch", threads: [THREAD], labels });
  const { nodes } = await client.checkpoints.timeline(THREAD, { checkpointNs: "" });
  return `#/threads/${THREAD}/diff?from=${nodes.at(-1)?.checkpointId}&to=${nodes[0]?.checkpointId}`;
}
/** Opens every screen, and waits until it shows its text of these. */
async function walk({ stage, key, diff }: Tenant, textOf: (screen: Screen) => string) {
  const opened = await stage.page(`#/login?token=${key}`);
  const { page } = opened;
  await page.getByRole("heading", { name: "Home" }).waitFor();
  const failures = new Set<string>();
  for (const screen of SCREENS) {
    // So that nothing of the page before is taken for one of this page.
    await stage.go(page, "#/nowhere");
    await page.getByText("There is no page at this address").waitFor();
    await stage.go(page, screen[0] === DIFF ? diff : screen[0]);
    await page.getByRole("main").getByText(textOf(screen)).first().waitFor();
    const heading = page.getByRole("heading", { level: 1 });
    expect(await heading.allInnerTexts(), screen[0]).toEqual([expect.stringMatching(/\S/)]);
    for (const title of await page.locator(".failure-title").allInnerTexts()) failures.add(title);
  }
  return { ...opened, failures: [...failures] };
}

/** A tenant with something of each kind, in a console of its own. */
interface Tenant {
  stage: Stage;
  key: string;
  client: Client;
  diff: string;
}

/** `options`: more arguments of the server and of its commands. */
async function newTenant(options: string[], database?: string): Promise<Tenant> {
  const stage = await Stage.open(options, undefined, database);
  const { place } = stage.server;
  const key = (await run(place, ["keys", "create", "--tenant", TENANT, ...options])).trim();
  const client = new Client({ url: place.url, apiKey: key });
  const isSeen = () => client.whoami().then(Boolean, () => false);
  await waitUntil(isSeen, "the server to see the key");
  return { stage, key, client, diff: await fill(place.url, key) };
}

async function expectReadable(tenant: Tenant, engine: string): Promise<void> {
  const { failures, ...opened } = await walk(tenant, ([, shown]) => shown);
  expect(failures).toEqual([]);
  await tenant.stage.expectQuiet(opened);
  await tenant.stage.go(opened.page, "#/");
  await opened.page.getByText(`on ${engine}`).waitFor();
  await opened.page.close();
}

describe("on PostgreSQL", () => {
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await newTenant([], (await Database.create("console_pages")).url);
  });

  afterAll(() => tenant.stage.close());

  it("every page shows what is stored", () => expectReadable(tenant, "PostgreSQL"));
});

describe("encrypted", () => {
  const folder = mkdtempSync(join(tmpdir(), "tk-master-key-"));
  const masterKey = ["--master-key-file", join(folder, "master.key")];
  let tenant: Tenant;

  beforeAll(async () => {
    execFileSync(BINARY, ["master-key", "create", "--to", join(folder, "master.key")], {
      stdio: "pipe",
    });
    tenant = await newTenant(masterKey);
  });

  afterAll(async () => {
    await tenant.stage.close();
    rmSync(folder, { recursive: true });
  });

  it("every page shows what is stored", () => expectReadable(tenant, "SQLite"));

  it("without the key of the tenant there are lists, and contents are said to be gone", async () => {
    const { stage, client } = tenant;
    const command = ["master-key", "destroy", "--tenant", TENANT, "--yes", ...masterKey];
    await run(stage.server.place, command);
    const isGone = (error: unknown) => error instanceof KeyDestroyedError;
    const read = () => client.store.get(NOTES, "first").then(() => false, isGone);
    await waitUntil(read, "the server to have no key");
    const { failures, page, errors } = await walk(tenant, ([, , left]) => left);
    expect(failures).toEqual([DESTROYED]);
    // A browser notes each answer 410 by itself.
    const others = errors.filter((error) => !error.includes("410"));
    await stage.expectQuiet({ page, errors: others });
  });
});
