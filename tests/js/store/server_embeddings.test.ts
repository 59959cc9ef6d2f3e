/** Vectors that the server makes, with an endpoint on this machine that answers as OpenAI's. */

import { EMBED_ON_SERVER, ThreadkeepStore } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EmbeddingsEndpoint, openEmbeddings } from "../support/embeddings_endpoint.js";
import { newKey, Server } from "../support/server.js";
import { newStore } from "../support/stores.js";
import { waitUntil } from "../support/waiting.js";

let endpoint: EmbeddingsEndpoint;
let server: Server;

beforeAll(async () => {
  endpoint = await openEmbeddings();
  server = await new Server(undefined, endpoint.options).start();
});
afterAll(async () => {
  await server.remove();
  endpoint.close();
});

it("puts are found by what they mean", async () => {
  const options = { url: server.url, apiKey: await newKey(server.place) };
  const store = new ThreadkeepStore({
    ...options,
    index: { embeddings: EMBED_ON_SERVER, fields: ["text"] },
  });
  const scored = async (query: string) => {
    const found = await store.search([], { query });
    return found.map(({ key, score }) => [key, score !== undefined]);
  };
  await store.put(["n"], "none", { text: "green tea" }, false);
  await store.put(["n"], "cat", { text: "a cat sleeps", more: "coffee" });
  await store.put(["n"], "own", { text: "a cat sleeps", more: "green tea" }, ["more"]);
  await waitUntil(
    async () => (await scored("tea")).filter(([, isScored]) => isScored).length === 2,
    "vectors of two items",
  );
  const found = await store.search(["n"], { query: "green tea" });
  expect(found.map(({ key }) => key)).toEqual(["own", "cat", "none"]);
  expect(found[0]?.score).toBeCloseTo(1, 5);
  expect(found[2]?.score).toBeUndefined();
});

it("a server without an endpoint says so", async () => {
  const store = await newStore("sqlite", { index: { embeddings: EMBED_ON_SERVER } });
  await expect(store.search([], { query: "tea" })).rejects.toMatchObject({ field: "query" });
});
