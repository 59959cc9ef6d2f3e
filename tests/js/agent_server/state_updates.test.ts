/** Updates of a state over the wire, against what LangGraph.js' `updateState` makes of the same thread. */

import { Command, type StateSnapshot } from "@langchain/langgraph";
import { Client } from "@langchain/langgraph-sdk";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import * as graphs from "../equivalence/graphs.js";
import { newKey } from "../support/server.js";

type Made = (saver: ThreadkeepSaver) => graphs.Graph;

/** Graphs that stand somewhere after an input. */
const STANDING: [string, Made][] = graphs.KINDS.flatMap((kind): [string, Made][] => [
  [`at its end, ${kind}`, (saver) => graphs.chain(kind, saver)],
  [
    `before a node, ${kind}`,
    (saver) => graphs.chain(kind, saver, "abc", { interruptBefore: ["b"] }),
  ],
  [`at a question, ${kind}`, (saver) => graphs.asking(kind, saver)],
]);

/** Two threads, alike: the graph updates the one, the wire the other. */
class Pair {
  private constructor(
    readonly graph: graphs.Graph,
    readonly saver: ThreadkeepSaver,
    readonly client: Client,
    readonly wire: string,
  ) {}

  static async begun(engine: "sqlite" | "postgres", made: Made): Promise<Pair> {
    const place = inject("servers")[engine];
    const key = await newKey(place);
    const saver = new ThreadkeepSaver({ url: place.url, apiKey: key });
    const client = new Client({ apiUrl: place.url, apiKey: key });
    const graph = made(saver);
    await graph.invoke({ log: ["in"] }, config("own"));
    const { thread_id } = await client.threads.copy("own");
    return new Pair(graph, saver, client, thread_id);
  }

  /** After an earlier update their parents differ. */
  async alike(isFirst = true): Promise<void> {
    const [own, wire] = [await this.#held("own"), await this.#held(this.wire)];
    expect(isFirst ? wire : unlinked(wire)).toEqual(isFirst ? own : unlinked(own));
    await this.sameState();
  }

  async sameState(): Promise<void> {
    expect(await this.#state(this.wire)).toEqual(await this.#state("own"));
  }

  async goOn(value: unknown): Promise<void> {
    const results = [];
    for (const thread of ["own", this.wire]) {
      const { __interrupt__, ...result } = await this.graph.invoke(value, config(thread));
      results.push(result);
    }
    expect(results[1]).toEqual(results[0]);
    await this.sameState();
  }

  async next(): Promise<string[]> {
    return (await this.graph.getState(config(this.wire))).next;
  }

  /** A checkpoint and its parent's writes, without what no two of them have alike. */
  async #held(thread: string) {
    const found = await this.saver.getTuple(config(thread));
    const { id, ts, ...checkpoint } = found?.checkpoint ?? { id: "", ts: "" };
    const { thread_id, ...metadata } = (found?.metadata ?? {}) as Record<string, unknown>;
    const parent = found?.parentConfig?.configurable?.["checkpoint_id"];
    const before = parent && (await this.saver.getTuple(config(thread, parent)));
    return {
      step: id.slice(19, 23),
      time: ts.length,
      checkpoint,
      metadata,
      parent,
      before: before?.pendingWrites,
    };
  }

  async #state(thread: string): Promise<unknown> {
    const found: StateSnapshot = await this.graph.getState(config(thread));
    const asks = found.tasks.flatMap((it) => it.interrupts).length;
    return { values: found.values, next: found.next, asks };
  }
}

function unlinked<T extends { parent: unknown; before: unknown[][] | undefined }>(held: T) {
  return { ...held, parent: undefined, before: held.before?.map(([, ...write]) => write) };
}

function config(thread_id: string, checkpoint_id?: string) {
  return { configurable: { thread_id, checkpoint_ns: "", checkpoint_id } };
}

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  it.each(STANDING)("a copy is the checkpoint that the graph copies: %s", async (_, made) => {
    const pair = await Pair.begun(engine, made);
    await pair.graph.updateState(config("own"), null, "__copy__");
    await pair.client.threads.updateState(pair.wire, { values: null, asNode: "__copy__" });
    await pair.alike();
    await pair.goOn({ log: ["again"] });
  });

  it.each(STANDING)("what would run is cleared as the graph clears it: %s", async (_, made) => {
    const pair = await Pair.begun(engine, made);
    await pair.graph.updateState(config("own"), null, "__end__");
    await pair.client.threads.updateState(pair.wire, { values: null, asNode: "__end__" });
    await pair.alike();
    expect(await pair.next()).toEqual([]);
    await pair.goOn({ log: ["again"] });
  });

  it.each(STANDING.filter(([name]) => name.endsWith("delta")))(
    "values of a delta channel are written as the graph writes them: %s",
    async (name, made) => {
      const pair = await Pair.begun(engine, made);
      for (const log of [["more"], ["and", { more: [1, 2.5, null, true, "é"] }]]) {
        await pair.graph.updateState(config("own"), { log });
        await pair.client.threads.updateState(pair.wire, { values: { log } });
        await pair.alike(log.length === 1);
      }
      if ((await pair.next()).length > 0) {
        await pair.goOn(name.includes("question") ? new Command({ resume: "ann" }) : null);
      }
      await pair.goOn({ log: ["again"] });
    },
  );
});
