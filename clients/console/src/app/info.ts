/** Reads the version, the database and the features of the server. */

import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/context.js";

const ENGINES = new Map([
  ["postgres", "PostgreSQL"],
  ["sqlite", "SQLite"],
]);

export function useInfo() {
  const { client } = useApi();
  return useQuery({
    queryKey: ["info"],
    queryFn: () => client.info(),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Returns the name of a database as people write it. */
export function engineName(engine: string | undefined): string {
  return engine === undefined ? "–" : (ENGINES.get(engine) ?? engine);
}
