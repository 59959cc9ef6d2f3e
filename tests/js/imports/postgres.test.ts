/** Tests that `threadkeep import` takes over a database of the official Postgres saver and store: states, histories and items are equal. */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import pg from "pg";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { Driver, firstDifference } from "../equivalence/driver.js";
import { SCENARIOS } from "../equivalence/scenarios.js";
import { question, talker } from "../support/agents.js";
import { Database } from "../support/database.js";
import type { Place } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { BINARY, cleanEnvironment } from "../support/settings.js";
import { waitUntil } from "../support/waiting.js";

const TURNS = [0, 1, 2];

/** Many scenarios in one database: their threads have a prefix. */
class Named extends Driver {
  constructor(
    saver: BaseCheckpointSaver,
    readonly prefix: string,
  ) {
    super(saver);
  }

  override config(thread = "t") {
    return super.config(thread.startsWith(this.prefix) ? thread : this.prefix + thread);
  }
}

let pool: pg.Pool;
let url: string;
let theirs: PostgresSaver;
let store: PostgresStore | undefined;
let threads: string[];

beforeAll(async () => {
  const database = await Database.create(`import_${randomUUID().slice(0, 8)}`);
  url = database.url;
  pool = new pg.Pool(database.connection);
  theirs = new PostgresSaver(pool);
  await theirs.setup();
  for (const [number, [, scenario]] of SCENARIOS.entries()) {
    await scenario(new Named(theirs, `${number}/`)).catch((error: Error) => {
      // This saver mixes up branches (see `branches.test.ts`). What it then tells comes over all the same.
      if (error.name !== "AssertionError") throw error;
    });
  }
  const agent = talker(theirs, TURNS, 2);
  for (const turn of TURNS) {
    await agent.invoke(question(turn), { configurable: { thread_id: "agent" } });
  }
  store = new PostgresStore({ connectionOptions: database.connection });
  await store.setup();
  await store.put(["users", "ann"], "a", { text: "hello", list: [1, 2.5, null] });
  await store.put(["users", "bob", "notes"], "b", { nested: { deep: true } });
  const found = await pool.query("select distinct thread_id from checkpoints order by 1");
  threads = found.rows.map((row) => row.thread_id);
});
afterAll(async () => {
  await store?.stop();
  await pool.end();
});

async function imported(place: Place) {
  const tenant = `t-${randomUUID().slice(0, 13)}`;
  const run = async (...words: string[]) => {
    const environment = cleanEnvironment() as NodeJS.ProcessEnv;
    const more = ["--tenant", tenant, ...place.database];
    return (await promisify(execFile)(BINARY, [...words, ...more], { env: environment })).stdout;
  };
  const bring = async () => JSON.parse(await run("import", "--from", url, "--format", "json"));
  const report = await bring();
  const apiKey = (await run("keys", "create")).trim();
  const headers = { authorization: `Bearer ${apiKey}` };
  await waitUntil(
    async () => (await fetch(`${place.url}/v1/whoami`, { headers })).ok,
    "the server to see a new key",
  );
  return { report, bring, reach: { url: place.url, apiKey } };
}

async function everything(saver: BaseCheckpointSaver, thread: string): Promise<CheckpointTuple[]> {
  const found: CheckpointTuple[] = [];
  for await (const one of saver.list({ configurable: { thread_id: thread } })) found.push(one);
  const place = (one: CheckpointTuple) =>
    `${one.config.configurable?.["checkpoint_ns"]} ${one.checkpoint.id}`;
  // Their order of one task's writes is that of the table, ours that of (task, position).
  for (const one of found) one.pendingWrites?.sort((a, b) => (`${a}` < `${b}` ? -1 : 1));
  return found.sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

describe.each(ENGINES)("on %s", (engine) => {
  let { report, bring, reach } = {} as Awaited<ReturnType<typeof imported>>;
  beforeAll(async () => {
    ({ report, bring, reach } = await imported(inject("servers")[engine]));
  });

  it("every thread is what its saver tells", async () => {
    const ours = new ThreadkeepSaver(reach);
    let count = 0;
    for (const thread of threads) {
      const [expected, found] = [await everything(theirs, thread), await everything(ours, thread)];
      expect(found).toEqual(expected);
      count += found.length;
      const latest = { configurable: { thread_id: thread, checkpoint_ns: "" } };
      const [head, same] = [await ours.getTuple(latest), await theirs.getTuple(latest)];
      expect(head?.checkpoint).toEqual(same?.checkpoint);
    }
    expect(threads.length).toBeGreaterThan(10);
    expect(report.threads.imported).toBe(threads.length);
    expect(report.checkpoints.imported).toBe(count);
    expect((await bring()).checkpoints).toMatchObject({ imported: 0, unchanged: count, failed: 0 });
  });

  it("an agent shows the same state and history", async () => {
    const stories: unknown[][] = [];
    for (const saver of [theirs, new ThreadkeepSaver(reach)]) {
      const driver = new Driver(saver);
      await driver.all(talker(saver, TURNS, 2), driver.config("agent"));
      stories.push(driver.transcript.slice(0, 2));
    }
    expect(firstDifference(stories[0], stories[1])).toBeUndefined();
  });

  it("every item is what its store tells", async () => {
    const ours = new ThreadkeepStore(reach);
    expect(report.items.imported).toBe(2);
    for (const [namespace, key] of [
      [["users", "ann"], "a"],
      [["users", "bob", "notes"], "b"],
    ] as [string[], string][]) {
      const [expected, found] = [await store?.get(namespace, key), await ours.get(namespace, key)];
      expect(found?.value).toEqual(expected?.value);
      expect(found?.namespace).toEqual(namespace);
    }
  });
});
