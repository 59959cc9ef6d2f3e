/** `client.checkpoints` against the real server: lists, states and values as plain JSON, and removal. */

import { Annotation, Command, interrupt, START, StateGraph } from "@langchain/langgraph";
import { Client, LeaseHeldError } from "threadkeep";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { checkpoint, config, METADATA } from "../support/checkpoints.js";
import { type Access, newAccess } from "../support/files.js";
import { expectRefusals } from "../support/refusals.js";
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

  async function put(thread: string, id: string, metadata: object = {}, ns = ""): Promise<void> {
    const made = checkpoint(id, { a: `value of ${id}` });
    const place = config(thread, { checkpoint_ns: ns });
    await saver.put(place, made, { ...METADATA, ...metadata }, made.channel_versions);
  }

  const idsOf = (page: { checkpoints: { checkpointId: string }[] }) =>
    page.checkpoints.map((it) => it.checkpointId);

  it("checkpoints are listed by thread, namespace, metadata and id, with and without values", async () => {
    await put("t", "c1", { source: "input" });
    await put("t", "c2", { customer: { id: 7, name: "acme" } });
    await put("t", "c3", {}, "child");
    await put("u", "c4");
    const { checkpoints } = client;
    expect(idsOf(await checkpoints.list())).toEqual(["c4", "c3", "c2", "c1"]);
    expect(idsOf(await checkpoints.list({ threadId: "t" }))).toEqual(["c3", "c2", "c1"]);
    expect(idsOf(await checkpoints.list({ threadId: "t", checkpointNs: "" }))).toEqual([
      "c2",
      "c1",
    ]);
    expect(idsOf(await checkpoints.list({ checkpointNs: "child" }))).toEqual(["c3"]);
    expect(idsOf(await checkpoints.list({ threadId: "t", before: "c3" }))).toEqual(["c2", "c1"]);
    expect(idsOf(await checkpoints.list({ checkpointId: "c4" }))).toEqual(["c4"]);
    const filter = { customer: { id: 7 } };
    const found = await checkpoints.list({ filter });
    expect(found.checkpoints).toMatchObject([
      {
        ...{ threadId: "t", checkpointNs: "", checkpointId: "c2" },
        ...{ metadata: { customer: { id: 7, name: "acme" } }, skeleton: { id: "c2", v: 4 } },
        ...{ values: [], writes: [] },
      },
    ]);
    expect(idsOf(await checkpoints.list({ filter: { customer: { id: 8 } } }))).toEqual([]);
    const [whole] = (await checkpoints.list({ filter, values: true })).checkpoints;
    expect(whole?.values.map(({ channel, tag }) => [channel, tag])).toEqual([["a", "json"]]);
    expect(Buffer.from(whole?.values[0]?.data ?? []).toString()).toBe('"value of c2"');
  });

  it("pages lead on from each other, and a scan reads all of them", async () => {
    const ids = Array.from({ length: 7 }, (_, at) => `c${at}`);
    for (const id of ids) await put("t", id);
    const found: string[] = [];
    let pages = 0;
    let cursor: string | undefined;
    do {
      const page = await client.checkpoints.list({ threadId: "t", limit: 3, cursor });
      expect(page.checkpoints.length).toBeLessThanOrEqual(3);
      found.push(...idsOf(page));
      pages += 1;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(found).toEqual(ids.toReversed());
    expect(pages).toBeGreaterThanOrEqual(3);
    const scanned: string[] = [];
    for await (const one of client.checkpoints.scan({ threadId: "t", pageCheckpoints: 2 })) {
      scanned.push(one.checkpointId);
    }
    expect(scanned).toEqual(found);
  });

  it("a checkpoint is got with its stored bytes, and an absent one is undefined", async () => {
    await put("t", "c1");
    await saver.putWrites(config("t", { checkpoint_id: "c1" }), [["b", 5]], "task");
    await put("t", "c2", {}, "child");
    const got = await client.checkpoints.get("t", { checkpointId: "c1" });
    expect(got).toMatchObject({ checkpointId: "c1", values: [{ channel: "a" }] });
    expect(
      got?.writes.map(({ data, ...it }) => ({ ...it, data: String(Buffer.from(data)) })),
    ).toEqual([{ taskId: "task", channel: "b", tag: "json", data: "5" }]);
    expect(await client.checkpoints.get("t", { checkpointNs: "child" })).toMatchObject({
      checkpointId: "c2",
    });
    expect(await client.checkpoints.get("t", { checkpointId: "none" })).toBeUndefined();
    expect(await client.checkpoints.get("none")).toBeUndefined();
    expect(await client.checkpoints.values("none")).toBeUndefined();
    expect(await client.checkpoints.state("none")).toBeUndefined();
  });

  it("values come as they are, whatever the names of their fields", async () => {
    const text =
      '{"__proto__":{"constructor":1},"$threadkeep:bytes":"AAAA","text":"\\u0000","$$typeof":1}';
    const made = checkpoint("c1", { a: JSON.parse(text) });
    await saver.put(config("t"), made, METADATA, made.channel_versions);
    const values = await client.checkpoints.values("t", { integers: "bigint", raw: true });
    const [shown] = values?.channels ?? [];
    expect(JSON.stringify(shown?.value)).toBe(text);
    expect(Buffer.from(shown?.raw?.value?.data ?? []).toString()).toBe(text);
    const state = await client.checkpoints.state("t");
    expect(JSON.stringify(state?.values)).toBe(`{"a":${text}}`);
  });

  it("a state is told as the graph tells it, with the question of a task", async () => {
    const State = Annotation.Root({ plan: Annotation<string[]>, done: Annotation<boolean> });
    const graph = new StateGraph(State)
      .addNode("planner", () => ({ plan: ["tea", "cake"] }))
      .addNode("ask", () => ({ done: interrupt({ question: "Really?" }) === "yes" }))
      .addEdge(START, "planner")
      .addEdge("planner", "ask")
      .compile({ checkpointer: saver });
    const place = { configurable: { thread_id: "t" } };
    await graph.invoke({ done: false }, place);
    const told = await graph.getState(place);
    const state = await client.checkpoints.state("t");
    expect(state?.values).toEqual(told.values);
    expect(state?.next).toEqual(["ask"]);
    expect(state?.checkpointId).toBe(told.config.configurable?.["checkpoint_id"]);
    expect(state?.parentCheckpointId).toBe(
      told.parentConfig?.configurable?.["checkpoint_id"] ?? "none",
    );
    expect(state?.createdAt).toBe(told.createdAt);
    expect(state?.metadata).toMatchObject({ source: "loop", step: told.metadata?.step });
    expect(state?.tasks).toMatchObject([
      { name: "ask", path: ["__pregel_pull", "ask"], id: told.tasks[0]?.id },
    ]);
    expect(state?.interrupts.map((it) => it.value)).toEqual([{ question: "Really?" }]);
    expect(state?.tasks[0]?.interrupts[0]?.id).toBe(told.tasks[0]?.interrupts[0]?.id);
    expect(state).not.toHaveProperty("raw");
    const before = await client.checkpoints.state("t", {
      checkpointId: state?.parentCheckpointId,
      raw: true,
    });
    expect(before?.next).toEqual(["planner"]);
    expect(before?.values).toEqual({ done: false });
    const raw = before?.raw?.find(({ channel }) => channel === "done");
    expect(raw?.value?.tag).toBe("json");
    expect(Buffer.from(raw?.value?.data ?? []).toString()).toBe("false");
    await graph.invoke(new Command({ resume: "yes" }), place);
    expect(await client.checkpoints.state("t")).toMatchObject({
      ...{ values: { plan: ["tea", "cake"], done: true } },
      ...{ next: [], tasks: [], interrupts: [] },
    });
  });

  it("values are plain JSON by channel, also a value that cannot be shown", async () => {
    await commitValue(access, "pickle", "gASVBQ==");
    const values = await client.checkpoints.values("t");
    expect(values).toMatchObject({ threadId: "t", checkpointNs: "", checkpointId: "c1" });
    expect(values?.channels.map((it) => it.channel)).toEqual(["odd", "plain"]);
    const [odd, plain] = values?.channels ?? [];
    expect(odd?.value).toEqual({
      $opaque: { codec: "pickle", size_bytes: 4, reason: expect.any(String) },
    });
    expect(plain).toMatchObject({ value: { n: 1 }, tag: "json", isDelta: false, version: "1" });
    expect(plain?.sizeBytes).toBe('{"n":1}'.length);
    const one = await client.checkpoints.values("t", { channels: ["plain"], raw: true });
    expect(one?.channels.map((it) => it.channel)).toEqual(["plain"]);
    expect(String(Buffer.from(one?.channels[0]?.raw?.value?.data ?? []))).toBe('{"n":1}');
    const state = await client.checkpoints.state("t");
    expect(state?.values).toMatchObject({ plain: { n: 1 }, odd: { $opaque: { codec: "pickle" } } });
  });

  it("checkpoints are pruned, and deleted by run", async () => {
    for (const id of ["c1", "c2", "c3"]) await put("t", id, { run_id: `run-${id}` });
    const would = await client.checkpoints.prune(["t"], { keepLast: 2, dryRun: true });
    expect(would).toMatchObject({ dryRun: true, total: { checkpoints: 1 } });
    expect(await client.checkpoints.prune(["t"], { keepLast: 2 })).toMatchObject({
      threads: [{ threadId: "t", checkpoints: 1, deleted: false }],
    });
    await client.checkpoints.deleteForRuns(["run-c3", "of nobody"]);
    expect(idsOf(await client.checkpoints.list({ threadId: "t" }))).toEqual(["c2"]);
    await client.checkpoints.deleteForRuns([]);
    const lease = await client.acquireLease("t", "me", { ttlSeconds: 60 });
    const held = client.checkpoints.deleteForRuns(["run-c2"]);
    await expect(held).rejects.toBeInstanceOf(LeaseHeldError);
    await client.releaseLease("t", "me", { fence: lease.fence });
  });

  it("a wrong argument is refused by its name", async () => {
    const { checkpoints } = client;
    await expectRefusals([
      [() => checkpoints.list({ cursor: "nonsense" }), "cursor"],
      [() => checkpoints.list({ limit: -1 }), "limit"],
      [() => checkpoints.list({ filter: [1] as never }), "filter"],
      [() => checkpoints.scan({ threadId: "" }).next(), "thread_id"],
      [
        () => checkpoints.get("t", { checkpointId: 5n as never, checkpointNs: {} as never }),
        "checkpointNs",
      ],
      [() => checkpoints.get("x".repeat(600)), "thread_id"],
      [() => checkpoints.values("t", { channels: [] }), "channels"],
      [() => checkpoints.values("x".repeat(600)), "thread_id"],
      [() => checkpoints.state("t", { checkpointNs: "x".repeat(600) }), "checkpoint_ns"],
      [() => checkpoints.prune(["t"], { keepLast: 0 }), "keep_last"],
      [() => checkpoints.deleteForRuns("run" as never), "runIds"],
    ]);
  });
});

/** A checkpoint of another client, with a value in a codec that the server does not show. */
async function commitValue({ url, apiKey }: Access, tag: string, data: string): Promise<void> {
  const text = (it: string) => Buffer.from(it).toString("base64");
  const channel_versions = { odd: "1", plain: "1" };
  const op = {
    checkpoint: {
      ...{ checkpoint_ns: "", checkpoint_id: "c1", metadata: { step: 1 } },
      skeleton: { v: 4, id: "c1", ts: "", channel_versions, versions_seen: {} },
      values: [
        { channel: "odd", version: "1", tag, data },
        { channel: "plain", version: "1", tag: "json", data: text('{"n":1}') },
      ],
    },
  };
  const answer = await fetch(`${url}/v1/checkpoints/commit`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ thread_id: "t", ops: [op] }),
  });
  expect(answer.status, await answer.text()).toBe(200);
}
