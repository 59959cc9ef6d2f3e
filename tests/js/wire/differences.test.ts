/** Differences on the wire, with a real agent and a real server: fewer bytes, the same states. */

import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { firstDifference } from "../equivalence/driver.js";
import { Normaliser } from "../equivalence/normaliser.js";
import { question, talker } from "../support/agents.js";
import { CountingProxy } from "../support/proxy.js";
import { newSaver } from "../support/savers.js";
import { newKey, Server } from "../support/server.js";
import { ENGINES } from "../support/servers.js";

const TURNS = [0, 1, 2, 3, 4, 5, 6, 7];
const TOOLS = 3;
const config = { configurable: { thread_id: "t" } };

async function talk(saver: BaseCheckpointSaver, turns: number[]): Promise<void> {
  const agent = talker(saver, turns, TOOLS);
  for (const turn of turns) await agent.invoke(question(turn), config);
}

/** Every state of the thread, without what differs from run to run. */
async function history(saver: BaseCheckpointSaver): Promise<unknown> {
  const normaliser = new Normaliser();
  const found: unknown[] = [];
  for await (const one of saver.list(config)) {
    if (one.config.configurable?.["checkpoint_ns"] !== "") continue;
    const { channel_values: values } = one.checkpoint;
    found.push(normaliser.value([one.metadata, values["messages"] ?? [], values["files"] ?? {}]));
  }
  return found;
}

async function refusedCommits(server: Server): Promise<number> {
  const headers = { authorization: `Bearer ${await newKey(server)}` };
  const answer = await fetch(`${server.url}/metrics`, { headers });
  expect(answer.status).toBe(200);
  const text = await answer.text();
  const found =
    /request_seconds_count\{[^}]*route="\/v1\/checkpoints\/commit",status="409"[^}]*\} (\d+)/.exec(
      text,
    );
  return Number(found?.[1] ?? 0);
}

describe("a conversation", () => {
  let expected: unknown;

  beforeAll(async () => {
    const saver = new MemorySaver();
    await talk(saver, TURNS);
    expected = await history(saver);
  });

  it.each(ENGINES)("sends and reads a fraction of its values, on %s", async (engine) => {
    const [sent, received]: number[][] = [[], []];
    for (const differenceBytesMax of [32 << 20, 0]) {
      const proxy = await CountingProxy.before(inject("servers")[engine].url);
      const saver = await newSaver(engine, { url: proxy.url, differenceBytesMax });
      await talk(saver, TURNS);
      sent?.push(proxy.sent);
      received?.push(proxy.received);
      expect(firstDifference(await history(saver), expected)).toBeUndefined();
      await proxy.close();
    }
    console.log(`sent ${sent?.join(" of ")} bytes, received ${received?.join(" of ")}`);
    expect((sent?.[0] ?? 0) * 4).toBeLessThan(sent?.[1] ?? 0);
    expect((received?.[0] ?? 0) * 3).toBeLessThan(received?.[1] ?? 0);
  });

  it("reads its values once at the start of a turn, though LangGraph asks twice", async () => {
    const { sqlite } = inject("servers");
    const apiKey = await newKey(sqlite);
    await talk(new ThreadkeepSaver({ url: sqlite.url, apiKey }), TURNS);
    const proxy = await CountingProxy.before(sqlite.url);
    const cold = new ThreadkeepSaver({ url: proxy.url, apiKey });
    await cold.getTuple(config);
    const first = proxy.received;
    await cold.getTuple(config);
    const second = proxy.received - first;
    await proxy.close();
    expect(first).toBeGreaterThan(10_000);
    expect(second).toBeLessThan(first / 4);
  });

  it("does not notice a restart in its middle", async () => {
    const server = await new Server().start();
    try {
      const saver = new ThreadkeepSaver({ url: server.url, apiKey: await newKey(server.place) });
      await talk(saver, TURNS.slice(0, 4));
      expect(await refusedCommits(server)).toBe(0);
      await server.stop("SIGKILL");
      await server.start();
      // The first thing of a turn is a read, which tells the new server what is held; so write first.
      const head = await saver.getTuple(config);
      await server.stop();
      await server.start();
      const again = head && { ...head.checkpoint, id: `${head.checkpoint.id}-again` };
      if (!head?.metadata || !again) throw new Error("the thread is gone");
      await saver.put(head.config, again, head.metadata, {
        messages: again.channel_versions["messages"] as number,
      });
      expect(await refusedCommits(server)).toBe(1);
      await talk(saver, TURNS.slice(4));
      expect(await refusedCommits(server)).toBe(1);
      const found = (await history(saver)) as unknown[];
      const [newest] = expected as unknown[][];
      expect(firstDifference((found[0] as unknown[])[1], newest?.[1])).toBeUndefined();
    } finally {
      await server.remove();
    }
  });

  it("goes on when a thread is deleted by another saver and made anew", async () => {
    const { postgres } = inject("servers");
    const apiKey = await newKey(postgres);
    const savers = [0, 1].map(() => new ThreadkeepSaver({ url: postgres.url, apiKey }));
    const [one, other] = savers as [ThreadkeepSaver, ThreadkeepSaver];
    await talk(one, TURNS);
    expect(firstDifference(await history(other), expected)).toBeUndefined();
    await one.deleteThread("t");
    expect(await other.getTuple(config)).toBeUndefined();
    // The second saver still holds the old values, which the server does not know any more.
    await talk(other, TURNS);
    expect(firstDifference(await history(one), expected)).toBeUndefined();
  });
});
