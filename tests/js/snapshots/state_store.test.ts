/** ComputerAgent's StateStore: a sandbox is saved, loaded, listed and removed, and its conversation comes back where it is asked to. */

import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { HumanMessage } from "@langchain/core/messages";
import { Client, InvalidError, SnapshotNotFoundError, ThreadRestoredError } from "threadkeep";
import {
  httpCheckpointer,
  httpSessionStore,
  httpStateStore,
  type SandboxSnapshot,
} from "threadkeep/computeragent";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { agent, recall } from "../support/agents.js";
import { ENGINES } from "../support/servers.js";
import { newTenant } from "../support/sessions.js";
import { tarOf } from "../support/tar.js";

const SESSION = "sbx_source";
const CONFIG = { configurable: { thread_id: SESSION } };
/** What the Claude engine makes of a session's id. */
const ENGINE_ID = (() => {
  const name = Buffer.from("f8d9cb1a3e7e4d8d9aa41d3f8d7b6c2e", "hex");
  const digest = createHash("sha1").update(name).update(SESSION).digest().subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  return digest.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
})();
const LOG = { projectKey: "-tmp-boot-1", sessionId: ENGINE_ID };

afterEach(() => vi.unstubAllEnvs());

describe.each(ENGINES)("on %s", (engine) => {
  let client: Client;
  let options: { url: string; tokenEnv: string };

  beforeEach(async () => {
    const tenant = await newTenant(engine);
    client = new Client(tenant);
    options = { url: tenant.url, tokenEnv: "MY_TOKEN" };
    vi.stubEnv("MY_TOKEN", tenant.apiKey);
  });

  function record(snapshotId: string, more: Partial<SandboxSnapshot> = {}): SandboxSnapshot {
    return {
      snapshotId,
      sourceSandboxId: "sbx_source",
      sourceSessionId: SESSION,
      takenAt: new Date().toISOString(),
      config: { harness: "deepagents", sessionStore: { kind: "http", options } },
      turnCount: 1,
      usage: { inputTokens: 1 },
      sessionStoreRef: { kind: "http", options, sessionId: SESSION },
      workdirTar: gzipSync(tarOf({ "notes.txt": `notes of ${snapshotId}` })),
      workdirBytes: 100,
      workdirFileCount: 1,
      ...more,
    };
  }

  /** A turn of the deepagents engine and of the Claude engine. */
  async function turn(text: string) {
    const graph = agent(httpCheckpointer(options), [recall]);
    await graph.invoke({ messages: [new HumanMessage(text)] }, CONFIG);
    await httpSessionStore(options).append(LOG, [{ type: "user", uuid: text, text }]);
  }

  async function told() {
    const tuple = await httpCheckpointer(options).getTuple(CONFIG);
    const messages = tuple?.checkpoint.channel_values["messages"] as { text: string }[];
    const entries = await httpSessionStore(options).load(LOG);
    return [messages.map((one) => one.text), entries?.map((one) => one["text"])];
  }

  it("a sandbox comes back as it was saved, and the conversation where it is asked for", async () => {
    await turn("first");
    const store = httpStateStore(options);
    const snap = record("snap_1");
    const saved = await store.save(snap);
    expect(saved).toMatchObject({ snapshotId: "snap_1" });
    expect(saved.sizeBytes).toBeGreaterThan(1_000);
    const kept = await client.snapshots.get("snap_1");
    expect(kept?.threads.map((one) => one.threadId)).toEqual([SESSION]);
    expect(kept?.sessions.map((one) => one.key)).toEqual([["computeragent", ENGINE_ID]]);
    const tar = gunzipSync(snap.workdirTar as Uint8Array);
    expect(kept?.archive).toMatchObject({
      workspace: "computeragent",
      sizeBytes: tar.length,
      fileCount: 1,
      sha256: createHash("sha256").update(tar).digest("hex"),
    });
    const then = await told();
    await turn("second");
    const now = await told();

    const loaded = await store.load("snap_1");
    const { workdirTar, ...rest } = loaded as SandboxSnapshot;
    const { workdirTar: sent, ...sentRest } = snap;
    expect(rest).toEqual(sentRest);
    expect(gunzipSync(workdirTar as Uint8Array)).toEqual(gunzipSync(sent as Uint8Array));
    expect(await told()).toEqual(now);
    expect(await store.restoreConversation("snap_1", "latest")).toBeUndefined();
    expect(await told()).toEqual(now);

    const old = httpCheckpointer(options);
    const head = await old.getTuple(CONFIG);
    const restored = await store.restoreConversation("snap_1", "snapshot");
    expect(restored?.threads).toMatchObject([{ threadId: SESSION, created: false }]);
    expect(await told()).toEqual(then);
    await expect(old.putWrites(head?.config ?? {}, [["x", 1]], "task")).rejects.toThrow(
      ThreadRestoredError,
    );
    const wrong = store.restoreConversation("snap_1", "other" as "latest");
    await expect(wrong).rejects.toThrow(InvalidError);
  });

  it("states are listed newest first, and removed", async () => {
    await turn("first");
    const store = httpStateStore(options);
    for (const number of [1, 2, 3]) await store.save(record(`snap_${number}`));
    await store.save(record("snap_4", { sourceSandboxId: "sbx_other" }));
    await client.snapshots.take({ snapshotId: "of somebody else", threads: [SESSION] });
    const ids = async (filter?: Parameters<typeof store.list>[0]) => {
      return (await store.list(filter)).map((one) => one.snapshotId);
    };
    expect(await ids()).toEqual(["snap_4", "snap_3", "snap_2", "snap_1"]);
    expect(await ids({ sourceSandboxId: "sbx_source", limit: 2 })).toEqual(["snap_3", "snap_2"]);
    const second = (await client.snapshots.get("snap_2"))?.takenAt;
    expect(await ids({ since: second })).toEqual(["snap_4", "snap_3", "snap_2"]);
    expect(await ids({ since: Date.now() + 3_600_000 })).toEqual([]);
    const [newest] = await store.list({ limit: 1 });
    expect(newest).toMatchObject({ sourceSandboxId: "sbx_other", turnCount: 1 });
    expect(newest?.sizeBytes).toBeGreaterThan(0);
    expect(newest).not.toHaveProperty("workdirTar");
    await store.delete("snap_2");
    await store.delete("snap_2");
    await expect(client.snapshots.getArchive("snap_2")).rejects.toThrow(SnapshotNotFoundError);
    expect(await ids()).toEqual(["snap_4", "snap_3", "snap_1"]);
    expect(await store.load("snap_2")).toBeNull();
    expect(await store.load("of somebody else")).toBeNull();
  });

  it("a sandbox whose conversation is elsewhere is saved as well", async () => {
    const store = httpStateStore(options);
    const elsewhere = record("snap_1", { sessionStoreRef: { kind: "mongo", sessionId: "x" } });
    await store.save(elsewhere);
    expect((await client.snapshots.get("snap_1"))?.threads).toEqual([]);
    expect((await store.load("snap_1"))?.turnCount).toBe(1);
  });

  it("a save that is repeated is one, and another one of its id is refused", async () => {
    await turn("first");
    const store = httpStateStore(options);
    const snap = record("snap_1");
    const first = await store.save(snap);
    expect(await store.save(snap)).toEqual(first);
    await expect(store.save({ ...snap, turnCount: 2 })).rejects.toThrow(InvalidError);
    const other = gzipSync(tarOf({ "notes.txt": "another" }));
    await expect(store.save({ ...snap, workdirTar: other })).rejects.toThrow(InvalidError);
    const kept = (await store.load("snap_1"))?.workdirTar as Uint8Array;
    expect(gunzipSync(kept)).toEqual(gunzipSync(snap.workdirTar as Uint8Array));
    expect(await store.list()).toHaveLength(1);
  });

  it("keeps its token out of records", async () => {
    const store = httpStateStore(options);
    const leaking = record("snap_1", { config: { env: process.env["MY_TOKEN"] } });
    await expect(store.save(leaking)).rejects.toThrow(InvalidError);
    expect(await store.load("snap_1")).toBeNull();
    expect(() => httpStateStore({ ...options, apiKey: "tk_x" })).toThrow(InvalidError);
  });
});
