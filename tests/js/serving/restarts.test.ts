/** A server that restarts, hangs, or is left by its caller: real graphs, real sockets. */

import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Annotation, Send, START, StateGraph } from "@langchain/langgraph";
import { TransportError } from "threadkeep";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { afterEach, expect, it } from "vitest";
import { newKey, Server } from "../support/server.js";
import { AGENTS, RESTART_MS } from "../support/settings.js";
import { sleep, waitUntil } from "../support/waiting.js";

const STEPS = 12;
const endings: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

/** An agent: a step and two tasks beside each other, again and again. Every node tells that it ran. */
function agent(saver: ThreadkeepSaver, ran: string[], isDone: () => boolean) {
  const state = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    turn: Annotation<number>(),
    task: Annotation<string>(),
  });
  return new StateGraph(state)
    .addNode("think", async ({ turn = 0 }) => {
      await sleep(40);
      ran.push(`think ${turn}`);
      return { log: [`think ${turn}`], turn: turn + 1 };
    })
    .addNode("tool", async ({ task, turn }) => {
      await sleep(10);
      ran.push(`${task} ${turn}`);
      return { log: [`${task} ${turn}`] };
    })
    .addEdge(START, "think")
    .addConditionalEdges("think", ({ turn }) => {
      if (turn > STEPS && isDone()) return "__end__";
      return ["a", "b"].map((task) => new Send("tool", { task, turn }));
    })
    .addEdge("tool", "think")
    .compile({ checkpointer: saver });
}

it(`${AGENTS} agents ride out a restart: every run ends right, no node sees an error`, async () => {
  const server = await new Server().start();
  endings.push(() => server.remove());
  const apiKey = await newKey(server.place);
  let isBack = false;
  const runs = Array.from({ length: AGENTS }, async (_, at) => {
    const saver = new ThreadkeepSaver({ url: server.url, apiKey });
    const ran: string[] = [];
    const graph = agent(saver, ran, () => isBack);
    const config = { configurable: { thread_id: `agent-${at}` }, recursionLimit: 10_000 };
    const { log } = await graph.invoke({ log: [] }, config);
    return { log, ran, config, graph };
  });
  const ended = Promise.all(runs);
  await sleep(500);
  await server.stop();
  await sleep(RESTART_MS);
  await server.start();
  isBack = true;
  for (const { log, ran, config, graph } of await ended) {
    expect(log.length).toBeGreaterThan(3 * STEPS);
    // Each node ran once, in its turn.
    expect([...log].sort()).toEqual([...ran].sort());
    const { values, next } = await graph.getState(config);
    expect(values.log).toEqual(log);
    expect(next).toEqual([]);
  }
});

/** Accepts, reads, never answers. */
async function silent(): Promise<{ url: string; closed: number; server: HttpServer }> {
  const found = { url: "", closed: 0, server: createServer() };
  found.server.on("request", (request) => {
    request.resume().socket.once("close", () => {
      found.closed += 1;
    });
  });
  await new Promise<void>((resolve) => found.server.listen(0, "127.0.0.1", resolve));
  found.url = `http://127.0.0.1:${(found.server.address() as AddressInfo).port}`;
  endings.push(() => {
    found.server.closeAllConnections();
    found.server.close();
  });
  return found;
}

it("a server that accepts and never answers is an error within the deadline, with its address", async () => {
  const { url } = await silent();
  const options = { url, apiKey: "tk_secret", timeoutMs: 500 };
  const config = { configurable: { thread_id: "t", checkpoint_id: "c" } };
  const saver = new ThreadkeepSaver(options);
  for (const call of [
    () => saver.getTuple(config),
    () => saver.putWrites(config, [["a", 1]], "task"),
    () => new ThreadkeepStore(options).get(["n"], "k"),
  ]) {
    const begun = performance.now();
    const error = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TransportError);
    expect(String(error)).toContain(`no answer from ${url} in time`);
    expect(String(error)).not.toContain("tk_secret");
    expect(performance.now() - begun).toBeGreaterThanOrEqual(499);
  }
});

it("a run that is cancelled closes the connection of the request under way", async () => {
  const found = await silent();
  const saver = new ThreadkeepSaver({ url: found.url });
  const controller = new AbortController();
  const graph = agent(saver, [], () => true);
  const config = { configurable: { thread_id: "t" }, signal: controller.signal };
  const run = graph.invoke({ log: [] }, config).catch((thrown: unknown) => thrown);
  await sleep(200);
  expect(found.closed).toBe(0);
  controller.abort();
  expect(await run).toBeInstanceOf(Error);
  await waitUntil(() => found.closed > 0, "the connection to be closed");
});
