/** Embeddings without a model: a text is the sum of its words, each a direction that its name gives. Texts with more words in common are nearer. */

import { createHash } from "node:crypto";
import { Embeddings } from "@langchain/core/embeddings";

export const DIMS = 24;

export class HashEmbeddings extends Embeddings {
  constructor() {
    super({});
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    return texts.map(vectorOf);
  }

  override async embedQuery(text: string): Promise<number[]> {
    return vectorOf(text);
  }
}

function vectorOf(text: string): number[] {
  const sum = new Array<number>(DIMS).fill(1 / 64);
  for (const word of text.split(/\s+/)) {
    const digest = createHash("sha256").update(word).digest();
    for (let at = 0; at < DIMS; at += 1)
      sum[at] = (sum[at] ?? 0) + ((digest[at] ?? 0) - 127.5) / 128;
  }
  return sum;
}
