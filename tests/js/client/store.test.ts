/** `client.store` against the real server: items, searches, pages, versions and settings. The feed is in `changes.test.ts`. */

import { Client, NotFoundError, VersionConflictError } from "threadkeep";
import { ThreadkeepStore } from "threadkeep/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { type Access, newAccess } from "../support/files.js";
import { expectRefusals } from "../support/refusals.js";
import { ENGINES } from "../support/servers.js";

const NS = ["ann", "memories"];

describe.each(ENGINES)("on %s", (engine) => {
  let access: Access;
  let store: Client["store"];

  beforeEach(async () => {
    access = await newAccess(engine);
    store = new Client(access).store;
  });

  it("an item is put, got and deleted, under conditions", async () => {
    const value = { likes: "tea", n: 2n ** 60n + 1n, raw: new Uint8Array([0, 255]), none: null };
    const first = await store.put(NS, "k", value, { ifVersion: 0, ttlMinutes: 1.5 });
    const item = await store.get(NS, "k");
    expect(item).toMatchObject({ namespace: NS, key: "k", value, version: first, ttlMinutes: 1.5 });
    expect(item?.expiresAt?.getTime()).toBeGreaterThan(item?.updatedAt.getTime() ?? Infinity);
    expect(item?.sizeBytes).toBeGreaterThan(50);
    const rounded = await store.get(NS, "k", { integers: "number", refreshTtl: false });
    expect(rounded?.value?.["n"]).toBe(2 ** 60);
    const second = await store.put(NS, "k", { likes: "cake" }, { ifVersion: first });
    expect(second).toBeGreaterThan(first);
    const stale = store.put(NS, "k", {}, { ifVersion: first });
    await expect(stale).rejects.toBeInstanceOf(VersionConflictError);
    await expect(stale).rejects.toMatchObject({ currentVersion: second });
    const replaced = await store.get(NS, "k");
    expect(replaced?.value).toEqual({ likes: "cake" });
    expect(replaced).not.toHaveProperty("ttlMinutes");
    expect(replaced?.createdAt).toEqual(item?.createdAt);
    expect((await new ThreadkeepStore(access).get(NS, "k"))?.value).toEqual({ likes: "cake" });
    await expect(store.delete(NS, "k", { ifVersion: first })).rejects.toBeInstanceOf(
      VersionConflictError,
    );
    await store.delete(NS, "k", { ifVersion: second });
    await store.delete(NS, "k");
    expect(await store.get(NS, "k")).toBeUndefined();
  });

  it("a value as text comes back as it was put", async () => {
    const text = `{"one": 1.0, "big": ${2n ** 70n}, "small": 1e-7, "raw": {"$threadkeep:bytes": "AP8="}}`;
    const version = await store.putText(NS, "k", text, { ifVersion: 0, ttlMinutes: 5 });
    const item = await store.getText(NS, "k");
    expect(item).toMatchObject({ key: "k", version, ttlMinutes: 5 });
    expect(item?.text.replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
    expect((await store.get(NS, "k"))?.value).toMatchObject({
      big: 2n ** 70n,
      raw: new Uint8Array([0, 255]),
    });
    await expect(store.putText(NS, "k", "{}", { ifVersion: 0 })).rejects.toMatchObject({
      currentVersion: version,
    });
    expect(await store.getText(NS, "none")).toBeUndefined();
  });

  it("items are found by filter, below a prefix, page by page", async () => {
    for (let n = 0; n < 7; n += 1) await store.put(NS, `k${n}`, { n, even: n % 2 === 0 });
    await store.put(["ann"], "other", { n: 9, even: true });
    await store.put(["bob"], "k", { n: 9, even: true });
    const keysOf = (items: { key: string }[]) => items.map((it) => it.key);
    const even = await store.search(["ann"], {
      filter: { even: true, n: { $gte: 2 } },
      sort: "key",
    });
    expect(keysOf(even.items)).toEqual(["other", "k2", "k4", "k6"]);
    expect(keysOf((await store.search(["ann"], { exact: true })).items)).toEqual(["other"]);
    const few = await store.search(NS, { select: ["n"], limit: 1, offset: 1, sort: "key" });
    expect(few.items.map((it) => it.value)).toEqual([{ n: 1 }]);
    const [bare] = (await store.search(NS, { values: false, limit: 1 })).items;
    expect(bare).not.toHaveProperty("value");
    expect(bare?.key).toBe("k6");
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.search(NS, { limit: 3, sort: "key", cursor });
      found.push(...keysOf(page.items));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(found).toEqual(["k0", "k1", "k2", "k3", "k4", "k5", "k6"]);
    const scanned: string[] = [];
    for await (const { key } of store.scan(NS, { pageItems: 2 })) scanned.push(key);
    expect(scanned).toEqual(found);
    expect(await store.count(["ann"])).toBe(8);
    expect(await store.count(["ann"], { filter: { even: true }, exact: true })).toBe(1);
  });

  it("items are found by words and by meaning", async () => {
    const setting = await store.putSetting(["ann"], { textFields: ["text"] });
    expect(setting).toMatchObject({ namespace: ["ann"], textFields: ["text"] });
    await store.put(NS, "tea", { text: "green tea" }, { vectors: [{ vector: [1, 0] }] });
    await store.put(
      NS,
      "cake",
      { text: "a cake with tea and tea" },
      { vectors: [{ vector: [0, 1] }] },
    );
    await store.put(NS, "walk", { text: "a walk" });
    const byWords = await store.search(NS, { query: "tea", mode: "text" });
    expect(byWords.items.map((it) => it.key).toSorted()).toEqual(["cake", "tea"]);
    expect(byWords.items[0]?.score).toBeGreaterThanOrEqual(byWords.items[1]?.score ?? Infinity);
    const near = await store.search(NS, { queryVector: [0.9, 0.1], limit: 2 });
    expect(near.items.map((it) => it.key)).toEqual(["tea", "cake"]);
    expect(near.items[0]?.score).toBeCloseTo(0.9 / Math.hypot(0.9, 0.1), 5);
  });

  it("namespaces are listed by prefix, suffix and depth", async () => {
    for (const namespace of [["a"], ["a", "b"], ["a", "b", "c"], ["d", "b"]]) {
      await store.put(namespace, "k", {});
    }
    expect(await store.namespaces()).toEqual([["a"], ["a", "b"], ["a", "b", "c"], ["d", "b"]]);
    expect(await store.namespaces({ prefix: ["a"], maxDepth: 2 })).toEqual([["a"], ["a", "b"]]);
    expect(await store.namespaces({ suffix: ["b"] })).toEqual([
      ["a", "b"],
      ["d", "b"],
    ]);
    expect(await store.namespaces({ limit: 1, offset: 2 })).toEqual([["a", "b", "c"]]);
  });

  it("namespaces come in pages with the counts of what is in them and below", async () => {
    for (const namespace of [["a"], ["a", "b"], ["a", "b", "c"], ["d", "b"]]) {
      for (const key of ["one", "two"]) await store.put(namespace, key, {});
    }
    const first = await store.listNamespaces({ counts: true, limit: 2 });
    const [a, b] = [["a"], ["a", "b"]];
    expect(first).toEqual({ namespaces: [a, b], counts: [6, 4], nextCursor: first.nextCursor });
    const rest = await store.listNamespaces({ counts: true, cursor: first.nextCursor });
    const [c, d] = [
      ["a", "b", "c"],
      ["d", "b"],
    ];
    expect(rest).toEqual({ namespaces: [c, d], counts: [2, 2] });
    const cut = await store.listNamespaces({ counts: true, maxDepth: 1 });
    expect(cut).toEqual({ namespaces: [["a"], ["d"]], counts: [6, 2] });
    expect(await store.listNamespaces({ prefix: ["d"] })).toEqual({ namespaces: [d] });
    expect(await store.listNamespaces({ counts: true, prefix: ["none"] })).toEqual({
      namespaces: [],
      counts: [],
    });
  });

  it("earlier versions are kept as the setting says, listed and restored", async () => {
    await store.putSetting(["ann"], { history: 3 });
    const versions: number[] = [];
    for (let n = 0; n < 6; n += 1) versions.push(await store.put(NS, "k", { n }));
    const page = await store.history(NS, "k", { limit: 2, values: true });
    expect(page.versions.map((it) => [it.version, it.current, it.value])).toEqual([
      [versions[5], true, { n: 5 }],
      [versions[4], false, { n: 4 }],
    ]);
    const rest = await store.history(NS, "k", { cursor: page.nextCursor });
    expect(rest.versions.map((it) => it.version)).toEqual([versions[3], versions[2]]);
    expect(rest.versions[0]).not.toHaveProperty("value");
    expect(rest.nextCursor).toBeUndefined();
    expect((await store.getVersion(NS, "k", versions[3] ?? 0))?.value).toEqual({ n: 3 });
    expect(await store.getVersion(NS, "k", versions[0] ?? 0)).toBeUndefined();
    const restored = await store.restore(NS, "k", versions[3] ?? 0, { ifVersion: versions[5] });
    expect(await store.get(NS, "k")).toMatchObject({ value: { n: 3 }, version: restored });
    await expect(store.restore(NS, "k", versions[0] ?? 0)).rejects.toBeInstanceOf(NotFoundError);
    const stale = store.restore(NS, "k", versions[4] ?? 0, { ifVersion: versions[5] });
    await expect(stale).rejects.toBeInstanceOf(VersionConflictError);
    expect((await store.history(NS, "none")).versions).toEqual([]);
  });

  it("settings hold below their namespace, for each field by itself", async () => {
    await store.putSetting([], { history: 5 });
    await store.putSetting(["ann"], { textFields: ["text"] });
    const got = await store.getSetting(NS);
    expect(got).toEqual({ effective: { history: 5, textFields: ["text"] } });
    const own = await store.getSetting(["ann"]);
    expect(own.setting).toMatchObject({ namespace: ["ann"], changedAt: expect.any(Date) });
    expect(own.setting).not.toHaveProperty("history");
    expect((await store.listSettings()).map((it) => it.namespace)).toEqual([[], ["ann"]]);
    expect((await store.listSettings(["ann"])).map((it) => it.namespace)).toEqual([["ann"]]);
    await store.deleteSetting(["ann"]);
    await store.deleteSetting(["ann"]);
    expect((await store.getSetting(NS)).effective).toEqual({ history: 5 });
  });

  it("a wrong argument is refused by its name", async () => {
    const [dotted, long] = [["a.b"], "x".repeat(2_000)];
    await expectRefusals([
      [() => store.put(dotted, "k", {}), "namespace"],
      [() => store.put("ann" as never, "k", {}), "namespace"],
      [() => store.put(NS, "k", [] as never), "value"],
      [() => store.put(NS, "k", {}, { ttlMinutes: -1 }), "ttlMinutes"],
      [() => store.get(NS, long), "key"],
      [() => store.delete(NS, "k", { ifVersion: 1.5 }), "ifVersion"],
      [() => store.search(NS, { filter: { n: { $near: 1 } } as never }), "filter"],
      [() => store.search(NS, { query: "tea", mode: "text" }), "mode"],
      [() => store.search(NS, { cursor: "nonsense" }), "cursor"],
      [() => store.scan(NS, { pageItems: 0 }).next(), "pageItems"],
      [() => store.count("ann" as never), "prefix"],
      [() => store.namespaces({ prefix: [5 as never] }), "prefix"],
      [() => store.history(NS, "k", { limit: -1 }), "limit"],
      [() => store.getVersion(NS, "k", -1), "version"],
      [() => store.restore(NS, "k", 0.5), "version"],
      [() => store.putSetting(NS, { history: 2_000 }), "history"],
      [() => store.getSetting([""]), "namespace"],
      [() => store.deleteSetting([long]), "namespace"],
      [() => store.listSettings([long]), "namespace"],
      [() => store.changes([], { after: "nonsense" }).next(), "after"],
    ]);
  });
});
