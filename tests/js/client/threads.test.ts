/** `client.threads` against the real server: get, list, storage, copies, forks and deletion; and whether the server is ready. */

import { interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import {
  Client,
  FenceStaleError,
  LeaseHeldError,
  ThreadExistsError,
  ThreadNotFoundError,
  TransportError,
} from "threadkeep";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { checkpoint, put } from "../support/checkpoints.js";
import { type Access, newAccess } from "../support/files.js";
import { expectRefusals } from "../support/refusals.js";
import { freePort } from "../support/server.js";
import { ENGINES } from "../support/servers.js";

describe.each(ENGINES)("on %s", (engine) => {
  let access: Access;
  let client: Client;
  let saver: ThreadkeepSaver;

  beforeEach(async () => {
    access = await newAccess(engine);
    client = new Client(access);
    saver = new ThreadkeepSaver(access);
  });

  it("metadata as text comes back as it was set", async () => {
    const metadataText = `{"score":1.0,"big":${2n ** 70n}}`;
    const { thread } = await client.threads.create({ threadId: "a", metadata: { old: true } });
    const { version } = await client.threads.update("a", {
      ...{ metadataText, replaceMetadata: true, ifVersion: thread.version },
    });
    expect(await client.threads.getMetadataText("a")).toEqual({ text: metadataText, version });
    expect(await client.threads.getMetadataText("none")).toBeUndefined();
  });

  it("the group reads what the methods of the client read", async () => {
    for (const id of ["a", "b"]) await put(saver, id, checkpoint("c1"));
    expect(await client.threads.get("a")).toMatchObject({ threadId: "a", checkpointCount: 1 });
    expect(await client.threads.get("a")).toEqual(await client.getThread("a"));
    expect(await client.threads.get("none")).toBeUndefined();
    const page = await client.threads.list({ sort: "thread_id", order: "asc", limit: 1 });
    expect(page.threads.map((it) => it.threadId)).toEqual(["a"]);
    const rest = await client.threads.list({
      ...{ sort: "thread_id", order: "asc", limit: 1 },
      cursor: page.nextCursor,
    });
    expect(rest.threads.map((it) => it.threadId)).toEqual(["b"]);
    expect(await client.threads.getStorage("a")).toMatchObject({
      checkpoints: 1,
      channels: [{ channel: "a", versions: 1 }],
    });
    expect(await client.threads.getStorage("none")).toBeUndefined();
  });

  it("a search shows a preview, values and questions", async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", () => interrupt("Really?"))
      .addEdge(START, "agent")
      .compile({ checkpointer: saver });
    const messages = [{ role: "human", content: "Send it" }];
    await graph.invoke({ messages }, { configurable: { thread_id: "a" } });
    const { threads } = await client.threads.search({ include: ["preview"] });
    expect(threads[0]?.preview).toEqual({
      firstHuman: "Send it",
      lastMessage: { type: "human", text: "Send it" },
      messages: 1,
      next: ["agent"],
      interrupts: 1,
      cut: false,
    });
    expect(threads[0]).not.toHaveProperty("values");
    const include = ["values", "interrupts"] as const;
    const { threads: whole } = await client.threads.search({ include });
    const said = { content: "Send it", type: "human" };
    expect(whole[0]).toMatchObject({ values: { messages: [said] } });
    const questions = Object.values(whole[0]?.interrupts ?? {});
    expect(questions).toEqual([[{ id: expect.any(String), value: "Really?" }]]);
    expect(whole[0]).not.toHaveProperty("valuesPreview");
  });

  it("a thread is copied whole, forked at a checkpoint, and deleted", async () => {
    for (const id of ["c1", "c2"]) {
      await put(saver, "source", checkpoint(id, { a: `value of ${id}` }));
    }
    expect(await client.threads.copy("source", "copy")).toBe(2);
    const shownIn = async (thread: string) =>
      (await client.checkpoints.values(thread))?.channels[0]?.value;
    expect(await shownIn("copy")).toBe("value of c2");
    expect(await client.threads.fork("source", "fork", { checkpointId: "c1" })).toBe(1);
    expect(await shownIn("fork")).toBe("value of c1");
    await expect(client.threads.copy("source", "copy")).rejects.toBeInstanceOf(ThreadExistsError);
    expect(await client.threads.copy("none", "target")).toBe(0);
    const absent = client.threads.fork("none", "other", { checkpointId: "c1" });
    await expect(absent).rejects.toBeInstanceOf(ThreadNotFoundError);
    await client.threads.delete("source");
    await client.threads.delete("source");
    expect(await client.threads.get("source")).toBeUndefined();
    expect(await shownIn("copy")).toBe("value of c2");
  });

  it("a thread goes back to a checkpoint, and its snapshot undoes that", async () => {
    for (const [parent, id] of [
      [undefined, "c1"],
      ["c1", "c2"],
      ["c2", "c3"],
    ] as const) {
      const more = parent === undefined ? {} : { checkpoint_id: parent };
      await put(saver, "t", checkpoint(id, { a: `value of ${id}` }), more);
    }
    const shown = async () => (await client.checkpoints.values("t"))?.channels[0]?.value;
    const dry = await client.threads.rewind("t", { checkpointId: "c1", dryRun: true });
    expect(dry).toMatchObject({ dryRun: true, checkpoints: 1, checkpointsRemoved: 2 });
    expect(await shown()).toBe("value of c3");
    const done = await client.threads.rewind("t", { checkpointId: "c1" });
    expect(done).toMatchObject({ dryRun: false, checkpoints: 1, checkpointsRemoved: 2 });
    expect(await shown()).toBe("value of c1");
    await client.snapshots.restore(done.safetySnapshotId ?? "");
    expect(await shown()).toBe("value of c3");
    const { fence } = await client.acquireLease("t", "me", { ttlSeconds: 60 });
    const rewind = (more: object) => client.threads.rewind("t", { checkpointId: "c2", ...more });
    await expect(rewind({})).rejects.toBeInstanceOf(LeaseHeldError);
    await expect(rewind({ fence: fence + 1 })).rejects.toBeInstanceOf(FenceStaleError);
    const last = await rewind({ fence, safety: false });
    expect([last.checkpoints, last.safetySnapshotId]).toEqual([2, undefined]);
    const absent = client.threads.rewind("t", { checkpointId: "none", fence });
    await expect(absent).rejects.toThrow(/checkpoint/);
  });

  it("a thread whose lease is held is deleted with its fence only", async () => {
    await put(saver, "t", checkpoint("c1"));
    const { fence } = await client.acquireLease("t", "me", { ttlSeconds: 60 });
    await expect(client.threads.delete("t")).rejects.toBeInstanceOf(LeaseHeldError);
    const stale = client.threads.delete("t", { fence: fence + 1 });
    await expect(stale).rejects.toBeInstanceOf(FenceStaleError);
    expect(await client.threads.get("t")).toBeDefined();
    await client.threads.delete("t", { fence });
    expect(await client.threads.get("t")).toBeUndefined();
  });

  it("a wrong argument is refused by its name", async () => {
    const long = "x".repeat(600);
    await expectRefusals([
      [() => client.threads.get(""), "thread_id"],
      [() => client.threads.list({ sort: "weight" as never }), "sort"],
      [() => client.threads.getStorage(long), "thread_id"],
      [() => client.threads.copy("a", long), "target_thread_id"],
      [() => client.threads.fork("a", "b", { checkpointId: long }), "checkpoint_id"],
      [() => client.threads.delete(long), "thread_id"],
    ]);
  });

  it("a server that serves is ready and alive, and an address without one is neither", async () => {
    await client.ready();
    await client.health();
    expect(await client.info()).toMatchObject({
      ...{ name: "threadkeep", keyless: false, engine, startedAt: expect.any(Date) },
      features: { console: true, agent_server: true, redis: false },
    });
    expect(await client.metrics()).toMatch(
      /^threadkeep_http_request_seconds_count\{.*route="\/v1\/info".*\} \d+$/m,
    );
    const nobody = new Client(`http://127.0.0.1:${await freePort()}`);
    await expect(nobody.ready({ timeoutMs: 50 })).rejects.toBeInstanceOf(TransportError);
    await expect(nobody.health({ timeoutMs: 50 })).rejects.toBeInstanceOf(TransportError);
  });
});
