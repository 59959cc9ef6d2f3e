/**
 * A whole story on a client that was generated from the OpenAPI document: see README.md for how. Needs a running server,
 * THREADKEEP_URL, and THREADKEEP_API_KEY, a key of the whole tenant.
 */
import { strict as assert } from "node:assert";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./api.js";

type Schemas = components["schemas"];
type Api = Client<paths>;
type Problem = Schemas["Problem"];
/** What every call answers: one of the two. */
type Outcome<T> = { data?: T; error?: Problem };

const MEMORIES = ["ann", "memories"];
const FILES = ["ann", "workspace"];
const PICTURE = new Uint8Array([137, 80, 78, 71, ...Array(256).keys()]);
const url = process.env["THREADKEEP_URL"] ?? "";

function api(token: string): Api {
  return createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
}

/** What was asked for; a refusal ends the story with its code and its detail. */
async function good<T>(call: Promise<Outcome<T>>): Promise<NonNullable<T>> {
  const { data, error } = await call;
  if (error) throw new Error(`${error.status} ${error.code}: ${error.detail}`);
  assert(data !== undefined && data !== null, "an answer without a body");
  return data;
}

/** Whatever goes wrong has one body, with a code for programs. */
async function refused(call: Promise<Outcome<unknown>>, code: Schemas["ProblemCode"]) {
  const { error } = await call;
  assert(error, "it was not refused");
  assert.equal(error.code, code, error.detail);
  return error;
}

/** A token that may do a part of what the key may: her own threads, and what is Ann's. */
async function tokenForAnn(key: string): Promise<Api> {
  const actions: Schemas["GrantedAction"][] = ["read", "append", "write"];
  const grants = {
    threads: [{ owned: true, actions }],
    namespaces: [{ prefix: ["ann"], actions }],
    snapshots: [{ owned: true, actions }],
  };
  const body: Schemas["MintToken"] = { subject: "ann", grants, ttl_seconds: 600 };
  return api((await good(api(key).POST("/v1/tokens", { body }))).token);
}

/** One step of a graph. Skeleton and metadata are JSON, values are bytes under a codec's tag. */
function checkpoint(number: number, said: string, parent?: string): Schemas["CommitOp"] {
  const skeleton = { v: 4, id: `step-${number}`, channel_versions: { messages: number } };
  const data = Buffer.from(said).toString("base64");
  return {
    checkpoint: {
      checkpoint_id: `step-${number}`,
      parent_checkpoint_id: parent ?? null,
      skeleton,
      metadata: { source: "loop", step: number },
      values: [{ channel: "messages", version: number, tag: "json", data }],
    },
  };
}

/** A thread comes to be with its first commit; what was read of it goes into the next one. */
async function thread(client: Api) {
  const commit = (body: Schemas["Commit"]) => good(client.POST("/v1/checkpoints/commit", { body }));
  const ops = [checkpoint(1, '["Where to?"]')];
  const { generation } = await commit({ thread_id: "trip", ops });
  const writes = [
    { idx: 0, channel: "messages", tag: "json", data: Buffer.from("1").toString("base64") },
  ];
  await commit({
    thread_id: "trip",
    generation,
    ops: [
      { writes: { checkpoint_id: "step-1", task_id: "task-1", writes } },
      checkpoint(2, '["Where to?","Norway"]', "step-1"),
    ],
  });

  const body = { thread_id: "trip" };
  const got = await good(client.POST("/v1/checkpoints/get", { body }));
  assert.equal(got.checkpoint?.checkpoint_id, "step-2");
  assert.deepEqual(got.checkpoint.metadata, { source: "loop", step: 2 });
  const data = got.checkpoint.values[0]?.data;
  assert(typeof data === "string", "whole: differences come only to who asks for them");
  assert.equal(Buffer.from(data, "base64").toString(), '["Where to?","Norway"]');

  const shown = await good(client.GET("/v1/state", { params: { query: body } }));
  assert.deepEqual(shown.state?.values, { messages: ["Where to?", "Norway"] });
  const page = await good(client.POST("/v1/checkpoints/list", { body }));
  assert.deepEqual(
    page.checkpoints.map((it) => it.checkpoint_id),
    ["step-2", "step-1"],
  );
  const { threads } = await good(client.GET("/v1/threads", { params: { query: { limit: 10 } } }));
  assert.deepEqual(
    threads.map((it) => it.thread_id),
    ["trip"],
  );
  console.log("thread: 2 checkpoints, the last one says Norway");
}

/** Items are JSON under namespaces, with versions. */
async function store(client: Api) {
  const value = { likes: ["kimchi"], since: 1.5 };
  // 0: there must be no such item yet.
  const wish: Schemas["PutItem"] = { namespace: MEMORIES, key: "food", value, if_version: 0 };
  const params = { header: { "Idempotency-Key": "story-1" } };
  const { version } = await good(client.POST("/v1/store/put", { params, body: wish }));
  const again = await good(client.POST("/v1/store/put", { params, body: wish }));
  assert.equal(again.version, version, "the same request again, the same answer");

  const music = { namespace: MEMORIES, key: "music", value: { likes: ["fado"] } };
  const food = { namespace: MEMORIES, key: "food" };
  const ops = [{ put: music }, { get: food }];
  assert.equal((await good(client.POST("/v1/store/batch", { body: { ops } }))).results.length, 2);
  const body: Schemas["SearchItems"] = { prefix: ["ann"], filter: { likes: ["fado"] } };
  const { items } = await good(client.POST("/v1/store/search", { body }));
  assert.deepEqual(
    items.map((it) => it.key),
    ["music"],
  );
  const { item } = await good(client.POST("/v1/store/get", { body: food }));
  assert.deepEqual(item?.value, value);
  const nothing = await good(client.POST("/v1/store/get", { body: { ...food, key: "none" } }));
  assert.equal(nothing.item, undefined, "what is not there is absent, and no error");

  const stale = { ...wish, if_version: 1 };
  const problem = await refused(client.POST("/v1/store/put", { body: stale }), "version_conflict");
  assert.equal(problem.current_version, version);
  console.log("store: 2 items, found by filter; a stale put is refused");
}

/** Files are text that agents read and edit, or raw bytes that go up and down. */
async function files(client: Api) {
  const plan = { namespace: FILES, path: "/plan.md" };
  const draft = { ...plan, content: "# Plan\n\nGo by boat.\n" };
  await good(client.POST("/v1/files/write", { body: draft }));
  const edit = { ...plan, old_string: "boat", new_string: "train" };
  await good(client.POST("/v1/files/edit", { body: edit }));
  const read = await good(client.POST("/v1/files/read", { body: plan }));
  assert(JSON.stringify(read).includes("train"));

  const query = { ns: FILES, path: "/fjord.png" };
  const stored = await good(
    client.PUT("/v1/files/content", {
      params: { query },
      headers: { "content-type": "application/octet-stream" },
      body: new Blob([PICTURE]),
      bodySerializer: (body) => body,
    }),
  );
  assert.equal(stored.size_bytes, PICTURE.length);
  const picture = await good(
    client.GET("/v1/files/content", { params: { query }, parseAs: "arrayBuffer" }),
  );
  assert.deepEqual(new Uint8Array(picture), PICTURE);
  const header = { Range: "bytes=1-3" };
  const part = await client.GET("/v1/files/content", {
    params: { query, header },
    parseAs: "text",
  });
  assert.deepEqual([part.response.status, part.data], [206, "PNG"]);
  const missing = { ...query, path: "/none.png" };
  await refused(client.GET("/v1/files/content", { params: { query: missing } }), "not_found");
  console.log(`files: ${PICTURE.length} bytes up and down, one edit`);
}

/** What the thread's newest checkpoint says. */
async function messages(client: Api, thread_id: string): Promise<unknown> {
  const { state } = await good(client.GET("/v1/state", { params: { query: { thread_id } } }));
  const values = state?.values as { messages: unknown } | undefined;
  return values?.messages;
}

/** A thread and items as they are at one moment, and how they come back. */
async function snapshots(client: Api) {
  const labels = { trip: "norway" };
  const snapshot_id = "before-sweden";
  const wish: Schemas["TakeSnapshot"] = {
    snapshot_id,
    threads: [{ thread_id: "trip", history: "all" }],
    namespaces: [MEMORIES],
    labels,
  };
  const taken = await good(client.POST("/v1/snapshots/take", { body: wish }));
  assert.deepEqual([taken.threads[0]?.checkpoints, taken.namespaces[0]?.items], [2, 2]);
  const got = await good(client.POST("/v1/snapshots/get", { body: { snapshot_id } }));
  assert.deepEqual(got, taken);
  const page = await good(client.POST("/v1/snapshots/list", { body: { labels } }));
  assert.deepEqual(
    page.snapshots.map((it) => it.snapshot_id),
    [snapshot_id],
  );

  const late = checkpoint(3, '["Where to?","Norway","Or Sweden"]', "step-2");
  const commit = { thread_id: "trip", ops: [late] };
  const old = await good(client.POST("/v1/checkpoints/commit", { body: commit }));
  const food = { namespace: MEMORIES, key: "food" };
  await good(client.POST("/v1/store/put", { body: { ...food, value: {} } }));
  assert.deepEqual(await messages(client, "trip"), ["Where to?", "Norway", "Or Sweden"]);

  const restore = (body: Schemas["RestoreSnapshot"]) =>
    good(client.POST("/v1/snapshots/restore", { body }));
  const planned = await restore({ snapshot_id, dry_run: true });
  assert.deepEqual(
    [planned.threads[0]?.replaced_checkpoints, planned.namespaces[0]?.written],
    [3, 1],
  );
  assert.deepEqual(await messages(client, "trip"), ["Where to?", "Norway", "Or Sweden"]);
  await restore({ snapshot_id, threads: [{ thread_id: "trip", into: "other trip" }] });
  assert.deepEqual(await messages(client, "other trip"), ["Where to?", "Norway"]);
  const done = await restore({ snapshot_id, threads: "all", namespaces: "all" });
  assert(done.safety_snapshot_id, "what was there before is a snapshot of its own");
  assert.deepEqual(await messages(client, "trip"), ["Where to?", "Norway"]);
  const { item } = await good(client.POST("/v1/store/get", { body: food }));
  assert.deepEqual(item?.value, { likes: ["kimchi"], since: 1.5 });

  const stale = { ...commit, generation: old.generation };
  await refused(client.POST("/v1/checkpoints/commit", { body: stale }), "thread_restored");
  const unknown = { snapshot_id: "never taken" };
  await refused(client.POST("/v1/snapshots/get", { body: unknown }), "snapshot_not_found");
  console.log(
    "snapshots: taken, listed, restored beside and in place; the thread says Norway again",
  );
}

/** A token cannot do more than it was given, nor can what is made of it. */
async function refusals(client: Api) {
  const foreign = { namespace: ["bob"], key: "x", value: {} };
  await refused(client.POST("/v1/store/put", { body: foreign }), "not_granted");
  const bad = { thread_id: "", ops: [checkpoint(1, "[]")] };
  const problem = await refused(client.POST("/v1/checkpoints/commit", { body: bad }), "invalid");
  assert.equal(problem.field, "thread_id");
  const grants: Schemas["Grants"] = { namespaces: [{ prefix: MEMORIES, actions: ["read"] }] };
  const narrowed = await good(client.POST("/v1/tokens/narrow", { body: { grants } }));
  const reader = api(narrowed.token);
  const food = { namespace: MEMORIES, key: "food" };
  assert((await good(reader.POST("/v1/store/get", { body: food }))).item);
  await refused(reader.POST("/v1/store/put", { body: { ...food, value: {} } }), "not_granted");
  await refused(api("tk_nobody").GET("/v1/whoami"), "unauthorized");
  console.log("refusals: not granted, invalid, unauthorized");
}

const client = await tokenForAnn(process.env["THREADKEEP_API_KEY"] ?? "");
const me = await good(client.GET("/v1/whoami"));
assert.deepEqual([me.subject, me.label], ["ann", "ann"]);
await thread(client);
await store(client);
await files(client);
await snapshots(client);
await refusals(client);
await good(client.POST("/v1/threads/delete", { body: { thread_id: "trip" } }));
const gone = await good(client.POST("/v1/checkpoints/get", { body: { thread_id: "trip" } }));
assert.equal(gone.checkpoint, undefined);
console.log("done");
