/** Stores of the package under test, each as a tenant that nothing has used, and what a store shows. */

import type { Item } from "@langchain/langgraph-checkpoint";
import { ThreadkeepStore, type ThreadkeepStoreOptions } from "threadkeep/langgraph";
import { inject } from "vitest";
import { newKey } from "./server.js";
import type { Engine } from "./servers.js";

export async function newStore(
  engine: Engine,
  options: ThreadkeepStoreOptions = {},
): Promise<ThreadkeepStore> {
  const place = inject("servers")[engine];
  return new ThreadkeepStore({ url: place.url, apiKey: await newKey(place), ...options });
}

/** An item without its times and what only our server knows. */
export function bare(item: Item | null): unknown {
  return item && { namespace: item.namespace, key: item.key, value: item.value };
}

export function keysOf(items: readonly Item[]): string[] {
  return items.map((item) => item.key);
}
