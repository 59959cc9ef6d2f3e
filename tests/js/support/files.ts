/** Backends of the package under test, each as a tenant that nothing has used. */

import { ThreadkeepBackend, type ThreadkeepBackendOptions } from "threadkeep/deepagents";
import { inject } from "vitest";
import { newKey } from "./server.js";
import type { Engine } from "./servers.js";

export const NAMESPACE = ["ann", "filesystem"];

export interface Access {
  url: string;
  apiKey: string;
}

export async function newAccess(engine: Engine): Promise<Access> {
  const place = inject("servers")[engine];
  return { url: place.url, apiKey: await newKey(place) };
}

export function backendOf(
  access: Access,
  options: Partial<ThreadkeepBackendOptions> = {},
): ThreadkeepBackend {
  return new ThreadkeepBackend({ ...access, namespace: NAMESPACE, ...options });
}
