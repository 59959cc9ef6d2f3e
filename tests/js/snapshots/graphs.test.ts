/** Real graphs: what a restored thread shows is what it showed at the moment of the snapshot. */

import { Client, ThreadRestoredError } from "threadkeep";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { chain, type Graph, interrupted, KINDS, nested } from "../equivalence/graphs.js";
import { agent, question, talker } from "../support/agents.js";
import { ENGINES } from "../support/servers.js";
import { newTenant } from "../support/sessions.js";

type Turn = (saver: ThreadkeepSaver, thread: string, turn: number) => Promise<unknown>;

const config = (thread: string) => ({ configurable: { thread_id: thread } });

/** What a user says to each of the graphs, and the graph that shows what came of it. */
const GRAPHS: Record<string, { turn: Turn; graph: (saver: ThreadkeepSaver) => Graph }> = {
  agent: {
    turn: (saver, thread, turn) =>
      talker(saver, [turn], turn % 4).invoke(question(turn), config(thread)),
    graph: (saver) => agent(saver, []),
  },
  delta: {
    turn: (saver, thread, turn) => chain("delta", saver).invoke({ log: [turn] }, config(thread)),
    graph: (saver) => chain("delta", saver),
  },
  nested: {
    turn: (saver, thread, turn) =>
      nested("delta", saver, { ownMemory: true }).invoke({ log: [turn] }, config(thread)),
    graph: (saver) => nested("delta", saver, { ownMemory: true }),
  },
  branches: {
    turn: async (saver, thread, turn) => {
      const graph = chain("delta", saver);
      const states = await all(graph.getStateHistory(config(thread)));
      const earlier = states.filter((one) => one.next.length > 0);
      const from = earlier[(turn * 3) % Math.max(earlier.length, 1)];
      if (from) {
        await graph.updateState(from.config, { log: [`branch ${turn}`] });
        await graph.invoke(null, config(thread));
      }
      await graph.invoke({ log: [turn] }, config(thread));
    },
    graph: (saver) => chain("delta", saver),
  },
};

// biome-ignore lint/suspicious/noExplicitAny: states of any graph
async function all(found: AsyncIterable<any>): Promise<any[]> {
  const list = [];
  for await (const one of found) list.push(one);
  return list;
}

/** State, whole history, and the checkpoints of all namespaces, without the thread's own id. */
async function shown(graph: Graph, saver: ThreadkeepSaver, thread: string): Promise<unknown> {
  const states = [await graph.getState(config(thread))];
  const history = await all(graph.getStateHistory(config(thread)));
  const stored = await all(saver.list(config(thread)));
  const text = JSON.stringify([...states, ...history, ...stored]);
  return JSON.parse(text.replaceAll(JSON.stringify(thread), '"<thread>"'));
}

describe.each(ENGINES)("on %s", (engine) => {
  let access: { url: string; apiKey: string };
  let client: Client;
  let saver: ThreadkeepSaver;

  beforeEach(async () => {
    access = await newTenant(engine);
    client = new Client(access);
    saver = new ThreadkeepSaver(access);
  });

  /** What a saver sees that knows nothing of the others' calls. */
  const seen = (name: keyof typeof GRAPHS, thread: string) => {
    const fresh = new ThreadkeepSaver(access);
    return shown(GRAPHS[name]?.graph(fresh), fresh, thread);
  };

  it.each(Object.keys(GRAPHS))("a restored thread is as it was: %s", async (name) => {
    const { turn, graph } = GRAPHS[name] as (typeof GRAPHS)[string];
    for (const number of [0, 1, 2, 3]) {
      await turn(saver, "t-1", number);
      await turn(saver, "other-1", number);
    }
    await client.snapshots.take({ snapshotId: "s", threads: ["t-1"] });
    const recorded = await seen(name, "t-1");
    for (const number of [4, 5, 6]) {
      await turn(saver, "t-1", number);
      await turn(saver, "other-1", number);
    }
    const [later, others] = [await seen(name, "t-1"), await seen(name, "other-1")];
    expect(later).not.toEqual(recorded);

    const copied = await client.snapshots.restore("s", {
      threads: [{ threadId: "t-1", into: "copy-1" }],
    });
    expect(copied.threads).toMatchObject([{ threadId: "t-1", into: "copy-1", created: true }]);
    expect(copied).not.toHaveProperty("safetySnapshotId");
    expect(await seen(name, "copy-1")).toEqual(recorded);
    expect(await seen(name, "t-1")).toEqual(later);

    const restored = await client.snapshots.restore("s");
    expect(await seen(name, "t-1")).toEqual(recorded);
    // The saver that knows the later thread sees the same.
    expect(await shown(graph(saver), saver, "t-1")).toEqual(recorded);
    expect(await seen(name, "other-1")).toEqual(others);
    await client.snapshots.restore(restored.safetySnapshotId as string);
    expect(await seen(name, "t-1")).toEqual(later);
  });

  it.each(KINDS)("a run under way cannot write to a restored thread: %s", async (kind) => {
    const log = async () => {
      return (await chain(kind, saver).getState(config("t"))).values.log as unknown[];
    };
    await chain(kind, saver).invoke({ log: ["first"] }, config("t"));
    await client.snapshots.take({ snapshotId: "s", threads: ["t"] });
    const recorded = await log();
    const running = interrupted(kind, saver, () => client.snapshots.restore("s"));
    await expect(running.invoke({ log: ["second"] }, config("t"))).rejects.toThrow(
      ThreadRestoredError,
    );
    expect(await log()).toEqual(recorded);
    // It has read the thread since.
    await chain(kind, saver).invoke({ log: ["third"] }, config("t"));
    expect((await log()).slice(0, recorded.length + 1)).toEqual([...recorded, "third"]);
  });

  it.each(KINDS)(
    "a run under way is refused where others read with its saver: %s",
    async (kind) => {
      const log = async () =>
        (await chain(kind, saver).getState(config("t"))).values.log as unknown[];
      await chain(kind, saver).invoke({ log: ["first"] }, config("t"));
      await client.snapshots.take({ snapshotId: "s", threads: ["t"] });
      const recorded = await log();
      const running = interrupted(kind, saver, async () => {
        await client.snapshots.restore("s");
        expect(await log()).toEqual(recorded);
      });
      const sync = { ...config("t"), durability: "sync" as const };
      await expect(running.invoke({ log: ["second"] }, sync)).rejects.toThrow(ThreadRestoredError);
      expect(await log()).toEqual(recorded);
      await chain(kind, saver).invoke({ log: ["third"] }, config("t"));
      expect((await log()).slice(0, recorded.length + 1)).toEqual([...recorded, "third"]);
    },
  );

  it("the old saver cannot write until it has read", async () => {
    const graph = chain("delta", saver);
    await graph.invoke({ log: ["first"] }, config("t"));
    await client.snapshots.take({ snapshotId: "s", threads: ["t"] });
    await graph.invoke({ log: ["second"] }, config("t"));
    const head = await saver.getTuple(config("t"));
    if (!head) throw new Error("there is no head");
    await client.snapshots.restore("s");
    for (const _ of [1, 2]) {
      await expect(saver.putWrites(head.config, [["log", ["late"]]], "task")).rejects.toThrow(
        ThreadRestoredError,
      );
    }
    const now = await saver.getTuple(config("t"));
    await saver.putWrites(now?.config ?? {}, [["log", ["in time"]]], "task");
  });
});
