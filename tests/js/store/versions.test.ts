/** Earlier versions of items: listed, read and put back. */

import { InvalidError, NotFoundError, VersionConflictError } from "threadkeep";
import type { ThreadkeepStore } from "threadkeep/langgraph";
import { describe, expect, it } from "vitest";
import { ENGINES } from "../support/servers.js";
import { newStore } from "../support/stores.js";

const NS = ["ann", "files"];
const KEY = "/notes.md lone\ud800";
const file = (text: string) => ({ content: [text], created_at: "", modified_at: "" });

/** Puts a file so many times; answers its versions, oldest first. */
async function written(store: ThreadkeepStore, texts: string[]): Promise<number[]> {
  const versions = [];
  for (const text of texts) versions.push(await store.putVersioned(NS, KEY, file(text)));
  return versions;
}

describe.each(ENGINES)("on %s", (engine) => {
  it("those that are kept are listed, the present one first", async () => {
    const store = await newStore(engine);
    const versions = await written(store, ["one", "two", "three"]);
    const found = await store.history(NS, KEY);
    expect(found.map(({ version }) => version)).toEqual([...versions].reverse());
    expect(found.map(({ current }) => current)).toEqual([true, false, false]);
    expect(found[0]).not.toHaveProperty("value");
    const item = await store.get(NS, KEY);
    expect(found[0]).toMatchObject({ updatedAt: item?.updatedAt, sizeBytes: item?.sizeBytes });
    const two = await store.history(NS, KEY, { values: true, limit: 2 });
    expect(two.map(({ value }) => value)).toEqual([file("three"), file("two")]);
    expect(await store.history(NS, KEY, { limit: 0 })).toEqual([]);
    expect(await store.history(NS, "absent")).toEqual([]);
  });

  it("one is read and put back as a new version", async () => {
    const store = await newStore(engine);
    const [first = 0, second = 0] = await written(store, ["one", "two"]);
    expect((await store.getVersion(NS, KEY, first))?.value).toEqual(file("one"));
    expect(await store.getVersion(NS, KEY, 1_000_000)).toBeNull();
    const stale = store.restore(NS, KEY, first, { ifVersion: first });
    await expect(stale).rejects.toBeInstanceOf(VersionConflictError);
    const third = await store.restore(NS, KEY, first, { ifVersion: second });
    expect(third).toBeGreaterThan(second);
    expect(await store.get(NS, KEY)).toMatchObject({ value: file("one"), version: third });
    expect(await store.history(NS, KEY)).toHaveLength(3);
    await expect(store.restore(NS, KEY, 1_000_000)).rejects.toBeInstanceOf(NotFoundError);
    await expect(store.restore(NS, KEY, -1)).rejects.toBeInstanceOf(InvalidError);
    await expect(store.history(NS, KEY, { limit: 0.5 })).rejects.toBeInstanceOf(InvalidError);
  });
});
