/** Tasks that call tasks: their paths grow by a level each. */

import { Command, entrypoint, interrupt, task } from "@langchain/langgraph";
import { InvalidError } from "threadkeep";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newKey, Server } from "../support/server.js";
import { NESTED_TASKS } from "../support/settings.js";

const PATH_BYTES_MAX = 65_536;
const server = new Server();
let saver: ThreadkeepSaver;

beforeAll(async () => {
  await server.start();
  saver = new ThreadkeepSaver({ url: server.url, apiKey: await newKey(server.place) });
});

afterAll(() => server.remove());

it(`${NESTED_TASKS} tasks that call each other run and resume`, async () => {
  const ran: number[] = [];
  const down = task("down", async (level: number): Promise<number> => {
    ran.push(level);
    return level === 0 ? 0 : 1 + (await down(level - 1));
  });
  const agent = entrypoint({ name: "agent", checkpointer: saver }, async (levels: number) => {
    const depth = await down(levels);
    return { depth, answer: interrupt("go on?") };
  });
  const config = { configurable: { thread_id: "deep" }, recursionLimit: 10 * NESTED_TASKS };
  await agent.invoke(NESTED_TASKS, config);
  expect(ran).toEqual(Array.from({ length: NESTED_TASKS + 1 }, (_, at) => NESTED_TASKS - at));

  const stored = await saver.getTuple(config);
  const returned = (stored?.pendingWrites ?? []).filter(([, channel]) => channel === "__return__");
  expect(returned.map(([, , value]) => value as number).sort((a, b) => a - b)).toEqual(
    ran.toReversed(),
  );

  const answered = await agent.invoke(new Command({ resume: "yes" }), config);
  expect(answered).toEqual({ depth: NESTED_TASKS, answer: "yes" });
  expect(ran.length, "nothing ran twice").toBe(NESTED_TASKS + 1);
});

it("refuses a longer path by its name", async () => {
  const config = { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: "c" } };
  const write = (taskId: string, bytes: number) =>
    saver.putWrites(config, [["a", 1]], taskId, "p".repeat(bytes));
  await write("task", PATH_BYTES_MAX);
  const refused = await write("other", PATH_BYTES_MAX + 1).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(InvalidError);
  expect(refused).toMatchObject({ field: "task_path", limit: PATH_BYTES_MAX });
});

it("orders the writes of one checkpoint by the paths of their tasks", async () => {
  const config = { configurable: { thread_id: "order", checkpoint_ns: "", checkpoint_id: "c" } };
  const checkpoint = {
    v: 4,
    id: "c",
    ts: "2026-01-01T00:00:00.000Z",
    channel_values: {},
    channel_versions: {},
    versions_seen: {},
  };
  const put = { configurable: { thread_id: "order", checkpoint_ns: "" } };
  await saver.put(put, checkpoint, { source: "loop", step: 0, parents: {} }, {});
  await saver.putWrites(config, [["a", "third"]], "task-1", "~__pregel_pull, c");
  await saver.putWrites(config, [["a", "first"]], "task-3", "~__pregel_pull, a");
  await saver.putWrites(config, [["a", "second"]], "task-2", "~__pregel_pull, b");
  const found = await saver.getTuple(config);
  expect(found?.pendingWrites?.map(([, , value]) => value)).toEqual(["first", "second", "third"]);
});
