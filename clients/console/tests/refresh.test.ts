/** Tests which views are read anew when threads change, and that nothing which changes during a reading is missed. */

import { InfiniteQueryObserver, QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ThreadRefresh } from "../src/app/thread_refresh.js";

const READING_MS = 500;
let queries: QueryClient;
let asked: string[];

beforeEach(() => {
  vi.useFakeTimers();
  queries = new QueryClient();
  asked = [];
});

afterEach(() => {
  queries.clear();
  vi.useRealTimers();
});

/** A view that is shown. The server takes a while. */
function show(queryKey: readonly string[]): void {
  const queryFn = async () => {
    asked.push(queryKey.join(" "));
    await new Promise((resolve) => setTimeout(resolve, READING_MS));
    return asked.length;
  };
  new QueryObserver(queries, { queryKey, queryFn }).subscribe(() => {});
}

async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(10_000);
  asked = [];
}

describe("ThreadRefresh", () => {
  it("reads the thread that changed and the lists, and nothing else", async () => {
    for (const key of [["thread", "a"], ["thread", "b"], ["threads", "count"], ["usage"]])
      show(key);
    await settle();
    new ThreadRefresh(queries).onChange("a");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asked.sort()).toEqual(["thread a", "threads count"]);
  });

  it("reads every thread when any may have changed", async () => {
    for (const key of [
      ["thread", "a"],
      ["thread", "b"],
    ])
      show(key);
    await settle();
    new ThreadRefresh(queries).onChange(undefined);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asked.sort()).toEqual(["thread a", "thread b"]);
  });

  it("reads once more for all that changed during a reading", async () => {
    show(["thread", "a"]);
    await settle();
    const refresh = new ThreadRefresh(queries);
    refresh.onChange("a");
    await vi.advanceTimersByTimeAsync(READING_MS / 2);
    for (let at = 0; at < 10; at += 1) refresh.onChange("a");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toEqual(["thread a", "thread a"]);
  });

  it("reads again what was being read for the first time", async () => {
    show(["thread", "a"]);
    await vi.advanceTimersByTimeAsync(READING_MS / 2);
    new ThreadRefresh(queries).onChange("a");
    await vi.advanceTimersByTimeAsync(READING_MS * 2);
    expect(asked).toEqual(["thread a", "thread a"]);
    expect(queries.getQueryData(["thread", "a"])).toBe(2);
  });

  it("leaves a list of many pages to the person who scrolls it", async () => {
    const list = new InfiniteQueryObserver(queries, {
      queryKey: ["threads"],
      queryFn: ({ pageParam }) => {
        asked.push(`page ${pageParam}`);
        return pageParam;
      },
      initialPageParam: 0,
      getNextPageParam: (last: number) => last + 1,
    });
    list.subscribe(() => {});
    await settle();
    new ThreadRefresh(queries).onChange("a");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asked).toEqual(["page 0"]);
    for (let at = 0; at < 3; at += 1) await list.fetchNextPage();
    await settle();
    new ThreadRefresh(queries).onChange("a");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asked).toEqual([]);
  });

  it("reads a list more seldom that takes long", async () => {
    show(["threads", "by size"]);
    await settle();
    const refresh = new ThreadRefresh(queries);
    for (let at = 0; at < 600; at += 1) {
      refresh.onChange("a");
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.length).toBeLessThanOrEqual(60_000 / (11 * READING_MS) + 1);
  });

  it("lets a further page of a list come, and reads the list after it", async () => {
    const list = new InfiniteQueryObserver(queries, {
      queryKey: ["threads"],
      queryFn: async ({ pageParam }) => {
        asked.push(`page ${pageParam}`);
        await new Promise((resolve) => setTimeout(resolve, READING_MS));
        return pageParam;
      },
      initialPageParam: 0,
      getNextPageParam: (last: number) => last + 1,
    });
    list.subscribe(() => {});
    await settle();
    void list.fetchNextPage();
    new ThreadRefresh(queries).onChange("a");
    await vi.advanceTimersByTimeAsync(READING_MS * 4);
    expect(asked).toEqual(["page 1", "page 0", "page 1"]);
    expect(list.getCurrentResult().data?.pages).toEqual([0, 1]);
  });
});
