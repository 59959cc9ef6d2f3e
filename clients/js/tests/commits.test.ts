/** Commits of one thread that queue behind one under way travel together. */

import { beforeEach, describe, expect, it } from "vitest";
import { InvalidError, UnavailableError } from "../src/errors.js";
import { Deadline } from "../src/http/deadline.js";
import { BATCH_BYTES_MAX, Commits, OPS_MAX } from "../src/langgraph/commits.js";
import type { Op } from "../src/langgraph/encode.js";
import { ThreadkeepSaver } from "../src/langgraph/index.js";
import { FakeServer } from "./fake_server.js";
import { ONE_ATTEMPT, stopTheClock } from "./one_attempt.js";

stopTheClock();

let server: FakeServer;
let saver: ThreadkeepSaver;
let open: () => void;

beforeEach(() => {
  server = new FakeServer();
  saver = new ThreadkeepSaver({ url: "http://server", fetch: server.fetch, ...ONE_ATTEMPT });
});

function write(number: number, channel = "a", thread = "t"): Promise<void> {
  const config = { configurable: { thread_id: thread, checkpoint_id: "c" } };
  return saver.putWrites(config, [[channel, number]], `task ${number}`);
}

type Outcome = PromiseSettledResult<void> | undefined;

/** Starts one commit that the server holds, then the others behind it. How each comes out, in their order. */
async function queuedBehind(works: (() => Promise<void>)[]): Promise<Promise<Outcome>[]> {
  server.gate = new Promise((resolve) => {
    open = resolve;
  });
  const first = outcome(write(0));
  await settle();
  const running = [first, ...works.map((work) => outcome(work()))];
  await settle();
  return running;
}

async function outcome(call: Promise<void>): Promise<Outcome> {
  return (await Promise.allSettled([call]))[0];
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}

function tasks(): string[][] {
  return server.commits().map((ops) => {
    return ops.map((op) => ("writes" in op ? op.writes.task_id : op.checkpoint.checkpoint_id));
  });
}

const twenty = Array.from({ length: 20 }, (_, index) => index + 1);

describe("callers that queue", () => {
  it("are merged in the order of their calls", async () => {
    const running = await queuedBehind(twenty.map((number) => () => write(number)));
    open();
    await Promise.all(running);
    expect(tasks()).toEqual([["task 0"], twenty.map((number) => `task ${number}`)]);
  });

  it("keep that order when a serializer takes longer for some", async () => {
    const { serde } = saver;
    saver.serde = {
      loadsTyped: (tag, data) => serde.loadsTyped(tag, data),
      dumpsTyped: async (value) => {
        if (value === 1) await settle();
        return serde.dumpsTyped(value);
      },
    };
    await Promise.all([write(1), write(2), write(3)]);
    expect(tasks().flat()).toEqual(["task 1", "task 2", "task 3"]);
  });

  it("each get their own outcome when one of them is refused", async () => {
    server.refused.add("bad");
    const works = [() => write(1), () => write(2, "bad"), () => write(3)];
    const running = await queuedBehind(works);
    open();
    const outcomes = await Promise.all(running);
    expect(outcomes.map((it) => it?.status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    const refused = outcomes[2] as PromiseRejectedResult;
    expect(refused.reason).toBeInstanceOf(InvalidError);
    expect(refused.reason).toMatchObject({ field: "writes.channel", limit: 7 });
    expect(tasks().map((it) => it.length)).toEqual([1, 3, 1, 1, 1]);
  });

  it("all get a failure of the server, and the thread goes on", async () => {
    const running = await queuedBehind([() => write(1), () => write(2)]);
    server.faults = [{ status: 503, code: "unavailable" }];
    open();
    const outcomes = await Promise.all(running);
    expect(outcomes.map((it) => it?.status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect((outcomes[1] as PromiseRejectedResult).reason).toBeInstanceOf(UnavailableError);
    await write(9);
    expect(tasks().map((it) => it.length)).toEqual([1, 2, 1]);
  });

  it("of other threads wait for nobody", async () => {
    const running = await queuedBehind([]);
    server.gate = undefined;
    await write(1, "a", "other");
    expect(tasks()).toEqual([["task 0"], ["task 1"]]);
    open();
    await Promise.all(running);
  });

  it("that cannot be serialized fail alone, at once", async () => {
    const running = await queuedBehind([() => write(1), () => write(2, "\ud800"), () => write(3)]);
    // Before the server answered anything.
    expect(await running[2]).toMatchObject({ status: "rejected" });
    open();
    const outcomes = await Promise.all(running);
    expect(outcomes.map((it) => it?.status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(tasks()).toEqual([["task 0"], ["task 1", "task 3"]]);
  });
});

describe("an idle thread", () => {
  it("is never waited for", async () => {
    for (const number of [1, 2, 3]) await write(number);
    expect(tasks()).toEqual([["task 1"], ["task 2"], ["task 3"]]);
  });
});

describe("a batch", () => {
  it("is bounded in operations and bytes", async () => {
    const sent: number[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const commits = new Commits("http://server", async (_, ops) => {
      sent.push(ops.length);
      if (sent.length === 1) await held;
    });
    const deadline = () => new Deadline({ timeoutMs: 30_000, signal: undefined });
    const op = (sizeBytes: number) => Promise.resolve({ sizeBytes } as Op);
    const running = [commits.commit("t", op(1), deadline())];
    await settle();
    for (let number = 0; number < OPS_MAX + 3; number += 1)
      running.push(commits.commit("t", op(1), deadline()));
    for (let number = 0; number < 3; number += 1) {
      running.push(commits.commit("t", op(BATCH_BYTES_MAX * 0.6), deadline()));
    }
    await settle();
    release();
    await Promise.all(running);
    expect(sent).toEqual([1, OPS_MAX, 4, 1, 1]);
  });
});
