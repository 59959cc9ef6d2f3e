/** The setting `index`: what is embedded, what travels, and what is refused. */

import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { beforeEach, describe, expect, it } from "vitest";
import { InvalidError } from "../src/index.js";
import { EMBED_ON_SERVER, type StoreIndexConfig, ThreadkeepStore } from "../src/langgraph/index.js";
import { FakeServer } from "./fake_server.js";

const BATCH = "/v1/store/batch";
const DIMS = 2;

/** The length of the text, and 1. */
class Counted {
  readonly calls: string[][] = [];
  readonly queries: string[] = [];
  vector: (text: string) => unknown = (text) => [text.length, 1];

  async embedDocuments(texts: string[]): Promise<number[][]> {
    this.calls.push(texts);
    if (texts.includes("poison")) throw new Error("the model says no");
    return texts.map((text) => this.vector(text) as number[]);
  }

  async embedQuery(text: string): Promise<number[]> {
    this.queries.push(text);
    if (text === "poison") throw new Error("the model says no");
    return this.vector(text) as number[];
  }
}

let server: FakeServer;
let embeddings: Counted;

beforeEach(() => {
  server = new FakeServer();
  embeddings = new Counted();
  server.answers.set(BATCH, (body) => {
    const ops = body["ops"] as Record<string, unknown>[];
    return { results: ops.map((op) => ("search" in op ? { items: [] } : { version: 1 })) };
  });
});

function storeWith(index: StoreIndexConfig | undefined): ThreadkeepStore {
  return new ThreadkeepStore({ url: "http://s", apiKey: "tk_a", fetch: server.fetch, index });
}
const indexed = (more: Partial<StoreIndexConfig> = {}) =>
  storeWith({ dims: DIMS, embeddings, fields: ["text"], ...more } as StoreIndexConfig);
const ops = () => server.seen.flatMap(({ body }) => body["ops"] as Record<string, object>[]);
const floats = (...numbers: number[]) => new Uint8Array(new Float32Array(numbers).buffer);
const PLAIN = { prefix: [], limit: 10, offset: 0, refresh_ttl: true };

describe("what travels", () => {
  it("are the vectors of the fields, with the name of the model", async () => {
    const store = indexed();
    await store.put(["n"], "k", { text: "tea" });
    await store.put(["n"], "list", { parts: [{ a: "b" }, { a: 7 }, {}] }, ["parts[*].a"]);
    await store.put(["n"], "none", { text: "tea" }, false);
    await store.put(["n"], "no text", { other: 1 });
    await store.delete(["n"], "k");
    const vectors = ops().map(({ put }) => put && Reflect.get(put, "vectors"));
    expect(vectors).toEqual([
      [{ field: "text", vector: floats(3, 1) }],
      [
        { field: "parts[*].a.0", vector: floats(1, 1) },
        { field: "parts[*].a.1", vector: floats(1, 1) },
      ],
      undefined,
      undefined,
      undefined,
    ]);
    expect(ops()[0]).toMatchObject({ put: { model: `default-${DIMS}` } });
    expect(ops()[2]?.["put"]).not.toHaveProperty("model");
    expect(embeddings.calls).toEqual([["tea"], ["b", "7"]]);
  });

  it("is the query's vector, and its words where they count", async () => {
    const store = indexed({ distanceMetric: "l2", model: "m" });
    await store.search([], { query: "tea" });
    await store.search([], { query: "tea", mode: "vector" });
    await store.search([], { query: "tea", mode: "hybrid" });
    await store.search([], { query: "tea", mode: "text" });
    await store.search([], { query: "" });
    const near = { query_vector: floats(3, 1), model: "m", metric: "l2" };
    expect(ops().map(({ search }) => search)).toEqual([
      { ...PLAIN, ...near },
      { ...PLAIN, ...near, mode: "vector" },
      { ...PLAIN, ...near, mode: "hybrid", query: "tea" },
      { ...PLAIN, mode: "text", query: "tea" },
      PLAIN,
    ]);
    expect(embeddings.queries).toEqual(["tea", "tea", "tea"]);
  });

  it("are paths and queries where the server makes the vectors", async () => {
    const store = storeWith({ embeddings: EMBED_ON_SERVER, fields: ["text"] });
    await store.put(["n"], "k", { text: "tea" });
    await store.put(["n"], "own", { text: "tea" }, ["other"]);
    await store.put(["n"], "none", { text: "tea" }, false);
    await store.search([], { query: "tea" });
    await store.search([], { query: "tea", mode: "hybrid" });
    const [first, own, none, search, hybrid] = ops();
    expect([first, own, none].map((op) => Reflect.get(op?.["put"] ?? {}, "index"))).toEqual([
      ["text"],
      ["other"],
      undefined,
    ]);
    expect(search).toEqual({ search: { ...PLAIN, query: "tea", metric: "cosine" } });
    expect(hybrid).toEqual({
      search: { ...PLAIN, query: "tea", mode: "hybrid", metric: "cosine" },
    });
  });

  it("is nothing of it without the setting", async () => {
    const store = storeWith(undefined);
    await store.put(["n"], "k", { text: "tea" }, ["text"]);
    await store.search([], { query: "tea" });
    expect(ops()[0]?.["put"]).not.toHaveProperty("index");
    expect(ops()[0]?.["put"]).not.toHaveProperty("vectors");
    expect(ops()[1]).toEqual({ search: PLAIN });
    for (const mode of ["vector", "hybrid"] as const) {
      await expect(store.search([], { query: "tea", mode })).rejects.toMatchObject({
        name: InvalidError.name,
        field: "mode",
      });
    }
  });

  it("has scores on the way back", async () => {
    const item = { namespace: ["n"], version: 5, size_bytes: 2, value: new Uint8Array([123, 125]) };
    const times = { created_at: "2026-01-31T12:00:00Z", updated_at: "2026-01-31T13:00:00Z" };
    server.answers.set(BATCH, () => ({
      results: [
        {
          items: [
            { ...item, ...times, key: "a", score: 0.5 },
            { ...item, ...times, key: "b" },
          ],
        },
      ],
    }));
    const found = await indexed().search([], { query: "tea" });
    expect(found.map(({ key, score }) => [key, score])).toEqual([
      ["a", 0.5],
      ["b", undefined],
    ]);
  });

  it("asks on with the same vector where an answer ended at its limits", async () => {
    const item = {
      key: "k",
      namespace: ["n"],
      version: 5,
      size_bytes: 2,
      value: new Uint8Array([123, 125]),
    };
    const times = { created_at: "2026-01-31T12:00:00Z", updated_at: "2026-01-31T13:00:00Z" };
    server.answers.set(BATCH, (body) => {
      const [op] = body["ops"] as { search: { cursor?: string } }[];
      const page = { items: [{ ...item, ...times, score: 1 }] };
      return { results: [op?.search.cursor ? page : { ...page, next_cursor: "c" }] };
    });
    expect(await indexed().search([], { query: "tea" })).toHaveLength(2);
    expect(ops()[1]?.["search"]).toMatchObject({ cursor: "c", query_vector: floats(3, 1) });
    expect(embeddings.queries).toEqual(["tea"]);
  });
});

describe("embeddings are asked", () => {
  it("once for the texts of a batch, each text and each query once", async () => {
    const puts = [0, 1, 2].map((at) => ({
      namespace: ["n"],
      key: `k${at}`,
      value: { text: `tea ${at}`, more: "the same" },
    }));
    const search = { namespacePrefix: [], query: "tea" };
    const store = indexed({ fields: ["text", "more"] });
    await store.batch([...puts, search, { ...search, limit: 3 }, { namespace: ["n"], key: "k" }]);
    expect(embeddings.calls).toEqual([["tea 0", "the same", "tea 1", "tea 2"]]);
    expect(embeddings.queries).toEqual(["tea"]);
    await store.batch([{ namespace: ["n"], key: "k" }, { namespacePrefix: [] }]);
    expect(embeddings.calls).toHaveLength(1);
  });

  it("once for the calls of a turn, and a failure is that of its own call", async () => {
    const store = indexed();
    await Promise.all(["a", "b"].map((text) => store.put(["n"], text, { text })));
    expect(embeddings.calls).toEqual([["a", "b"]]);
    const outcomes = await Promise.allSettled([
      store.put(["n"], "good", { text: "fine" }),
      store.put(["n"], "bad", { text: "poison" }),
      store.search([], { query: "poison" }),
      store.search([], { query: "fine" }),
      store.get(["n"], "k"),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    expect(outcomes[1]).toMatchObject({ reason: { message: "the model says no" } });
    expect(server.seen).toHaveLength(2);
    expect(JSON.stringify(server.seen[1]?.body)).not.toContain("bad");
  });

  it("once where only one needs them, and nothing is sent when they fail", async () => {
    const store = indexed();
    await expect(store.put(["n"], "bad", { text: "poison" })).rejects.toThrow("says no");
    expect(embeddings.calls).toHaveLength(1);
    const put = { namespace: ["n"], key: "good", value: { text: "fine" } };
    const bad = { namespace: ["n"], key: "bad", value: { text: "poison" } };
    await expect(store.batch([put, bad])).rejects.toThrow("says no");
    expect(server.seen).toEqual([]);
  });

  it("for the texts that the reference embeds", async () => {
    const value = {
      title: "tea",
      parts: [{ text: "cat" }, { text: "dog" }, {}],
      number: 7,
      nothing: null,
      deep: { a: { b: "runs" }, c: [1, 2.5, true] },
    };
    const paths = ["$", "", "*", "$.title", "title", "title.", "parts[*].text", "parts[-2].text"];
    paths.push("number", "nothing", "{title, number}", "{deep.a,absent}", "deep.*", "deep.c[0]");
    paths.push("deep.c[-4]", "parts[9].text", "parts[x]", "title[0]", "absent", "number.more");
    for (const path of paths) {
      embeddings.calls.length = 0;
      await indexed({ fields: [path] }).put(["n"], "k", value);
      const theirs = new Counted();
      const index = { dims: DIMS, embeddings: theirs as never, fields: [path] };
      await new InMemoryStore({ index }).put(["n"], "k", value);
      // It asks for texts that look like numbers first.
      expect(embeddings.calls.flat().sort(), path).toEqual(theirs.calls.flat().sort());
    }
  });

  it("also for values that are no plain JSON", async () => {
    const value = { text: [2n ** 70n, new Date(0), new Uint8Array([1])] };
    await indexed().put(["n"], "k", value);
    expect(embeddings.calls[0]?.[0]).toContain("1970-01-01T00:00:00.000Z");
  });
});

describe("refused, with the field,", () => {
  it.each([
    ["too few numbers", [1], "index.dims"],
    ["too many numbers", [1, 2, 3], "index.dims"],
    ["none", [], "index.dims"],
    ["NaN", [1, Number.NaN], "index.embeddings"],
    ["infinity", [1, Number.POSITIVE_INFINITY], "index.embeddings"],
    ["what 32 bits do not hold", [1, 1e300], "index.embeddings"],
    ["texts", ["1", "2"], "index.embeddings"],
    ["no vector", undefined, "index.embeddings"],
  ])("are vectors with %s", async (_, vector, field) => {
    embeddings.vector = () => vector;
    const store = indexed();
    const error = { name: InvalidError.name, field };
    await expect(store.put(["n"], "k", { text: "tea" })).rejects.toMatchObject(error);
    await expect(store.search([], { query: "tea" })).rejects.toMatchObject(error);
    const put = { namespace: ["n"], key: "k", value: { text: "tea" } };
    await expect(store.batch([put, { ...put, key: "l" }])).rejects.toMatchObject(error);
    expect(server.seen).toEqual([]);
  });

  it("is another number of vectors than of texts", async () => {
    embeddings.embedDocuments = async () => [];
    await expect(indexed().put(["n"], "k", { text: "tea" })).rejects.toThrow("0 vectors for 1");
  });

  it.each([
    [{ dims: 0 }, "index.dims"],
    [{ dims: 1.5 }, "index.dims"],
    [{ embeddings: undefined }, "index.embeddings"],
    [{ embeddings: "openai:small" }, "index.embeddings"],
    [{ fields: "text" }, "index.fields"],
    [{ fields: [1] }, "index.fields"],
    [{ distanceMetric: "hamming" }, "index.distanceMetric"],
    [{ model: "a b" }, "index.model"],
    [{ model: "" }, "index.model"],
    [{ embeddings: EMBED_ON_SERVER, model: "m" }, "index.model"],
    [{ embed: () => [] }, "index"],
  ])("is the setting %j", (wrong, field) => {
    expect(() => indexed(wrong as never)).toThrow(expect.objectContaining({ field }));
  });

  it("are wrong arguments of calls", async () => {
    const store = indexed();
    for (const index of [true, "text", [1]]) {
      const put = store.put(["n"], "k", {}, index as never);
      await expect(put).rejects.toMatchObject({ name: InvalidError.name, field: "index" });
    }
    const wrong: [object, string][] = [
      [{ mode: "words", query: "tea" }, "mode"],
      [{ mode: "text" }, "query"],
      [{ mode: "hybrid", query: "" }, "query"],
    ];
    for (const [options, field] of wrong) {
      await expect(store.search([], options)).rejects.toMatchObject({ field });
    }
  });
});

it("models have the names of their embeddings", async () => {
  const named = Object.assign(embeddings, { model: "a model" });
  await storeWith({ dims: DIMS, embeddings: named }).put(["n"], "k", { a: 1 });
  expect(ops()[0]).toMatchObject({ put: { model: "a-model" } });
});
