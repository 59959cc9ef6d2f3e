/** What the store promises beyond the base class, and what it refuses. */

import { InvalidNamespaceError, type Operation } from "@langchain/langgraph-checkpoint";
import { InvalidError, TooLargeError, UnauthorizedError, VersionConflictError } from "threadkeep";
import { ThreadkeepStore, type ThreadkeepStoreOptions } from "threadkeep/langgraph";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { bare, keysOf, newStore } from "../support/stores.js";
import { sleep, waitUntil } from "../support/waiting.js";

const put = (key: string, value: Record<string, unknown> | null): Operation => ({
  namespace: ["n"],
  key,
  value,
});

describe.each(ENGINES)("on %s", (engine) => {
  let store: ThreadkeepStore;
  let options: ThreadkeepStoreOptions;
  /** Requests so far. */
  let requests = 0;

  beforeEach(async () => {
    requests = 0;
    const place = inject("servers")[engine];
    const counted: typeof fetch = (input, init) => {
      requests += 1;
      return fetch(input, init);
    };
    options = { url: place.url, apiKey: await newKey(place), fetch: counted };
    store = new ThreadkeepStore(options);
  });

  it("an item has its times, its version and its life", async () => {
    const before = Date.now();
    await store.put(["n"], "k", { a: 1 }, undefined, { ttl: 0.5 });
    const first = await store.get(["n"], "k");
    expect(first?.createdAt).toBeInstanceOf(Date);
    expect(Math.abs((first?.createdAt.getTime() ?? 0) - before)).toBeLessThan(60_000);
    expect(first?.ttl).toBe(0.5);
    expect(first?.expiresAt?.getTime()).toBeGreaterThan(before + 20_000);
    expect(first?.sizeBytes).toBe('{"a":1}'.length);
    await store.put(["n"], "k", { a: 2 });
    const second = await store.get(["n"], "k");
    expect(second?.createdAt).toEqual(first?.createdAt);
    expect(second?.updatedAt.getTime()).toBeGreaterThanOrEqual(first?.updatedAt.getTime() ?? 0);
    expect(second?.version).toBeGreaterThan(first?.version ?? 0);
    expect(second).not.toHaveProperty("expiresAt");
    const [found] = await store.search(["n"]);
    expect(found).toEqual(second);
    expect(found?.score).toBeUndefined();
    expect(await store.get(["n"], "absent")).toBeNull();
    expect(await store.delete(["n"], "absent")).toBeUndefined();
    expect(await store.search(["n"], { limit: 0 })).toEqual([]);
  });

  it("what has expired is gone at once, by the default of the store too", async () => {
    const brief = new ThreadkeepStore({ ...options, ttl: { defaultTtl: 0.1 } });
    await brief.put(["n"], "brief", { a: 1 });
    await brief.batch([put("brief in a batch", { a: 1 }), put("another", { a: 1 })]);
    await brief.put(["n"], "for ever", { a: 1 }, undefined, { ttl: null });
    await brief.put(["n"], "longer", { a: 1 }, undefined, { ttl: 5 });
    expect(await brief.count(["n"])).toBe(5);
    const all = await store.search(["n"], { refreshTtl: false });
    const ends = new Map(all.map(({ key, expiresAt }) => [key, expiresAt?.getTime()]));
    expect(ends.size).toBe(5);
    const left = await waitUntil(async () => {
      const begun = Date.now();
      const found = keysOf(await store.search(["n"], { refreshTtl: false }));
      const stale = found.filter((key) => (ends.get(key) ?? Number.POSITIVE_INFINITY) < begun);
      expect(stale).toEqual([]);
      return found.length < 3 && found;
    }, "the brief ones to expire");
    expect(left.sort()).toEqual(["for ever", "longer"]);
  });

  it("a read extends a life, if it shall", async () => {
    await store.put(["n"], "k", { a: 1 }, undefined, { ttl: 0.3 });
    const first = await store.get(["n"], "k", { refreshTtl: false });
    // A life is extended once in a tenth of it.
    await sleep(2_000);
    const second = await store.get(["n"], "k", { refreshTtl: false });
    expect(second?.expiresAt).toEqual(first?.expiresAt);
    await store.search(["n"]);
    const third = await store.get(["n"], "k", { refreshTtl: false });
    expect(third?.expiresAt?.getTime()).toBeGreaterThan(first?.expiresAt?.getTime() ?? 0);
  });

  it("a put with a condition happens at that version only", async () => {
    const first = await store.putVersioned(["n"], "k", { a: 1 }, { ifVersion: 0 });
    const second = await store.putVersioned(["n"], "k", { a: 2 }, { ifVersion: first });
    const refused = store.put(["n"], "k", { a: 3 }, undefined, { ifVersion: first });
    await expect(refused).rejects.toBeInstanceOf(VersionConflictError);
    await expect(refused).rejects.toMatchObject({ currentVersion: second, status: 409 });
    await expect(store.delete(["n"], "k", { ifVersion: first })).rejects.toMatchObject({
      code: "version_conflict",
    });
    await expect(store.put(["n"], "new", {}, undefined, { ifVersion: 7 })).rejects.toMatchObject({
      currentVersion: 0,
    });
    expect(await store.get(["n"], "k")).toMatchObject({ value: { a: 2 }, version: second });
    await store.delete(["n"], "k", { ifVersion: second });
    expect(await store.get(["n"], "k")).toBeNull();
  });

  it("160 edits by 8 editors all survive", async () => {
    const editors = Array.from({ length: 8 }, async (_, editor) => {
      for (let at = 0; at < 20; at++) {
        await store.edit(["n"], "k", (value) => ({
          seen: [...(value?.["seen"] ?? []), editor * 20 + at],
        }));
      }
    });
    await Promise.all(editors);
    const seen = (await store.get(["n"], "k"))?.value["seen"] as number[];
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 160 }, (_, at) => at));
    expect(await store.edit(["n"], "k", () => null)).toBeNull();
    expect(await store.get(["n"], "k")).toBeNull();
    expect(await store.edit(["n"], "k", () => null)).toBeNull();
  });

  it("several operations are one: reads come first, changes happen all or none", async () => {
    const get = { namespace: ["n"], key: "k" };
    expect(await store.batch([put("k", { v: 1 }), get, put("k", { v: 2 })])).toEqual([
      undefined,
      null,
      undefined,
    ]);
    expect((await store.get(["n"], "k"))?.value).toEqual({ v: 2 });
    const conflicting = { ...put("other", { v: 1 }), ifVersion: 5 };
    await expect(store.batch([put("k", { v: 3 }), conflicting])).rejects.toMatchObject({
      currentVersion: 0,
    });
    expect((await store.get(["n"], "k"))?.value).toEqual({ v: 2 });
    expect(await store.batch([])).toEqual([]);
    // By hand, without the key that tells it apart elsewhere.
    expect(await store.batch([{ limit: 5, offset: 0 }, put("k", null)])).toEqual([
      [["n"]],
      undefined,
    ]);
    expect(await store.count([])).toBe(0);
  });

  it("single calls of one turn travel together, each with its own outcome", async () => {
    await store.put(["n"], "a", { v: 1 });
    requests = 0;
    const outcomes = await Promise.allSettled([
      store.get(["n"], "a"),
      store.put(["n"], "b", { v: 2 }),
      store.put(["n"], "c", { v: 3 }, undefined, { ifVersion: 9 }),
      store.search(["n"], { filter: { v: { $bogus: 1 } } } as never),
      store.put(["n"], "d", { v: Number.NaN }),
      store.search(["n"], { offset: 2_000_000 }),
      store.put(["n"], "k".repeat(1_025), { v: 4 }),
      store.listNamespaces(),
      store.delete(["n"], "a"),
      store.count(["n"]),
    ]);
    expect(requests).toBe(1);
    expect(outcomes.map((it) => (it.status === "rejected" ? it.reason.code : "fine"))).toEqual([
      "fine",
      "fine",
      "version_conflict",
      "invalid",
      "invalid",
      "invalid",
      "invalid",
      "fine",
      "fine",
      "fine",
    ]);
    expect(keysOf(await store.search(["n"]))).toEqual(["b"]);
  });

  it("changes of one item in one turn happen in the order of the calls", async () => {
    const versions = await Promise.all(
      [1, 2, 3, 4, 5].map((v) => store.putVersioned(["n"], "k", { v })),
    );
    expect(new Set(versions).size).toBe(5);
    expect([...versions].sort((a, b) => a - b)).toEqual(versions);
    expect((await store.get(["n"], "k"))?.value).toEqual({ v: 5 });
    void store.put(["n"], "k", { v: 6 });
    await sleep(0);
    await store.put(["n"], "k", { v: 7 });
    expect((await store.get(["n"], "k"))?.value).toEqual({ v: 7 });
  });

  it("more operations than fit travel in several requests", async () => {
    const many = Array.from({ length: 2_500 }, (_, at) => put(`k${at}`, { at }));
    await store.batch([...many, put("k0", { at: -1 })]);
    expect(requests).toBe(3);
    expect(await store.count(["n"])).toBe(2_500);
    expect((await store.get(["n"], "k0"))?.value).toEqual({ at: -1 });
    expect(await store.search(["n"], { limit: 2_500, values: false })).toHaveLength(2_500);
    await store.batch(
      Array.from({ length: 1_200 }, (_, at) => ({ namespace: [`n${at}`], key: "k", value: {} })),
    );
    expect(await store.listNamespaces({ limit: 5_000 })).toHaveLength(1_201);
    expect(await store.listNamespaces({ limit: 5, offset: 1_100 })).toHaveLength(5);
    const large = "x".repeat(3 << 20);
    await store.batch([1, 2, 3, 4, 5, 6].map((at) => put(`large ${at}`, { large })));
    // An answer of about 4 MiB ends; the rest is asked for.
    expect(await store.search(["n"], { limit: 6 })).toHaveLength(6);
  });

  it("a scan shows each item once while others write", async () => {
    await store.batch(Array.from({ length: 300 }, (_, at) => put(`k${at}`, { at })));
    let stopped = false;
    const writer = (async () => {
      for (let at = 0; !stopped; at++) await store.put(["n"], `k${(at * 7) % 300}`, { at });
    })();
    for (const sortBy of ["key", "created"] as const) {
      const keys: string[] = [];
      for await (const item of store.scan(["n"], { pageItems: 20, sortBy })) keys.push(item.key);
      expect([keys.length, new Set(keys).size]).toEqual([300, 300]);
    }
    stopped = true;
    await writer;
    const page = await store.searchPage(["n"], { limit: 200, sortBy: "key" });
    const rest = await store.searchPage(["n"], {
      limit: 200,
      sortBy: "key",
      after: page.nextCursor,
    });
    expect([page.items.length, rest.items.length, rest.nextCursor]).toEqual([200, 100, undefined]);
  });

  it("an exact search, chosen fields, orders and filters", async () => {
    await store.put(["org"], "/a.md", { content: "a", size: 2, at: new Date(5) });
    await store.put(["org", "ann"], "/b.md", { content: "b", size: 10 });
    await store.put(["org"], "/c.md", { content: new Uint8Array([1]), big: 2n ** 70n });
    const search = async (more: object) => keysOf(await store.search(["org"], more));
    expect(await search({})).toEqual(["/c.md", "/b.md", "/a.md"]);
    expect(await search({ sortBy: "key" })).toEqual(["/a.md", "/c.md", "/b.md"]);
    expect(await search({ exact: true })).toEqual(["/c.md", "/a.md"]);
    expect(await store.count(["org"], { exact: true })).toBe(2);
    expect(await search({ filter: { size: { $gt: 2 } } })).toEqual(["/b.md"]);
    expect(await search({ filter: { $or: [{ content: "a" }, { size: 10 }] } })).toEqual([
      "/b.md",
      "/a.md",
    ]);
    expect(await search({ filter: { at: new Date(5) } })).toEqual(["/a.md"]);
    expect(await search({ filter: { content: new Uint8Array([1]) } })).toEqual(["/c.md"]);
    expect(await search({ filter: { big: 2n ** 70n } })).toEqual(["/c.md"]);
    expect(await search({ filter: { big: { $gt: 2n ** 70n - 1n } } })).toEqual(["/c.md"]);
    expect(await search({ filter: { size: { $exists: false } } })).toEqual(["/c.md"]);
    const [chosen] = await store.search(["org"], { select: ["size"], sortBy: "key" });
    expect(chosen?.value).toEqual({ size: 2 });
    const [bareItem] = await store.search(["org"], { values: false });
    expect(bareItem?.value).toEqual({});
  });

  it("values are kept as they are", async () => {
    const value = {
      number: 0.1,
      negative: -0,
      big: 2n ** 64n + 1n,
      text: "\0 \ud800 ü 🦀",
      none: null,
      bytes: new Uint8Array([0, 255]),
      like: { "$threadkeep:bytes": "AAAA" },
      ["__proto__"]: { polluted: true },
      nested: [{ deep: [new Uint8Array()] }],
    };
    await store.put(["n"], "k", value);
    const read = (await store.get(["n"], "k"))?.value;
    expect(read).toStrictEqual(value);
    expect(Object.hasOwn(read ?? {}, "__proto__")).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    const rounding = new ThreadkeepStore({ ...options, integers: "number" });
    expect((await rounding.get(["n"], "k"))?.value["big"]).toBe(2 ** 64);
  });

  it("namespaces are refused in the words of the reference", async () => {
    const cases: [unknown[], string][] = [
      [[], "Namespace cannot be empty."],
      [["a.b"], "Namespace labels cannot contain periods ('.')."],
      [["a\0"], "Namespace labels cannot contain NUL bytes ('\\x00')."],
      [["a", ""], "Namespace labels cannot be empty strings. Got  in a,"],
      [["langgraph"], 'Root label for namespace cannot be "langgraph". Got: langgraph'],
      [["a", 1], "Namespace labels must be strings, but got number."],
    ];
    for (const [namespace, text] of cases) {
      const refused = store.put(namespace as string[], "k", {});
      await expect(refused).rejects.toBeInstanceOf(InvalidNamespaceError);
      await expect(refused).rejects.toThrow(text);
      await expect(
        store.batch([{ namespace: namespace as string[], key: "k", value: {} }]),
      ).rejects.toThrow(text);
    }
    await expect(store.put("text" as never, "k", {})).rejects.toThrow("must be an array");
    await expect(store.put(["\ud800"], "k", {})).rejects.toThrow(InvalidError);
    await expect(store.search(["a.b"])).rejects.toBeInstanceOf(InvalidNamespaceError);
    expect(await store.get(["langgraph"], "k")).toBeNull();
    expect(requests).toBe(1);
  });

  it("what cannot be is a typed error and stores nothing", async () => {
    const deep = JSON.parse(`${"[".repeat(120)}1${"]".repeat(120)}`);
    const attempts: [() => Promise<unknown>, new (detail: string) => Error][] = [
      [() => store.put(["n"], 5n as never, { a: undefined }, false, { ttl: -1 }), InvalidError],
      [() => store.put(["n"], {} as never, {}), InvalidError],
      [() => store.put(["n"], "k", null as never), InvalidError],
      [() => store.put(["n"], "k", "text" as never), InvalidError],
      [() => store.put(["n"], "k", { a: deep }), InvalidError],
      [() => store.put(["n"], "k".repeat(1_025), {}), InvalidError],
      [() => store.put(Array(33).fill("n"), "k", {}), InvalidError],
      [() => store.put(["n"], "k", {}, false, { ttl: Number.NaN }), InvalidError],
      [() => store.put(["n"], "k", {}, false, { ttl: 1e12 }), InvalidError],
      [() => store.put(["n"], "k", {}, false, { ifVersion: 0.5 }), InvalidError],
      [() => store.put(["n"], "k", { a: "x".repeat(64 << 20) }), TooLargeError],
      [() => store.search(["n"], { limit: -1 }), InvalidError],
      [() => store.search(["n"], { offset: 2_000_000 }), InvalidError],
      [() => store.search(["n"], { after: "no cursor" }), InvalidError],
      [() => store.search(["n"], { sortBy: "size" as never }), InvalidError],
      [() => store.search(["n"], { select: "name" as never }), InvalidError],
      [() => store.listNamespaces({ maxDepth: -1 }), InvalidError],
      [() => store.scan(["n"], { pageItems: 0 }).next(), InvalidError],
      [() => store.batch([null as never]), InvalidError],
      [() => store.batch([{ namespace: ["n"] } as never]), InvalidError],
      [
        () => new ThreadkeepStore({ ...options, apiKey: "tk_no" }).get(["n"], "k"),
        UnauthorizedError,
      ],
    ];
    for (const [at, [attempt, kind]] of attempts.entries()) {
      await expect(attempt(), `attempt ${at}`).rejects.toBeInstanceOf(kind);
    }
    expect(await store.count([])).toBe(0);
    for (const settings of [
      { ttl: { defaultTtl: -1 } },
      { ttl: { days: 1 } },
      { index: { dims: 2 } },
      { integers: 1 },
    ]) {
      expect(() => new ThreadkeepStore(settings as never)).toThrow(InvalidError);
    }
  });

  it("a subclass sees every operation in its batch", async () => {
    const seen: Operation[] = [];
    class Recording extends ThreadkeepStore {
      override batch: ThreadkeepStore["batch"] = (operations) => {
        seen.push(...operations);
        return super.batch(operations);
      };
    }
    const recording = new Recording(options);
    await recording.put(["n"], "k", { a: 1 });
    await recording.get(["n"], "k");
    await recording.search(["n"]);
    await recording.edit(["n"], "k", () => ({ a: 2 }));
    await recording.scan(["n"]).next();
    await recording.count(["n"]);
    await recording.listNamespaces();
    await recording.delete(["n"], "k");
    expect(seen).toHaveLength(9);
  });

  it("tenants do not meet", async () => {
    const other = await newStore(engine);
    await store.put(["n"], "k", { a: 1 });
    expect(await other.get(["n"], "k")).toBeNull();
    expect(await other.search([])).toEqual([]);
    expect(await other.listNamespaces()).toEqual([]);
    await other.delete(["n"], "k");
    expect(bare(await store.get(["n"], "k"))).toEqual({
      namespace: ["n"],
      key: "k",
      value: { a: 1 },
    });
  });
});
