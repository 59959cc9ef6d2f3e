/**
 * Branches forked from one checkpoint reuse version numbers, because versions are small integers: each branch must show the
 * very values that were sent with it. And runs that other savers do not survive.
 */

import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../support/database.js";
import { newSaver } from "../support/savers.js";
import { ENGINES } from "../support/servers.js";
import { Driver } from "./driver.js";
import * as graphs from "./graphs.js";
import { interruptedAtExit } from "./scenarios.js";

/** A run, then two replays that go another way from one and the same checkpoint. What each branch shows then. */
async function threeBranches(saver: BaseCheckpointSaver): Promise<unknown[]> {
  const config = { configurable: { thread_id: "branches" } };
  const graph = graphs.chain("plain", saver, "abcdef");
  await graph.invoke({ log: ["in"] }, config);
  const heads = [(await graph.getState(config)).config];
  let forkPoint: unknown;
  for await (const one of graph.getStateHistory(config)) {
    if (one.next[0] === "c") forkPoint = one.config;
  }
  for (const name of ["first", "second"]) {
    const forked = await graph.updateState(forkPoint, { log: [name] }, "b");
    await graph.invoke(null, forked);
    heads.push((await graph.getState(config)).config);
  }
  const shown: unknown[] = [];
  for (const head of heads) shown.push((await graph.getState(head)).values.log);
  return shown;
}

const THREE = [
  ["in", "a@1", "b@2", "c@3", "d@4", "e@5", "f@6"],
  ["in", "a@1", "b@2", "first", "c@4", "d@5", "e@6", "f@7"],
  ["in", "a@1", "b@2", "second", "c@4", "d@5", "e@6", "f@7"],
];

describe.each(ENGINES)("on %s", (engine) => {
  it("three branches show their own values", async () => {
    expect(await threeBranches(await newSaver(engine))).toEqual(THREE);
  });

  it.each(graphs.KINDS)("an interrupt under durability exit ends, %s channels", async (kind) => {
    await interruptedAtExit(new Driver(await newSaver(engine)), kind);
  });

  it("values carried along a branch are those of the branch", async () => {
    const saver = await newSaver(engine);
    const put = async (
      id: string,
      parent: string | undefined,
      values: Record<string, unknown>,
      news: string[],
    ) => {
      const versions = Object.fromEntries(
        Object.keys(values).map((name) => [name, name === "log" ? 3 : 1]),
      );
      const checkpoint = {
        v: 4,
        id,
        ts: "",
        channel_values: values,
        channel_versions: versions,
        versions_seen: {},
      };
      const newVersions = Object.fromEntries(news.map((name) => [name, versions[name] as number]));
      const keys = { thread_id: "carried", ...(parent ? { checkpoint_id: parent } : {}) };
      const metadata = { source: "loop", step: 1, parents: {} } as const;
      await saver.put({ configurable: keys }, checkpoint, metadata, newVersions);
    };
    await put("1", undefined, { same: "s" }, ["same"]);
    for (const side of ["a", "b"]) {
      await put(`2${side}`, "1", { same: "s", log: [side] }, ["log"]);
      await put(`3${side}`, `2${side}`, { same: "s", log: [side] }, []);
    }
    const found: unknown[] = [];
    for await (const one of saver.list({ configurable: { thread_id: "carried" } })) {
      found.push([one.checkpoint.id, one.checkpoint.channel_values]);
    }
    const of = (side: string) => ({ same: "s", log: [side] });
    expect(found).toEqual([
      ["3b", of("b")],
      ["3a", of("a")],
      ["2b", of("b")],
      ["2a", of("a")],
      ["1", { same: "s" }],
    ]);
  });
});

describe("other savers", () => {
  let pool: pg.Pool;
  let theirs: PostgresSaver;

  beforeAll(async () => {
    pool = new pg.Pool((await Database.create("branches")).connection);
    theirs = new PostgresSaver(pool);
    await theirs.setup();
  });
  afterAll(() => pool.end());

  it("in memory, show the three branches", async () => {
    expect(await threeBranches(new MemorySaver())).toEqual(THREE);
  });

  it("on PostgreSQL, show values of the first branch in the later ones", async () => {
    const shown = await threeBranches(theirs);
    expect(shown[0]).toEqual(THREE[0]);
    expect(shown.slice(1)).not.toEqual(THREE.slice(1));
  });
});
