/** Vectors that the server makes, with an endpoint on this machine that answers as OpenAI's. */

import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { EMBED_ON_SERVER, ThreadkeepStore } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DIMS, HashEmbeddings } from "../support/hash_embedding.js";
import { newKey, Server } from "../support/server.js";
import { newStore } from "../support/stores.js";
import { waitUntil } from "../support/waiting.js";

let endpoint: HttpServer;
let server: Server;

beforeAll(async () => {
  endpoint = createServer(async (request, response) => {
    const { input, model } = (await json(request)) as { input: string[]; model: string };
    const vectors = await new HashEmbeddings().embedDocuments(input);
    const data = vectors.map((embedding, index) => ({ index, object: "embedding", embedding }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", model, data }));
  });
  endpoint.listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
  const options = ["--embeddings-url", url, "--embeddings-model", "hash"];
  options.push("--embeddings-dims", String(DIMS));
  server = await new Server(undefined, options).start();
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
