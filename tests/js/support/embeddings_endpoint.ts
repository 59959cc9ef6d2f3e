/** An endpoint on this machine that makes vectors of texts, and answers as OpenAI's does. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { DIMS, HashEmbeddings } from "./hash_embedding.js";

export interface EmbeddingsEndpoint {
  /** Arguments of a server that uses it. */
  options: string[];
  close: () => void;
}

export async function openEmbeddings(): Promise<EmbeddingsEndpoint> {
  const endpoint = createServer(async (request, response) => {
    const { input, model } = (await json(request)) as { input: string[]; model: string };
    const vectors = await new HashEmbeddings().embedDocuments(input);
    const data = vectors.map((embedding, index) => ({ index, object: "embedding", embedding }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", model, data }));
  });
  endpoint.listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
  const named = ["--embeddings-model", "hash", "--embeddings-dims", String(DIMS)];
  return { options: ["--embeddings-url", url, ...named], close: () => endpoint.close() };
}
