/** Stores of sessions of the package under test, each as a tenant that nothing has used. */

import { ThreadkeepAgentrailStore } from "threadkeep/agentrail";
import { ThreadkeepSessionStore, type ThreadkeepSessionStoreOptions } from "threadkeep/claude";
import { inject } from "vitest";
import { newKey } from "./server.js";
import type { Engine } from "./servers.js";

/** Makes a tenant with a key. Returns the server's address and the key. */
export async function newTenant(engine: Engine): Promise<{ url: string; apiKey: string }> {
  const place = inject("servers")[engine];
  return { url: place.url, apiKey: await newKey(place) };
}

export async function newSessionStore(
  engine: Engine,
  options: ThreadkeepSessionStoreOptions = {},
): Promise<ThreadkeepSessionStore> {
  return new ThreadkeepSessionStore({ ...(await newTenant(engine)), ...options });
}

export async function newAgentrailStore(engine: Engine): Promise<ThreadkeepAgentrailStore> {
  return new ThreadkeepAgentrailStore(await newTenant(engine));
}
