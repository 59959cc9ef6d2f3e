/**
 * Writes the table of operations and permissions, which `openapi/openapi.json` declares as `x-permission`:
 *
 *     node clients/console/scripts/permissions.mjs
 */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const DOCUMENT = fileURLToPath(new URL("../../../openapi/openapi.json", import.meta.url));
const TABLE = fileURLToPath(new URL("../src/api/permissions.ts", import.meta.url));
/** The console calls none of these: they are for the clients of another server. */
const FOREIGN = "agent_server_";

/** Pairs of an operation and its permission, null where it needs none, in the order of their names. */
export function declaredPermissions() {
  const { paths } = JSON.parse(readFileSync(DOCUMENT, "utf8"));
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  return operations
    .filter(({ operationId }) => operationId !== undefined && !operationId.startsWith(FOREIGN))
    .map((operation) => [operation.operationId, operation["x-permission"] ?? null])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The text of `src/api/permissions.ts`. */
export function permissionsSource() {
  const lines = declaredPermissions().map(
    ([name, needs]) => `  ${name}: ${JSON.stringify(needs)},`,
  );
  return [
    "/** Lists the permission that each operation of the API needs. `scripts/permissions.mjs` makes this file from the API document. */",
    "",
    "export const PERMISSIONS = {",
    ...lines,
    "} as const;",
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(TABLE, permissionsSource());
}
