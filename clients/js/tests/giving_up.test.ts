/** Tests that a cancelled call ends its request. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ThreadkeepSaver } from "../src/langgraph/index.js";
import { FakeServer } from "./fake_server.js";
import { outcome } from "./outcomes.js";

const config = { configurable: { thread_id: "t", checkpoint_id: "c" } };

let server: FakeServer;

beforeEach(() => {
  server = new FakeServer();
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

function saver(options = {}): ThreadkeepSaver {
  return new ThreadkeepSaver({ url: "http://server", fetch: server.fetch, ...options });
}

describe("a caller who gives up", () => {
  const gaveUp = new Error("no more");

  async function given(work: (signal: AbortSignal) => Promise<unknown>) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(gaveUp), 500);
    return await outcome(() => work(controller.signal));
  }

  it.each<[string, (signal: AbortSignal) => Promise<unknown>]>([
    ["a read", (signal) => saver().getTuple({ ...config, signal })],
    ["a write", (signal) => saver().putWrites({ ...config, signal }, [["a", 1]], "task")],
    [
      "a list",
      (signal) =>
        saver()
          .list({ ...config, signal })
          .next(),
    ],
    [
      "a history",
      (signal) =>
        saver().getDeltaChannelHistory({ config: { ...config, signal }, channels: ["a"] }),
    ],
    ["a view", (signal) => saver().withOptions({ signal }).deleteThread("t")],
  ])("ends %s, and the request under way", async (_, work) => {
    server.faults = [{ hangs: true }];
    const { error, ms } = await given(work);
    expect(error).toBe(gaveUp);
    expect(ms).toBeLessThan(700);
    expect(server.seen[0]?.signal?.aborted).toBe(true);
  });

  it("ends the wait for the next attempt, too", async () => {
    server.faults = [{ status: 503, code: "unavailable", headers: { "retry-after": "7" } }];
    const { error, ms } = await given((signal) => saver().getTuple({ ...config, signal }));
    expect(error).toBe(gaveUp);
    expect(ms).toBeLessThan(700);
    expect(server.seen).toHaveLength(1);
  });

  it("begins nothing that is read, but a run's last writes are written", async () => {
    const signal = AbortSignal.abort(gaveUp);
    const read = await outcome(() => saver().getTuple({ ...config, signal }));
    expect(read.error).toBe(gaveUp);
    expect(server.seen).toHaveLength(0);
    const write = await outcome(() => saver().putWrites({ ...config, signal }, [["a", 1]], "task"));
    expect(write.error).toBeUndefined();
    expect(server.seen).toHaveLength(1);
  });

  it("leaves the others of a request alone; it is cancelled when the last one left", async () => {
    const one = saver();
    const controllers = [0, 1, 2].map(() => new AbortController());
    const writes: Promise<unknown>[] = [];
    server.faults = [{ hangs: true }, { hangs: true }];
    for (const [at, { signal }] of controllers.entries()) {
      const write = one.putWrites({ ...config, signal }, [["a", at]], `task ${at}`);
      writes.push(write.catch((error: unknown) => error));
      if (at === 0) await vi.advanceTimersByTimeAsync(10);
    }
    await vi.advanceTimersByTimeAsync(10);
    // The first is under way alone, the others wait behind it.
    controllers[0]?.abort(gaveUp);
    expect(await writes[0]).toBe(gaveUp);
    await vi.advanceTimersByTimeAsync(10);
    expect(server.commits().map((ops) => ops.length)).toEqual([1, 2]);
    controllers[1]?.abort(gaveUp);
    expect(await writes[1]).toBe(gaveUp);
    expect(server.seen[1]?.signal?.aborted).toBe(false);
    controllers[2]?.abort(gaveUp);
    expect(await writes[2]).toBe(gaveUp);
    expect(server.seen[1]?.signal?.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("of fifty calls at the same time puts one listener on the signal", async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const one = saver();
    server.answers.set("/v1/checkpoints/get", () => ({ chain: [], history_channels: [] }));
    await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        await one.putWrites({ ...config, signal }, [["a", at]], `task ${at}`);
        await one.getTuple({ ...config, signal });
      }),
    );
    expect(added).toHaveBeenCalledTimes(1);
  });

  it("who waits behind others leaves the queue, and nothing of it is sent", async () => {
    const one = saver();
    server.faults = [{ hangs: true }];
    const controller = new AbortController();
    const first = outcome(() => one.putWrites(config, [["a", 1]], "first"));
    await vi.advanceTimersByTimeAsync(10);
    const { signal } = controller;
    const second = one.putWrites({ ...config, signal }, [["a", 2]], "second").catch((e) => e);
    await vi.advanceTimersByTimeAsync(10);
    controller.abort(gaveUp);
    expect(await second).toBe(gaveUp);
    await first;
    expect(server.seen).toHaveLength(1);
  });

  it("who waits behind others has no more time than anybody", async () => {
    const one = saver();
    server.faults = [{ hangs: true }, { hangs: true }];
    const first = outcome(() => one.putWrites(config, [["a", 1]], "first"));
    await vi.advanceTimersByTimeAsync(20_000);
    const second = await outcome(() => one.putWrites(config, [["a", 2]], "second"));
    expect(String(second.error)).toContain("no answer from http://server in time");
    expect(second.ms).toBeGreaterThanOrEqual(30_000);
    expect(second.ms).toBeLessThan(30_200);
    expect(String((await first).error)).toContain("no answer from http://server in time");
  });
});
