/** Lists the calls of `client.threads`. The thread `asking` waits for an answer to its graph, `agent`. */

import type { StateSnapshot } from "@langchain/langgraph";
import type { Checkpoint, Client, ThreadState } from "langgraph-sdk-1.15.0";
import { type Call, needsGraph, refused, returns, TIME, UUID } from "./sdk_call.js";

const VALUES = { log: ["in", "before@1"], note: { bytes: "AP8=" } };
const SELECT: { select: ["values.log", "next"] } = { select: ["values.log", "next"] };
const SELECTED = { values: { log: VALUES.log }, next: ["ask"] };
const WITHOUT_SELECT = ["1.9.31", "1.12.0", "1.12.8", "2.0.0"];
const OLDER_LINE = ["2.0.0"];
const ROOT = { checkpoint_ns: "" } as Checkpoint;
const COPY = { values: null, asNode: "__copy__" };
const REDUCED = { values: { log: ["more"] } };
const OF_NODE = { values: { log: ["more"] }, asNode: "before" };
const SUPERSTEPS = [{ updates: [{ values: { log: [] }, asNode: "ask" }] }];

function thread(thread_id: unknown, more: object = {}) {
  const times = { created_at: TIME, updated_at: TIME, state_updated_at: TIME };
  const empty = { metadata: {}, status: "idle", config: {}, values: null };
  return { thread_id, ...times, ...empty, interrupts: {}, error: null, ...more };
}

function interrupts({ tasks }: StateSnapshot) {
  return tasks.flatMap((task) => task.interrupts.map(({ id, value }) => ({ id, value })));
}

function asking(asked: StateSnapshot, thread_id: unknown = "asking") {
  const byTask = Object.fromEntries(asked.tasks.map((task) => [task.id, interrupts(asked)]));
  return thread(thread_id, {
    metadata: { graph_id: "agent" },
    status: "interrupted",
    config: { configurable: {} },
    values: VALUES,
    interrupts: byTask,
  });
}

function stateOf(asked: StateSnapshot) {
  const checkpointId = (it: StateSnapshot["config"] | undefined) =>
    it?.configurable?.["checkpoint_id"];
  const checkpoint = (checkpoint_id: unknown) => ({
    thread_id: "asking",
    checkpoint_ns: "",
    checkpoint_id,
  });
  const [own, parent] = [checkpointId(asked.config), checkpointId(asked.parentConfig)];
  const none = { error: null, checkpoint: null, state: null, result: null };
  const [task] = asked.tasks;
  return {
    values: VALUES,
    next: ["ask"],
    tasks: [
      { id: task?.id, name: "ask", path: task?.path, interrupts: interrupts(asked), ...none },
    ],
    metadata: { source: "loop", step: 1, parents: {} },
    created_at: TIME,
    checkpoint: checkpoint(own),
    parent_checkpoint: checkpoint(parent),
    interrupts: interrupts(asked),
    checkpoint_id: own,
    parent_checkpoint_id: parent,
  };
}

const updated = (_: unknown, thread_id: string) => {
  const checkpoint = { thread_id, checkpoint_ns: "", checkpoint_id: UUID };
  return { checkpoint, configurable: checkpoint, checkpoint_id: UUID };
};

function made(threadId: string) {
  return async (client: Client) => {
    await client.threads.create({ threadId, metadata: { of: threadId } });
    return threadId;
  };
}

function living(threadId: string) {
  return async (client: Client) => {
    await client.threads.create({ threadId, ttl: 90 });
    return threadId;
  };
}

const deleted = async (client: Client) => {
  const threadId = await made("once")(client);
  await client.threads.delete(threadId);
  return threadId;
};

const copied = async (client: Client) => (await client.threads.copy("asking")).thread_id;

const steps = (history: ThreadState[]) => history.map((it) => it.metadata?.["step"]);

async function startRun(client: Client, threadId: string): Promise<unknown> {
  const stream = client.threads.stream(threadId, { assistantId: "agent" });
  try {
    return await stream.run.start({ input: { log: [] } });
  } finally {
    await stream.close();
  }
}

async function follow(client: Client, threadId: string): Promise<unknown> {
  const stream = client.threads.stream(threadId, { assistantId: "agent" });
  try {
    const { params } = await stream.subscribe("values");
    return params;
  } finally {
    await stream.close();
  }
}

const newestId = async (client: Client) => {
  const { checkpoint } = await client.threads.getState("asking");
  return checkpoint.checkpoint_id ?? "";
};

const at = (checkpoint_id: string) => ({ configurable: { checkpoint_id } });

export const THREAD_CALLS: Record<string, Call[]> = {
  create: [
    returns(
      "makes a thread",
      (it) => it.threads.create({ threadId: "new", graphId: "agent", metadata: { n: 1 } }),
      thread("new", { metadata: { n: 1, graph_id: "agent" } }),
    ),
    returns("gives an id", (it) => it.threads.create(), thread(UUID)),
    returns(
      "leaves a thread as it is",
      (it, threadId) => it.threads.create({ threadId, ifExists: "do_nothing" }),
      thread("taken", { metadata: { of: "taken" } }),
      { given: made("taken") },
    ),
    refused(
      "refuses an id that is taken",
      (it, threadId) => it.threads.create({ threadId, ifExists: "raise" }),
      409,
      "thread_exists",
      { given: made("taken twice") },
    ),
    returns(
      "sets a ttl",
      (it) => it.threads.create({ threadId: "short", ttl: 90 }),
      thread("short"),
    ),
    needsGraph("supersteps", (it) =>
      it.threads.create({ threadId: "never", supersteps: SUPERSTEPS }),
    ),
  ],
  get: [
    returns(
      "shows a thread",
      (it) => it.threads.get("asking"),
      (asked: StateSnapshot) => asking(asked),
    ),
    returns(
      "shows a ttl",
      (it, id) => it.threads.get(id, { include: ["ttl"] }),
      thread("lives", {
        metadata: {},
        ttl: { strategy: "delete", ttl_minutes: 90, expires_at: TIME },
      }),
      { given: living("lives"), lackedBy: OLDER_LINE },
    ),
    refused("knows no other", (it) => it.threads.get("never"), 404, "thread_not_found"),
    refused("knows no deleted thread", (it, id) => it.threads.get(id), 404, "thread_not_found", {
      given: deleted,
    }),
  ],
  copy: [
    returns(
      "copies a thread",
      (it) => it.threads.copy("asking"),
      (asked: StateSnapshot) => asking(asked, UUID),
    ),
  ],
  update: [
    returns(
      "merges metadata",
      (it, id) => it.threads.update(id, { metadata: { n: 1 } }),
      thread("merged", { metadata: { of: "merged", n: 1 } }),
      { given: made("merged") },
    ),
    returns(
      "returns nothing where that is asked",
      (it, id) => it.threads.update(id, { metadata: { n: 1 }, returnMinimal: true }),
      undefined,
      { given: made("merged silently"), lackedBy: OLDER_LINE },
    ),
    returns(
      "replaces a ttl",
      (it, id) => it.threads.update(id, { metadata: {}, ttl: { ttl: 0.5, strategy: "delete" } }),
      thread("lives longer"),
      { given: living("lives longer") },
    ),
  ],
  delete: [
    returns("deletes a thread", (it, id) => it.threads.delete(id), undefined, {
      given: made("deleted"),
    }),
    refused("knows no other", (it) => it.threads.delete("never"), 404, "thread_not_found"),
  ],
  prune: [
    returns(
      "deletes threads",
      (it, id) => it.threads.prune([id, "never"]),
      { pruned_count: 1 },
      { given: made("pruned"), lackedBy: OLDER_LINE },
    ),
    returns(
      "keeps the newest checkpoint",
      (it, id) => it.threads.prune([id], { strategy: "keep_latest" }),
      { pruned_count: 1 },
      { given: copied, lackedBy: OLDER_LINE },
    ),
  ],
  search: [
    returns(
      "finds threads",
      (it) => it.threads.search({ ids: ["asking"], status: "interrupted", values: {} }),
      (asked: StateSnapshot) => [asking(asked)],
    ),
    returns(
      "selects fields",
      (it, of) => it.threads.search({ metadata: { of }, select: ["thread_id", "status"] }),
      [{ thread_id: "found", status: "idle" }],
      { given: made("found") },
    ),
    returns(
      "extracts values",
      (it) =>
        it.threads.search({
          ids: ["asking"],
          select: ["thread_id"],
          extract: { first: "values.log[0]" },
        }),
      [{ thread_id: "asking", extracted: { first: "in" } }],
      { lackedBy: OLDER_LINE },
    ),
    returns(
      "sorts and pages",
      (it, of) => it.threads.search({ metadata: { of }, sortBy: "created_at", offset: 1 }),
      [],
      { given: made("paged") },
    ),
  ],
  count: [
    returns("counts threads", (it, of) => it.threads.count({ metadata: { of } }), 1, {
      given: made("counted"),
    }),
  ],
  getState: [
    returns("shows the newest state", (it) => it.threads.getState("asking"), stateOf),
    returns("shows a checkpoint", (it, id) => it.threads.getState("asking", id), stateOf, {
      given: newestId,
    }),
    returns(
      "shows the newest checkpoint of a namespace",
      (it) => it.threads.getState("asking", ROOT, { subgraphs: true }),
      stateOf,
    ),
    returns("selects fields", (it) => it.threads.getState("asking", undefined, SELECT), SELECTED, {
      lackedBy: WITHOUT_SELECT,
    }),
    refused("knows no other thread", (it) => it.threads.getState("never"), 404, "thread_not_found"),
  ],
  updateState: [
    returns("copies a checkpoint", (it, id) => it.threads.updateState(id, COPY), updated, {
      given: copied,
    }),
    needsGraph("values of a reducer", (it, id) => it.threads.updateState(id, REDUCED), {
      given: copied,
    }),
    needsGraph("a node", (it, id) => it.threads.updateState(id, OF_NODE), { given: copied }),
  ],
  patchState: [
    refused("is no call of the wire", (it) => it.threads.patchState("asking", { n: 1 }), 405),
  ],
  getHistory: [
    returns(
      "shows the newest state",
      (it) => it.threads.getHistory("asking", { limit: 1 }),
      (asked: StateSnapshot) => [stateOf(asked)],
    ),
    returns(
      "shows what came before",
      async (it, before) => steps(await it.threads.getHistory("asking", { before: at(before) })),
      [0, -1],
      { given: newestId },
    ),
    returns(
      "selects fields",
      (it) => it.threads.getHistory("asking", { limit: 1, ...SELECT }),
      [SELECTED],
      { lackedBy: WITHOUT_SELECT },
    ),
    refused(
      "knows no other thread",
      (it) => it.threads.getHistory("never"),
      404,
      "thread_not_found",
    ),
  ],
  joinStream: [needsGraph("following runs", (it) => it.threads.joinStream("asking"))],
  stream: [
    needsGraph("a run", startRun, {
      given: async () => "asking",
      counted: "POST /threads/asking/commands",
      lackedBy: OLDER_LINE,
    }),
    returns(
      "holds a stream of events",
      follow,
      { channels: ["values"] },
      {
        given: async () => "asking",
        lackedBy: OLDER_LINE,
      },
    ),
  ],
};
