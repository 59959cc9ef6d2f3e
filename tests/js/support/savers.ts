/** Savers of the package under test, each as a tenant that nothing has used. */

import { ThreadkeepSaver, type ThreadkeepSaverOptions } from "threadkeep/langgraph";
import { inject } from "vitest";
import { newKey } from "./server.js";
import type { Engine } from "./servers.js";

export async function newSaver(
  engine: Engine,
  options: ThreadkeepSaverOptions = {},
): Promise<ThreadkeepSaver> {
  const place = inject("servers")[engine];
  return new ThreadkeepSaver({ url: place.url, apiKey: await newKey(place), ...options });
}
