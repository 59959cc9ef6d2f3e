/** One server per engine for all suites, started before the first and ended after the last. */

import type { TestProject } from "vitest/node";
import { Postgres } from "./postgres.js";
import { type Place, Server } from "./server.js";

declare module "vitest" {
  interface ProvidedContext {
    servers: Record<Engine, Place>;
    postgresFolder: string;
  }
}

export type Engine = "sqlite" | "postgres";
export const ENGINES: Engine[] = ["sqlite", "postgres"];

export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await new Postgres().start();
  const sqlite = await new Server().start();
  const onPostgres = await new Server(postgres.url(await postgres.create())).start();
  project.provide("servers", { sqlite: sqlite.place, postgres: onPostgres.place });
  project.provide("postgresFolder", postgres.folder);
  return async () => {
    await sqlite.remove();
    await onPostgres.remove();
    await postgres.remove();
  };
}
