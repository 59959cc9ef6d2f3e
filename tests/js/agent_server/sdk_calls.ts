/** Lists a call of every method of LangGraph's SDK with its result. All versions of the SDK share it. */

import type { Client } from "langgraph-sdk-1.15.0";
import { type Call, needsGraph, RUN, refused, returns, TIME } from "./sdk_call.js";
import { THREAD_CALLS } from "./sdk_thread_calls.js";

const AGENT = "fe096781-5601-53d2-b2f6-0d3403f7e9ca";
const OLDER_LINE = ["2.0.0"];

const VERSION = {
  assistant_id: AGENT,
  graph_id: "agent",
  name: "agent",
  description: null,
  config: {},
  context: {},
  metadata: { created_by: "system" },
  version: 1,
  created_at: TIME,
};
const ASSISTANT = { ...VERSION, updated_at: TIME };
const SCHEMAS = {
  graph_id: "agent",
  input_schema: null,
  output_schema: null,
  state_schema: null,
  config_schema: null,
  context_schema: null,
};

const NOTES = ["ann", "notes"];
const TIMES = { created_at: TIME, updated_at: TIME, createdAt: TIME, updatedAt: TIME };

function item(key: string) {
  return { namespace: NOTES, key, value: { n: 1 }, ...TIMES };
}

function put(key: string) {
  return async (client: Client) => {
    await client.store.putItem(NOTES, key, { n: 1 });
    return key;
  };
}

const deleted = async (client: Client) => {
  const key = await put("once")(client);
  await client.store.deleteItem(NOTES, key);
  return key;
};

const STORE_CALLS: Record<string, Call[]> = {
  putItem: [
    returns("keeps an item", (it) => it.store.putItem(["bob"], "k", { n: 1 }), undefined),
    refused("refuses no namespace", (it) => it.store.putItem([], "k", {}), 400),
  ],
  getItem: [
    returns("shows an item", (it, key) => it.store.getItem(NOTES, key), item("got"), {
      given: put("got"),
    }),
    returns("shows null for no item", (it) => it.store.getItem(NOTES, "never"), null),
    returns("shows null for a deleted item", (it, key) => it.store.getItem(NOTES, key), null, {
      given: deleted,
    }),
  ],
  deleteItem: [
    returns("deletes an item", (it, key) => it.store.deleteItem(NOTES, key), undefined, {
      given: put("deleted"),
    }),
    returns("deletes no item", (it) => it.store.deleteItem(NOTES, "never"), undefined),
  ],
  searchItems: [
    returns(
      "finds items",
      (it) => it.store.searchItems(["ann"], { filter: { n: { $gte: 1 } }, limit: 1 }),
      { items: [{ ...item("found"), score: null }] },
      { given: put("found") },
    ),
    returns("finds none", (it) => it.store.searchItems(["carl"]), { items: [] }),
  ],
  listNamespaces: [
    returns(
      "lists namespaces",
      (it) => it.store.listNamespaces({ prefix: ["ann"], maxDepth: 2 }),
      { namespaces: [NOTES] },
      { given: put("listed") },
    ),
  ],
};

const ASSISTANT_CALLS: Record<string, Call[]> = {
  get: [
    returns("shows an assistant", (it) => it.assistants.get(AGENT), ASSISTANT),
    returns("knows the name of its graph", (it) => it.assistants.get("agent"), ASSISTANT),
    refused("knows no other", (it) => it.assistants.get(RUN), 404, "assistant_not_found"),
  ],
  getGraph: [needsGraph("the graph", (it) => it.assistants.getGraph(AGENT, { xray: true }))],
  getSchemas: [returns("shows none", (it) => it.assistants.getSchemas(AGENT), SCHEMAS)],
  getSubgraphs: [
    needsGraph("all", (it) => it.assistants.getSubgraphs(AGENT)),
    needsGraph("one", (it) => it.assistants.getSubgraphs(AGENT, { namespace: "a" })),
  ],
  create: [needsGraph("a new one", (it) => it.assistants.create({ graphId: "agent" }))],
  update: [
    needsGraph("a name", (it) => it.assistants.update(AGENT, { name: "a", graphId: "agent" })),
  ],
  delete: [needsGraph("one", (it) => it.assistants.delete(AGENT))],
  search: [
    returns("finds assistants", (it) => it.assistants.search({ graphId: "agent" }), [ASSISTANT]),
    returns(
      "tells of a next page",
      (it) => it.assistants.search({ name: "age", limit: 1, includePagination: true }),
      { assistants: [ASSISTANT], next: null },
    ),
    returns("selects fields", (it) => it.assistants.search({ select: ["name", "version"] }), [
      { name: "agent", version: 1 },
    ]),
    returns("finds none", (it) => it.assistants.search({ graphId: "other" }), []),
  ],
  count: [returns("counts assistants", (it) => it.assistants.count({ graphId: "agent" }), 1)],
  getVersions: [
    returns("lists one", (it) => it.assistants.getVersions(AGENT), [VERSION]),
    returns("ends the list", (it) => it.assistants.getVersions(AGENT, { offset: 1 }), []),
  ],
  setLatest: [needsGraph("a version", (it) => it.assistants.setLatest(AGENT, 1))],
};

const RUN_CALLS: Record<string, Call[]> = {
  stream: [
    needsGraph("a run", (it) => it.runs.stream("asking", "agent", { input: {} })),
    needsGraph("a run without a thread", (it) => it.runs.stream(null, "agent", { input: {} })),
  ],
  create: [
    needsGraph("a run", (it) => it.runs.create("asking", "agent", { input: {} })),
    needsGraph("a run without a thread", (it) => it.runs.create(null, "agent", { input: {} })),
    refused(
      "knows no other thread",
      (it) => it.runs.create("never", "agent"),
      404,
      "thread_not_found",
    ),
  ],
  createBatch: [needsGraph("runs", (it) => it.runs.createBatch([{ assistantId: "agent" }]))],
  wait: [
    needsGraph("a run", (it) => it.runs.wait("asking", "agent", { input: {} })),
    needsGraph("a run without a thread", (it) => it.runs.wait(null, "agent", { input: {} })),
  ],
  list: [returns("lists none", (it) => it.runs.list("asking", { status: "success" }), [])],
  get: [refused("knows none", (it) => it.runs.get("asking", RUN), 404, "run_not_found")],
  cancel: [
    refused("knows none", (it) => it.runs.cancel("asking", RUN, true), 404, "run_not_found"),
  ],
  cancelMany: [
    refused(
      "knows none",
      (it) => it.runs.cancelMany({ threadId: "asking", runIds: [RUN] }),
      404,
      "run_not_found",
      { lackedBy: OLDER_LINE },
    ),
  ],
  join: [refused("knows none", (it) => it.runs.join("asking", RUN), 404, "run_not_found")],
  joinStream: [
    refused("knows none", (it) => it.runs.joinStream("asking", RUN), 404, "run_not_found"),
    refused("knows none without a thread", (it) => it.runs.joinStream(null, RUN), 404),
  ],
  delete: [refused("knows none", (it) => it.runs.delete("asking", RUN), 404, "run_not_found")],
};

const schedule = "* * * * *";

const CRON_CALLS: Record<string, Call[]> = {
  createForThread: [
    needsGraph("a cron", (it) => it.crons.createForThread("asking", "agent", { schedule })),
  ],
  create: [needsGraph("a cron", (it) => it.crons.create("agent", { schedule }))],
  update: [refused("knows none", (it) => it.crons.update(RUN, { schedule }), 404)],
  delete: [refused("knows none", (it) => it.crons.delete(RUN), 404)],
  search: [returns("finds none", (it) => it.crons.search({ assistantId: AGENT }), [])],
  count: [returns("counts none", (it) => it.crons.count(), 0)],
};

/** By the part of the client, and the method. */
export const CALLS: Record<string, Record<string, Call[]>> = {
  threads: THREAD_CALLS,
  store: STORE_CALLS,
  assistants: ASSISTANT_CALLS,
  runs: RUN_CALLS,
  crons: CRON_CALLS,
};
