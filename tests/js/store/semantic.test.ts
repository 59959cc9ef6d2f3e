/**
 * Searches by meaning and by words: order and scores are those of InMemoryStore of LangGraph.js with the same embeddings. What that
 * one gets wrong is left out, and held as cases of its own: vectors that outlive their put, pages over items without vectors.
 */

import {
  type IndexConfig,
  InMemoryStore,
  type Operation,
  type SearchItem,
} from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { InvalidError } from "threadkeep";
import { type StoreIndexConfig, ThreadkeepStore } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import { DIMS, HashEmbeddings } from "../support/hash_embedding.js";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { PATIENCE_MS } from "../support/settings.js";
import { keysOf, newStore } from "../support/stores.js";

const INDEX: IndexConfig = { dims: DIMS, embeddings: new HashEmbeddings(), fields: ["text"] };
/** By less than this two computations of one score may differ. */
const SCORES_APART = 5e-6;
const WORDS = ["tea", "coffee", "green", "black", "cat", "dog", "sleeps", "runs"];
const NAMESPACES = [["a"], ["a", "b"], ["c"]];
const words = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 4 });
const part = words.map((all) => all.join(" "));
const value = fc.record(
  { n: fc.integer({ min: 0, max: 2 }), text: part, parts: fc.array(part, { maxLength: 3 }) },
  { requiredKeys: ["n"] },
);
const index = fc.constantFrom(undefined, undefined, false as const, ["parts[*]"], ["text", "n"]);
const search = fc.record({
  namespacePrefix: fc.constantFrom("", "a", "c").map((it) => (it ? [it] : [])),
  filter: fc.constantFrom(undefined, { n: 1 }, { n: { $gte: 1 } }),
  query: part,
});
type Put = { value: Record<string, unknown>; index?: false | string[] };

/** Every key is put once: the reference keeps vectors of what is gone. No two texts are the same: those have no order. */
function puts(
  all: readonly { value: Record<string, unknown>; index: Put["index"] }[],
): Operation[] {
  return all.map((one, at) => {
    const own = (text: unknown, no = 0) => (text === undefined ? text : `${text} w${at} v${no}`);
    const { text, parts, ...more } = one.value as { text?: string; parts?: string[] };
    const value: Put["value"] = { ...more };
    if (text !== undefined) value["text"] = own(text);
    if (parts !== undefined) value["parts"] = parts.map((it, no) => own(it, no + 1));
    const namespace = NAMESPACES[at % NAMESPACES.length] as string[];
    const put = { namespace, key: `k${at}`, value };
    return one.index === undefined ? put : { ...put, index: one.index };
  });
}

/** The same items with the same scores; and in the same order, those without a score last, wherever scores tell two apart. */
function expectSameRanks(ours: readonly SearchItem[], theirs: readonly SearchItem[]): void {
  expect(keysOf(ours).sort()).toEqual(keysOf(theirs).sort());
  const expected = new Map(theirs.map(({ key, score }) => [key, score]));
  let least = Number.POSITIVE_INFINITY;
  for (const { key, score } of ours) {
    const reference = expected.get(key);
    if (reference === undefined) expect(score, key).toBeUndefined();
    else expect(Math.abs((score ?? Number.NaN) - reference), key).toBeLessThan(SCORES_APART);
    const rank = reference ?? Number.NEGATIVE_INFINITY;
    expect(rank, `the place of ${key}`).toBeLessThanOrEqual(least + 2 * SCORES_APART);
    least = Math.min(least, rank);
  }
}

describe.each(ENGINES)("on %s", (engine) => {
  it("order and scores are those of the reference", async () => {
    const sessions = fc.tuple(
      fc.array(fc.record({ value, index }), { minLength: 1, maxLength: 12 }),
      fc.array(search, { minLength: 1, maxLength: 4 }),
    );
    await fc.assert(
      fc.asyncProperty(sessions, async ([items, searches]) => {
        const ours = await newStore(engine, { index: INDEX });
        const theirs = new InMemoryStore({ index: INDEX });
        await ours.batch(puts(items));
        await theirs.batch(puts(items));
        for (const { namespacePrefix, ...more } of searches) {
          const options = { ...more, limit: 100 } as { query: string };
          const mine = await ours.search(namespacePrefix, options);
          const reference = await theirs.search(namespacePrefix, options);
          expectSameRanks(mine, reference);
        }
      }),
      // A difference is shown as it was found, and what hangs as what hangs: looking for a smaller one takes longer than the test has.
      { numRuns: 30, timeout: PATIENCE_MS, endOnFailure: true },
    );
  });

  it("the nearest come first, the rest has no score, and pages are full", async () => {
    const store = await newStore(engine, { index: INDEX });
    await store.put(["a"], "tea", { text: "green tea" });
    await store.put(["a", "b"], "coffee", { text: "black coffee" });
    await store.put(["a"], "unindexed", { text: "green tea" }, false);
    await store.put(["a"], "no text", { other: 1 });
    await store.put(["ab"], "elsewhere", { text: "green tea" });
    const found = await store.search(["a"], { query: "green tea" });
    expect(keysOf(found)).toEqual(["tea", "coffee", "no text", "unindexed"]);
    expect(found[0]?.score).toBeCloseTo(1, 5);
    expect(found.slice(2).map(({ score }) => score)).toEqual([undefined, undefined]);
    const pages = [];
    for (let offset = 0; offset < 4; offset += 1) {
      pages.push(...(await store.search(["a"], { query: "green tea", limit: 1, offset })));
    }
    expect(keysOf(pages)).toEqual(keysOf(found));
    const cursors = [];
    let after: string | undefined;
    do {
      const page = await store.searchPage(["a"], { query: "green tea", limit: 3, after });
      cursors.push(...page.items);
      after = page.nextCursor;
    } while (after !== undefined);
    expect(keysOf(cursors)).toEqual(keysOf(found));
  });

  it("a put, a deletion and a put without an index leave no vector behind", async () => {
    const store = await newStore(engine, { index: INDEX });
    const score = async (query: string) => (await store.search(["n"], { query }))[0]?.score;
    await store.put(["n"], "k", { text: "green tea", more: "a cat" }, ["text", "more"]);
    expect(await score("a cat")).toBeCloseTo(1, 5);
    await store.put(["n"], "k", { text: "a dog runs", more: "a cat" });
    expect(await score("green tea")).toBeLessThan(0.9);
    expect(await score("a cat")).toBeLessThan(0.9);
    await store.put(["n"], "k", { text: "a dog runs" }, false);
    expect(await score("a dog runs")).toBeUndefined();
    await store.put(["n"], "k", { text: "a dog runs" });
    await store.delete(["n"], "k");
    await store.put(["n"], "k", { other: 1 });
    expect(await score("a dog runs")).toBeUndefined();
  });

  it("the score is what the setting says", async () => {
    const embeddings = {
      embedDocuments: async (texts: string[]) => texts.map((text) => [Number(text), 1]),
      embedQuery: async (text: string) => [Number(text), 1],
    };
    const place = inject("servers")[engine];
    const options = { url: place.url, apiKey: await newKey(place) };
    const scores: Record<string, unknown> = {};
    for (const distanceMetric of ["cosine", "l2", "inner_product"] as const) {
      const setting: StoreIndexConfig = { dims: 2, embeddings, fields: ["x"], distanceMetric };
      const store = new ThreadkeepStore({ ...options, index: setting });
      await store.put(["n"], "k", { x: "3" });
      const [found] = await store.search(["n"], { query: "7" });
      scores[distanceMetric] = found?.score?.toFixed(4);
    }
    const cosine = (22 / Math.sqrt(10 * 50)).toFixed(4);
    expect(scores).toEqual({ cosine, l2: "-4.0000", inner_product: "22.0000" });
    const other = { dims: 3, embeddings, model: "default-2" };
    const wrong = { ...embeddings, embedDocuments: async () => [[1, 2, 3]] };
    const store = new ThreadkeepStore({ ...options, index: { ...other, embeddings: wrong } });
    await expect(store.put(["n"], "l", { x: "1" })).rejects.toBeInstanceOf(InvalidError);
    expect(await store.get(["n"], "l")).toBeNull();
  });

  it("a query without the setting is a plain listing", async () => {
    const place = inject("servers")[engine];
    const options = { url: place.url, apiKey: await newKey(place) };
    await new ThreadkeepStore({ ...options, index: INDEX }).put(["n"], "a", { text: "tea" });
    const plain = new ThreadkeepStore(options);
    await plain.put(["n"], "b", { text: "tea" });
    const found = await plain.search(["n"], { query: "tea" });
    expect(found.map(({ key, score }) => [key, score])).toEqual([
      ["b", undefined],
      ["a", undefined],
    ]);
  });

  it("words are found where a namespace has them, and both together", async () => {
    const place = inject("servers")[engine];
    const options = { url: place.url, apiKey: await newKey(place) };
    const store = new ThreadkeepStore({ ...options, index: INDEX });
    const refused = store.search(["n"], { query: "tea", mode: "text" });
    await expect(refused).rejects.toMatchObject({ name: "InvalidError", field: "mode" });
    const answer = await fetch(`${place.url}/v1/store/settings/put`, {
      method: "POST",
      headers: { authorization: `Bearer ${options.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ namespace: ["n"], text_fields: ["text"] }),
    });
    expect(answer.status).toBe(200);
    await store.put(["n"], "tea", { text: "Green tea, black TEA" });
    await store.put(["n"], "coffee", { text: "coffee", other: "tea" });
    await store.put(["n"], "cat", { text: "a cat at tea", other: 1 }, false);
    const plain = new ThreadkeepStore(options);
    const found = await plain.search(["n"], { query: "tea", mode: "text" });
    expect(keysOf(found)).toEqual(["tea", "cat"]);
    for (const { score } of found) expect(score).toBeGreaterThan(0);
    const one = { query: "tea", mode: "text", filter: { other: 1 } } as const;
    expect(keysOf(await plain.search(["n"], one))).toEqual(["cat"]);
    const both = await store.search(["n"], { query: "coffee", mode: "hybrid" });
    expect(both[0]?.key).toBe("coffee");
    expect(keysOf(both)).toContain("tea");
    const near = await store.search(["n"], { query: "coffee", mode: "vector" });
    expect(near.map(({ key }) => key)).toEqual(["coffee", "tea", "cat"]);
  });
});
