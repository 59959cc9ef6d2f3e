/** Tests which views of items and files are read anew when items change, and how often. */

import { InfiniteQueryObserver, QueryClient, QueryObserver } from "@tanstack/react-query";
import type { Identity } from "threadkeep";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { untilExpiry } from "../src/app/live.js";
import type { FilesRoute } from "../src/app/route.js";
import {
  type ChangedItem,
  type FollowedItems,
  followedItem,
  isBelow,
  StoreRefresh,
} from "../src/app/store_refresh.js";
import { isTouchedBy } from "../src/nouns/files/spot.js";

const READING_MS = 50;
const NOTES = ["ann", "notes"];
const CHANGE: ChangedItem = { namespace: NOTES, key: "first" };
let queries: QueryClient;
let refresh: StoreRefresh;
let asked: string[];

beforeEach(() => {
  vi.useFakeTimers();
  queries = new QueryClient();
  refresh = new StoreRefresh(queries);
  asked = [];
});

afterEach(() => {
  queries.clear();
  vi.useRealTimers();
});

/** A view that is shown, once the server has answered it. */
async function show(name: string, items?: FollowedItems, readingMs = READING_MS): Promise<void> {
  const queryFn = async () => {
    asked.push(name);
    await new Promise((resolve) => setTimeout(resolve, readingMs));
    return asked.length;
  };
  new QueryObserver(queries, { queryKey: [name], queryFn, meta: { items } }).subscribe(() => {});
  await vi.advanceTimersByTimeAsync(readingMs);
  asked = [];
}

describe("StoreRefresh", () => {
  it("reads what an item touches, and nothing else", async () => {
    await show("item", followedItem(NOTES, "first"));
    await show("another item", followedItem(NOTES, "second"));
    await show("another namespace", followedItem(["bob", "notes"], "first"));
    await show("list", { isTouchedBy: ({ namespace }) => isBelow(namespace, ["ann"]) });
    await show("list below", {
      isTouchedBy: ({ namespace }) => isBelow(namespace, [...NOTES, "old"]),
    });
    await show("threads");
    refresh.onChange(CHANGE);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual(["item", "list"]);
  });

  it("reads everything that follows items when any may have changed", async () => {
    await show("item", followedItem(NOTES, "first"));
    await show("another item", followedItem(["bob"], "second"));
    await show("threads");
    refresh.onChange(undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual(["item", "another item"]);
  });

  it("joins a burst, and reads once more after the last change", async () => {
    await show("item", followedItem(NOTES, "first"));
    let changedMs = 0;
    for (let at = 0; at < 100; at += 1) {
      refresh.onChange(CHANGE);
      await vi.advanceTimersByTimeAsync(100);
    }
    changedMs = Date.now();
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.length).toBeLessThanOrEqual(10);
    const before = asked.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(before + 1);
    expect(
      queries.getQueryCache().find({ queryKey: ["item"] })?.state.dataUpdatedAt,
    ).toBeGreaterThan(changedMs - 100);
  });

  it("reads counts at once, then every 15 seconds while items change", async () => {
    await show("counts", { isTouchedBy: () => true, isCostly: () => true });
    for (let at = 0; at < 600; at += 1) {
      refresh.onChange(CHANGE);
      await vi.advanceTimersByTimeAsync(100);
      if (at === 0) expect(asked).toEqual(["counts"]);
    }
    expect(asked.length).toBe(4);
  });

  it("reads more seldom what takes long", async () => {
    await show("search", { isTouchedBy: () => true }, 2_000);
    for (let at = 0; at < 600; at += 1) {
      refresh.onChange(CHANGE);
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(asked.length).toBe(3);
  });

  it("goes on a minute after a reading during which the computer slept", async () => {
    await show("item", followedItem(NOTES, "first"));
    refresh.onChange(CHANGE);
    vi.setSystemTime(Date.now() + 3_600_000);
    await vi.advanceTimersByTimeAsync(READING_MS);
    refresh.onChange(CHANGE);
    await vi.advanceTimersByTimeAsync(60_000 + READING_MS);
    expect(asked).toEqual(["item", "item"]);
  });

  it("has what is not shown read when it is shown again", async () => {
    const items = followedItem(NOTES, "first");
    const queryFn = () => asked.push("item");
    const options = { queryKey: ["item"], queryFn, meta: { items }, staleTime: 60_000 };
    const leave = new QueryObserver(queries, options).subscribe(() => {});
    await vi.advanceTimersByTimeAsync(READING_MS);
    leave();
    new QueryObserver(queries, options).subscribe(() => {})();
    expect(asked).toEqual(["item"]);
    refresh.onChange(CHANGE);
    await vi.advanceTimersByTimeAsync(READING_MS);
    expect(asked).toEqual(["item"]);
    new QueryObserver(queries, options).subscribe(() => {});
    await vi.advanceTimersByTimeAsync(READING_MS);
    expect(asked).toEqual(["item", "item"]);
  });

  it("leaves a list of many pages to the person who scrolls it", async () => {
    const list = new InfiniteQueryObserver(queries, {
      queryKey: ["items"],
      queryFn: ({ pageParam }) => asked.push(`page ${pageParam}`),
      initialPageParam: 0,
      getNextPageParam: (last: number) => last + 1,
      meta: { items: { isTouchedBy: () => true } },
    });
    list.subscribe(() => {});
    await vi.advanceTimersByTimeAsync(READING_MS);
    for (let at = 0; at < 3; at += 1) await list.fetchNextPage();
    asked = [];
    refresh.onChange(CHANGE);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toEqual([]);
  });
});

describe("views of files", () => {
  const ann = { credential: "tok_1", tenant: "acme", subject: "ann", label: "ann" } as Identity;
  const whole = { credential: "key_1", tenant: "acme" } as Identity;
  const file = (path: string, namespace = ["ann", "files"]): FilesRoute => ({
    page: "files",
    place: "namespace",
    namespace,
    path,
  });
  const drive = (path: string, subject?: string): FilesRoute => ({
    page: "files",
    place: "drive",
    namespace: [],
    path,
    subject,
  });
  const touches = (route: FilesRoute, namespace: string[], key: string, identity = ann) =>
    isTouchedBy(route, identity, { namespace, key });

  it("a file is touched by its own path only", () => {
    expect(touches(file("/a/b.md"), ["ann", "files"], "/a/b.md")).toBe(true);
    expect(touches(file("/a/b.md"), ["ann", "files"], "/a/b.md.bak")).toBe(false);
    expect(touches(file("/a/b.md"), ["ann", "files", "more"], "/a/b.md")).toBe(false);
    expect(touches(file("/a/b.md"), ["ann"], "/a/b.md")).toBe(false);
  });

  it("a folder is touched by what is below it, and the root by everything of its namespace", () => {
    expect(touches(file("/a/"), ["ann", "files"], "/a/b/c.md")).toBe(true);
    expect(touches(file("/a/"), ["ann", "files"], "/ab.md")).toBe(false);
    expect(touches(file("/"), ["ann", "files"], "/ab.md")).toBe(true);
    expect(touches(file("/"), ["ann", "files"], "of an old version")).toBe(true);
    expect(touches(file("/"), ["ann", "notes"], "/ab.md")).toBe(false);
  });

  it.each(["a/b.md", "//a/", "/a/../b.md", "/./a", "/a//b.md"])(
    "the path %s, which leads somewhere else, is touched by its namespace",
    (path) => {
      expect(touches(file(path), ["ann", "files"], "/c.md")).toBe(true);
      expect(touches(file(path), ["ann", "notes"], "/c.md")).toBe(false);
    },
  );

  it("folders of a drive are touched in the namespaces that they are of", () => {
    expect(touches(drive("/memories/a.md"), ["ann", "filesystem"], "/a.md")).toBe(true);
    expect(touches(drive("/memories/a.md"), ["ann", "workspace"], "/a.md")).toBe(false);
    expect(touches(drive("/memories/"), ["ann", "filesystem"], "/a.md")).toBe(true);
    expect(touches(drive("/plans/"), ["ann", "workspace"], "/plans/a.md")).toBe(true);
    expect(touches(drive("/plans/"), ["ann", "workspace"], "/a.md")).toBe(false);
    const thread = ["ann", "threads", "t1", "artifacts"];
    expect(touches(drive("/threads/t1/"), thread, "/plot.png")).toBe(true);
    expect(touches(drive("/threads/t2/"), thread, "/plot.png")).toBe(false);
    for (const path of ["/", "/threads/"]) {
      expect(touches(drive(path), thread, "/plot.png")).toBe(true);
      expect(touches(drive(path), ["ann", "filesystem"], "/a.md")).toBe(true);
      expect(touches(drive(path), ["bob", "filesystem"], "/a.md")).toBe(false);
    }
  });

  it("the drive of a subject is found by its label", () => {
    expect(touches(drive("/", "b@x.com"), ["b@x~2ecom", "workspace"], "/a", whole)).toBe(true);
    expect(touches(drive("/", "b@x.com"), ["ann", "workspace"], "/a", whole)).toBe(false);
    expect(touches(drive("/"), ["ann", "workspace"], "/a", whole)).toBe(true);
  });
});

describe("items that expire", () => {
  const inMs = (ms: number) => ({ expiresAt: new Date(Date.now() + ms) });

  it("are asked for again when the first one has expired", () => {
    expect(untilExpiry([])).toBe(false);
    expect(untilExpiry([{}, { expiresAt: undefined }])).toBe(false);
    expect(untilExpiry([inMs(90_000), {}, inMs(40_000)])).toBe(40_000);
  });

  it("are asked for neither too often nor after a time that no timer takes", () => {
    expect(untilExpiry([inMs(1)])).toBe(2_000);
    expect(untilExpiry([inMs(-1)])).toBe(15_000);
    expect(untilExpiry([inMs(10 ** 12)])).toBe(3_600_000);
  });
});
