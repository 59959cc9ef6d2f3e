/** Runs deleted, threads pruned and copied: what stays must show the same state and go on as if nothing had happened. */

import type { ThreadkeepSaver } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import { question, talker } from "../support/agents.js";
import { list } from "../support/checkpoints.js";
import { newSaver } from "../support/savers.js";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { firstDifference } from "./driver.js";
import * as graphs from "./graphs.js";
import { Normaliser } from "./normaliser.js";

const config = (thread: string) => ({ configurable: { thread_id: thread } });

async function state(graph: graphs.Graph, thread: string) {
  const { values, next, metadata } = await graph.getState(config(thread));
  return { values, next, metadata };
}

describe.each(ENGINES)("on %s", (engine) => {
  /** Two savers of one tenant: what the second one sees comes from the server alone. */
  async function twoSavers(): Promise<ThreadkeepSaver[]> {
    const apiKey = await newKey(inject("servers")[engine]);
    return [await newSaver(engine, { apiKey }), await newSaver(engine, { apiKey })];
  }

  it.each(graphs.KINDS)(
    "a pruned thread of %s channels keeps its state and goes on",
    async (kind) => {
      const [saver, reader] = (await twoSavers()) as [ThreadkeepSaver, ThreadkeepSaver];
      const graph = graphs.chain(kind, saver);
      for (const turn of [0, 1, 2, 3, 4])
        await graph.invoke({ log: [`turn ${turn}`] }, config("t"));
      const before = await state(graph, "t");
      expect(before.values.log).toHaveLength(20);
      const said = await saver.prune(["t"], { dryRun: true });
      expect(await list(saver, "t")).toHaveLength(25);
      const report = await saver.prune(["t"]);
      expect(report).toEqual({ ...said, dryRun: false });
      expect(report.threads).toMatchObject([{ threadId: "t", deleted: false, checkpoints: 24 }]);
      expect(report.total.checkpoints).toBe(24);
      const left = await list(reader, "t");
      expect(left.map((one) => one.parentConfig)).toEqual([undefined]);
      for (const one of [saver, reader])
        expect(await state(graphs.chain(kind, one), "t")).toEqual(before);
      await graphs.chain(kind, reader).invoke({ log: ["more"] }, config("t"));
      expect((await state(graph, "t")).values.log).toEqual([
        ...before.values.log,
        "more",
        "a@21",
        "b@22",
        "c@23",
      ]);
      await saver.prune(["t"], { keepLast: 3 });
      expect(await list(reader, "t")).toHaveLength(3);
      await saver.prune(["t"], { olderThan: new Date(0) });
      expect(await list(reader, "t")).toHaveLength(3);
      await saver.prune(["t"], { strategy: "delete" });
      expect(await saver.getTuple(config("t"))).toBeUndefined();
    },
  );

  it.each(graphs.KINDS)(
    "deleting a run in the middle leaves the head, %s channels",
    async (kind) => {
      const [saver, reader] = (await twoSavers()) as [ThreadkeepSaver, ThreadkeepSaver];
      const graph = graphs.chain(kind, saver);
      for (const run of ["one", "two", "three"]) {
        await graph.invoke({ log: [run] }, { ...config("t"), metadata: { run_id: run } });
      }
      const before = await state(graph, "t");
      const runs = (await list(saver, "t")).map(
        (one) => (one.metadata as { run_id?: string }).run_id,
      );
      // LangGraph.js keeps a run's own metadata out of checkpoints, so these are marked by hand.
      expect(runs).toEqual(Array(15).fill(undefined));
      const newest = await list(saver, "t");
      for (const one of newest.slice(5, 10)) {
        const metadata = { ...one.metadata, run_id: "two" } as NonNullable<typeof one.metadata>;
        const where = one.parentConfig ?? config("t");
        await saver.put(where, one.checkpoint, metadata, {});
      }
      await saver.deleteForRuns(["two", "unknown"]);
      expect(await list(reader, "t")).toHaveLength(10);
      for (const one of [saver, reader])
        expect(await state(graphs.chain(kind, one), "t")).toEqual(before);
    },
  );

  it("a copied agent's thread outlives its source and goes on apart", async () => {
    const [saver, reader] = (await twoSavers()) as [ThreadkeepSaver, ThreadkeepSaver];
    const turns = [0, 1, 2, 3];
    const agent = talker(saver, [...turns, 4], 2);
    for (const turn of turns) await agent.invoke(question(turn), config("source"));
    const source = await list(saver, "source");
    await saver.copyThread("source", "copy");
    const copy = await list(reader, "copy");
    const plain = (found: typeof source) => {
      const normaliser = new Normaliser();
      const shown = found.map(({ config: where, parentConfig, ...rest }) => rest);
      return JSON.parse(JSON.stringify(normaliser.value(shown)));
    };
    expect(firstDifference(plain(source), plain(copy))).toBeUndefined();
    await expect(saver.copyThread("source", "copy")).rejects.toMatchObject({
      code: "thread_exists",
    });
    await saver.deleteThread("source");
    expect(await reader.getTuple(config("source"))).toBeUndefined();
    const answered = await talker(reader, [4], 2).invoke(question(4), config("copy"));
    const kept = copy[0]?.checkpoint.channel_values["messages"] as unknown[] | undefined;
    expect(answered.messages.length).toBe((kept?.length ?? 0) + 6);
    await saver.copyThread("never was", "nothing");
    expect(await list(reader, "nothing")).toEqual([]);
  });
});
