/** A reply gets lost after the server did the work: the store's own retry must not be a second change. */

import { TransportError } from "threadkeep";
import type { ThreadkeepStore } from "threadkeep/langgraph";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { CountingProxy } from "../support/proxy.js";
import { ENGINES } from "../support/servers.js";
import { newStore } from "../support/stores.js";

describe.each(ENGINES)("on %s, a lost reply", (engine) => {
  let proxy: CountingProxy;
  let store: ThreadkeepStore;

  beforeEach(async () => {
    proxy = await CountingProxy.before(inject("servers")[engine].url);
    store = await newStore(engine, { url: proxy.url });
  });
  afterEach(() => proxy.close());

  it("of a conditional put is answered like the first, and not as a conflict", async () => {
    const first = await store.putVersioned(["n"], "k", { a: 1 }, { ifVersion: 0 });
    proxy.lose(2);
    const second = await store.putVersioned(["n"], "k", { a: 2 }, { ifVersion: first });
    expect(proxy.lost).toBe(2);
    expect(await store.get(["n"], "k")).toMatchObject({ version: second, value: { a: 2 } });
    proxy.lose(1);
    await store.delete(["n"], "k", { ifVersion: second });
    expect(await store.get(["n"], "k")).toBeNull();
  });

  it("of a batch with a condition changes it once", async () => {
    proxy.lose(1);
    await store.batch([
      { namespace: ["n"], key: "a", value: { a: 1 } },
      { namespace: ["n"], key: "b", value: { b: 1 }, ifVersion: 0 } as never,
    ]);
    expect(proxy.lost).toBe(1);
    expect(await store.count(["n"])).toBe(2);
  });

  it("of edits by several at once loses none", async () => {
    const edits = Array.from({ length: 12 }, async (_, at) => {
      if (at % 4 === 0) proxy.lose(1);
      await store.edit(["n"], "k", (value) => ({ seen: [...(value?.["seen"] ?? []), at] }));
    });
    await Promise.all(edits);
    expect(proxy.lost).toBeGreaterThan(0);
    const seen = (await store.get(["n"], "k"))?.value["seen"] as number[];
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, at) => at));
  });

  it("of a read does not fail it", async () => {
    await store.put(["n"], "k", { a: 1 });
    proxy.lose(1);
    expect((await store.search(["n"]))[0]?.value).toEqual({ a: 1 });
    expect(proxy.lost).toBe(1);
  });

  it("of every attempt is an error", async () => {
    const impatient = await newStore(engine, { url: proxy.url, timeoutMs: 1_000 });
    proxy.lose(1_000);
    await expect(impatient.put(["n"], "k", {})).rejects.toBeInstanceOf(TransportError);
    await expect(impatient.get(["n"], "k")).rejects.toBeInstanceOf(TransportError);
  });
});
