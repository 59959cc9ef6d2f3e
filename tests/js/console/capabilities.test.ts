/** A control is offered exactly when the server allows its operation, for a dozen kinds of credentials; and no walk is answered 403. */

import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Client, type Grants, type Key } from "threadkeep";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { run } from "../support/server.js";
import { waitUntil } from "../support/waiting.js";
import { Requests } from "./acting.js";
import { plan } from "./agents.js";
import { violations } from "./axe.js";
import { Stage } from "./stage.js";

const ALL = ["read", "append", "write"] as const;
const READ = ["read"] as const;
const THREAD = "ann:trip";
const NOTES = ["ann", "notes"];
const TENANT = "acme";
const JWT = "a JWT of a subject";
const issuerSecret = randomBytes(32).toString("hex");
let folder: string;
let stage: Stage;
let key: string;
let client: Client;

type Credential = [name: string, grants: Grants | undefined, subject?: string];
const granted = (actions: readonly ("read" | "append" | "write")[]) => [...actions];
const CREDENTIALS: Credential[] = [
  ["the whole tenant", undefined],
  ["a subject", undefined, "ann"],
  ["another subject", undefined, "bob"],
  [JWT, undefined, "ann"],
  ["read-only by id", { threads: [{ id: THREAD, actions: granted(READ) }] }],
  ["read-only by prefix", { threads: [{ prefix: "ann:", actions: granted(READ) }] }],
  ["read-only by ownership", { threads: [{ owned: true, actions: granted(READ) }] }, "ann"],
  ["read and append by id", { threads: [{ id: THREAD, actions: ["read", "append"] }] }],
  ["write by prefix", { threads: [{ prefix: "ann:", actions: granted(ALL) }] }],
  ["read-only namespaces", { namespaces: [{ prefix: [], actions: granted(READ) }] }],
  ["namespaces that only grow", { namespaces: [{ prefix: ["ann"], actions: ["read", "append"] }] }],
  ["write to namespaces", { namespaces: [{ prefix: ["ann"], actions: granted(ALL) }] }],
  ["sessions only", { sessions: [{ prefix: "claude:", actions: granted(ALL) }] }],
  ["snapshots only", { snapshots: [{ prefix: "ann/", actions: granted(ALL) }] }],
  ["read-only of the whole tenant", { tenant: ["read"] }],
  ["a token of the whole tenant", { tenant: ["read", "write"] }],
  [
    "read-only everything that a grant can name",
    {
      threads: [{ prefix: "ann:", actions: granted(READ) }],
      namespaces: [{ prefix: [], actions: granted(READ) }],
      sessions: [{ prefix: "claude:", actions: granted(READ) }],
      snapshots: [{ prefix: "ann/", actions: granted(READ) }],
    },
  ],
];
const SCREENS = [
  `#/threads/${encodeURIComponent(THREAD)}`,
  `#/threads/${encodeURIComponent(THREAD)}/storage`,
  `#/store/${NOTES.join("/")}`,
  `#/store/${NOTES.join("/")}?key=plan`,
  `#/files/ns/${NOTES.join("/")}`,
  `#/files/ns/${NOTES.join("/")}?path=%2Fa.txt`,
  "#/snapshots",
  `#/snapshots/${encodeURIComponent("ann/monday")}`,
];
/** For credentials that read the whole tenant. */
const OF_TENANT = [
  ...["#/access", "#/access?show=tokens", "#/access?show=subjects"],
  ...["#/audit", "#/usage", "#/retention", "#/health"],
];
const SECTIONS = ["#/", "#/threads", "#/inbox", "#/store", "#/files", "#/sessions", "#/connect"];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tk-issuers-"));
  stage = await Stage.open(["--issuers", issuers()]);
  key = (await run(stage.server.place, ["keys", "create", "--tenant", TENANT])).trim();
  client = new Client({ url: stage.server.url, apiKey: key });
  await waitUntil(
    () =>
      client.whoami().then(
        () => true,
        () => false,
      ),
    "the server to see the key",
  );
  const { token } = await client.tokens.mint({ subject: "ann", ttlSeconds: 3_600 });
  await plan({ url: stage.server.url, apiKey: token }, THREAD);
  await client.store.putSetting(NOTES, { history: 3 });
  await client.store.put(NOTES, "plan", { step: 1 });
  await client.store.put(NOTES, "plan", { step: 2 });
  await client.files.putContent(NOTES, "/a.txt", new TextEncoder().encode("text\n"));
  await client.snapshots.take({ snapshotId: "ann/monday", namespaces: [NOTES] });
  await client.sessions.append({ kind: "claude", key: ["a"] }, [{ data: { type: "user" } }]);
  await client.putRetentionPolicy({ keepLast: 1_000, dryRun: true });
});

afterEach(() => stage.closePages());

afterAll(async () => {
  await stage.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The file that names a login of the tenant. */
function issuers(): string {
  const [file, secret] = [join(folder, "issuers.json"), join(folder, "secret")];
  const login = { name: "login", tenant: TENANT, issuer: "https://login.test", audience: "tk" };
  const keys = { algorithm: "HS256", secret_file: secret, subject_claim: "sub" };
  writeFileSync(secret, issuerSecret);
  writeFileSync(file, JSON.stringify({ issuers: [{ ...login, ...keys }] }));
  return file;
}

function jwtOf(sub: string): string {
  const text = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const claims = { iss: "https://login.test", aud: "tk", sub, exp };
  const signed = `${text({ alg: "HS256", typ: "JWT" })}.${text(claims)}`;
  return `${signed}.${createHmac("sha256", issuerSecret).update(signed).digest("base64url")}`;
}

async function tokenOf([name, grants, subject]: Credential): Promise<string> {
  if (name === JWT) return jwtOf(subject ?? "");
  if (grants === undefined && subject === undefined) return key;
  const { token } = await client.tokens.mint({
    ttlSeconds: 3_600,
    ...(grants === undefined ? {} : { grants }),
    ...(subject === undefined ? {} : { subject }),
  });
  return token;
}

/** A call of each operation that the server refuses for another reason than the grants: it changes nothing. */
const CALLS: Record<string, [method: string, path: string, body?: object]> = {
  update_thread: ["POST", "/v1/threads/update", { thread_id: THREAD, title: "x", if_version: 1 }],
  copy_thread: [
    ...(["POST", "/v1/threads/copy"] as const),
    { source_thread_id: THREAD, target_thread_id: THREAD },
  ],
  fork_thread: [
    ...(["POST", "/v1/threads/fork"] as const),
    { source: THREAD, target: THREAD, checkpoint_id: "none" },
  ],
  delete_thread: ["POST", "/v1/threads/delete", { thread_id: THREAD, generation: "another" }],
  prune_threads: [
    ...(["POST", "/v1/checkpoints/prune"] as const),
    { thread_ids: [THREAD], keep_last: 1, dry_run: true },
  ],
  break_lease: ["POST", "/v1/threads/lease/break", { thread_id: THREAD }],
  put_item: ["POST", "/v1/store/put", { namespace: NOTES, key: "plan", value: {}, if_version: 1 }],
  delete_item: ["POST", "/v1/store/delete", { namespace: NOTES, key: "plan", if_version: 1 }],
  write_file: [
    ...(["POST", "/v1/files/write"] as const),
    { namespace: NOTES, path: "/a.txt", content: "", if_version: 1 },
  ],
  move_files: ["POST", "/v1/files/move", { namespace: NOTES, from: "/none", to: "/other" }],
  delete_files: ["POST", "/v1/files/delete", { namespace: NOTES, path: "/none", if_version: 1 }],
  restore_item_version: [
    ...(["POST", "/v1/store/history/restore"] as const),
    { namespace: NOTES, key: "plan", version: 1, if_version: 1 },
  ],
  restore_snapshot: [
    ...(["POST", "/v1/snapshots/restore"] as const),
    { snapshot_id: "ann/monday", dry_run: true },
  ],
  take_snapshot: ["POST", "/v1/snapshots/take", { threads: ["nobody"] }],
  create_key: ["POST", "/v1/keys", { name: "" }],
  revoke_key: ["POST", "/v1/keys/revoke", { key_id: `key_${"0".repeat(32)}` }],
  mint_token: ["POST", "/v1/tokens", { ttl_seconds: 0 }],
  revoke_token: ["POST", "/v1/tokens/revoke", { token_id: `tok_${"0".repeat(32)}` }],
  put_retention_policy: ["POST", "/v1/retention/policies/put", {}],
  delete_retention_policy: ["POST", "/v1/retention/policies/delete", { thread_id: "nobody" }],
  run_retention: ["POST", "/v1/retention/run", { thread_id: "nobody" }],
  delete_subject: ["DELETE", "/v1/subjects?subject=nobody"],
};
/** Buttons whose things are new ones: the operation is called for such a thing. */
const NEW_CALLS: Record<string, [method: string, path: string, body?: object]> = {
  "New item": [
    ...(["POST", "/v1/store/put"] as const),
    { namespace: NOTES, key: "plan", value: {}, if_version: 0 },
  ],
  "New file": [
    ...(["POST", "/v1/files/write"] as const),
    { namespace: NOTES, path: "/a.txt", content: "", if_version: 0 },
  ],
  Upload: ["POST", "/v1/files/uploads", { namespace: NOTES, path: "/x" }],
};

/** Lists with the screens that ask for them, which is exactly when the server answers them. */
const LISTS: Record<
  string,
  [address: string, call: [method: string, path: string, body?: object]]
> = {
  list_subjects: ["#/access?show=subjects", ["GET", "/v1/subjects?limit=1"]],
  list_session_kinds: ["#/sessions", ["POST", "/v1/sessions/kinds", { limit: 1 }]],
  list_largest_namespaces: ["#/usage", ["POST", "/v1/store/namespaces/largest", { limit: 1 }]],
  list_namespaces: ["#/store", ["POST", "/v1/store/namespaces", { counts: true, limit: 1 }]],
};

/** Streams, which are opened exactly where the server answers them. */
const STREAMS = ["/v1/threads/changes", "/v1/store/changes"];

async function isStreamRefused(apiKey: string, path: string): Promise<boolean> {
  const answer = await fetch(stage.server.url + path, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  await answer.body?.cancel();
  return answer.status === 403;
}

async function isRefused(apiKey: string, call: [string, string, object?]): Promise<boolean> {
  const [method, path, body] = call;
  const { status } = await fetch(stage.server.url + path, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return status === 403;
}

interface Control {
  label: string;
  operations: string[];
  isAllowed: boolean;
  reason: string | null;
}

async function controlsOf(page: Page): Promise<Control[]> {
  return await page.evaluate(() =>
    Array.from(document.querySelectorAll<HTMLElement>("[data-operations]"), (it) => ({
      label: it.innerText,
      operations: (it.dataset["operations"] ?? "").split(" "),
      isAllowed: it.getAttribute("aria-disabled") !== "true",
      reason: it.getAttribute("title"),
    })),
  );
}

/** Opens a screen from an empty page, and waits until it is complete. */
async function show(page: Page, requests: Requests, address: string): Promise<void> {
  await stage.go(page, "#/nowhere");
  await page.getByText("There is no page at this address").waitFor();
  await stage.go(page, address);
  await page.locator("main h1").first().waitFor();
  await requests.quiet();
}

describe.each(CREDENTIALS)("%s", (...credential) => {
  it("sees controls as the server would answer, and is never answered 403", async () => {
    const apiKey = await tokenOf(credential);
    const opened = new Set<string>();
    const { page } = await stage.page(`#/login?token=${apiKey}`, undefined, (made) => {
      made.on("request", (request) => opened.add(new URL(request.url()).pathname));
    });
    await page.getByRole("heading", { name: "Home" }).waitFor();
    const requests = new Requests(page);
    const refused: string[] = [];
    page.on("response", (response) => {
      if (response.status() === 403) refused.push(response.url());
    });
    const sections = await page.evaluate(() =>
      Array.from(
        document.querySelectorAll<HTMLAnchorElement>("nav.sections a"),
        (it) => it.hash.split("/")[1] ?? "",
      ),
    );
    const isShown = (address: string) => sections.includes(address.split(/[/?]/)[1] ?? "");
    for (const address of SECTIONS.filter(isShown)) await show(page, requests, address);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    for (const [operation, [address, call]] of Object.entries(LISTS)) {
      asked.length = 0;
      await show(page, requests, address);
      const isAsked = asked.includes(call[1].split("?")[0] ?? "");
      expect(isAsked, operation).toBe(!(await isRefused(apiKey, call)));
    }
    let seen = 0;
    for (const address of [...SCREENS, ...OF_TENANT].filter(isShown)) {
      await show(page, requests, address);
      for (const { label, operations, isAllowed, reason } of await controlsOf(page)) {
        seen += 1;
        const calls = [NEW_CALLS[label], ...operations.map((one) => CALLS[one])];
        const known = NEW_CALLS[label] ? calls.slice(0, 1) : calls.filter((one) => one);
        const answers = await Promise.all(known.map((call) => call && isRefused(apiKey, call)));
        if (known.length > 0) {
          expect(isAllowed, `${label} at ${address}`).toBe(!answers.includes(true));
        }
        if (!isAllowed)
          expect(reason, label).toMatch(/^needs (threads:|namespaces:|snapshots:|tenant|a key)/);
      }
    }
    for (const path of STREAMS) {
      expect(opened.has(path), path).toBe(!(await isStreamRefused(apiKey, path)));
    }
    expect(refused).toEqual([]);
    expect(seen > 0 || credential[0] === "sessions only").toBe(true);
  });
});

it("a token that reads the whole tenant sees its keys and tokens, and changes none", async () => {
  const [{ keyId }] = (await client.keys.list()).keys as [Key];
  const { token } = await client.tokens.mint({ readOnly: true });
  const { page } = await stage.page(`#/login?token=${token}`);
  await page.getByRole("heading", { name: "Home" }).waitFor();
  const requests = new Requests(page);
  await show(page, requests, "#/access");
  await page.getByText(keyId).first().waitFor();
  expect(await controlsOf(page)).toEqual([
    { label: "Make a key", operations: ["create_key"], isAllowed: false, reason: "needs tenant" },
    { label: "Make a token", operations: ["mint_token"], isAllowed: false, reason: "needs a key" },
    expect.objectContaining({ label: "Erase a subject", isAllowed: false }),
    expect.objectContaining({ label: "Revoke", isAllowed: false, reason: "needs tenant" }),
  ]);
  await show(page, requests, "#/access?show=tokens");
  const [, , , revoke] = await controlsOf(page);
  expect(revoke).toMatchObject({ operations: ["revoke_token"], isAllowed: false });
  await show(page, requests, "#/retention");
  expect((await controlsOf(page)).map(({ label, reason }) => [label, reason])).toEqual([
    ...["Set the rule", "Run now", "Delete the rule"].map((label) => [label, "needs tenant"]),
  ]);
});

it("a read-only token has every control disabled, with the reason for a screen reader", async () => {
  const readOnly = CREDENTIALS.at(-1);
  if (!readOnly) throw new Error("it is there");
  const { page } = await stage.page(`#/login?token=${await tokenOf(readOnly)}`);
  await page.getByRole("heading", { name: "Home" }).waitFor();
  const requests = new Requests(page);
  for (const address of SCREENS) {
    await show(page, requests, address);
    const controls = await controlsOf(page);
    expect(controls.length, address).toBeGreaterThan(0);
    expect(
      controls.filter((one) => one.isAllowed).map((one) => one.label),
      address,
    ).toEqual([]);
    expect(await violations(page), address).toEqual([]);
  }
  await show(page, requests, SCREENS[0] ?? "");
  const rename = page.getByRole("button", { name: "Rename" });
  expect(await rename.isDisabled()).toBe(true);
  const described = await rename.evaluate(
    (it) => document.getElementById(it.getAttribute("aria-describedby") ?? "")?.textContent,
  );
  expect(described).toBe(`needs threads:append for ${THREAD}`);
  await rename.focus();
  await page.keyboard.press("Enter");
  expect(await page.getByRole("dialog").count()).toBe(0);
});

it.each(["expired", "revoked"])(
  "a token that is %s sees the login and nothing else",
  async (how) => {
    const short = how === "expired" ? { ttlSeconds: 1 } : {};
    const { token, tokenId } = await client.tokens.mint({ subject: "ann", ...short });
    if (how === "revoked") await client.tokens.revoke({ tokenId });
    const ends = new Client({ url: stage.server.url, apiKey: token });
    await waitUntil(
      () =>
        ends.whoami().then(
          () => false,
          () => true,
        ),
      "the token to end",
    );
    const { page } = await stage.page(`#/login?token=${token}`);
    for (const address of ["#/", ...SCREENS, ...OF_TENANT]) {
      await stage.go(page, address);
      await page.getByLabel("Key or token").waitFor();
      expect(await controlsOf(page), address).toEqual([]);
      expect(await page.locator("nav.sections").count(), address).toBe(0);
    }
  },
);
