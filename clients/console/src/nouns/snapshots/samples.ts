/** Code that restores a snapshot and that downloads its archive. */

import { SERVER_URL } from "../../api/server.js";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { pythonLiteral, scriptLiteral, shellWord } from "../../content/literals.js";
import type { Samples } from "../../parts/code.js";

const ARCHIVE_FILE = "workspace.tar";

/** Says what a restore in place would change. */
export function restoreSamples(snapshotId: string): Samples {
  return samplesOf(
    {
      method: "POST",
      path: "/v1/snapshots/restore",
      body: { snapshot_id: snapshotId, dry_run: true },
    },
    {
      typescript: methodText("snapshots.restore", snapshotId, { dryRun: true }),
      python: pythonMethodText("snapshots.restore", [snapshotId], { dry_run: true }),
    },
  );
}

export function archiveSamples(snapshotId: string, server = SERVER_URL): Samples {
  const query = new URLSearchParams({ snapshot_id: snapshotId });
  return {
    Python: [
      "from threadkeep import Client",
      "",
      `with Client(${pythonLiteral(server)}) as client:`,
      `    client.snapshots.get_archive(${pythonLiteral(snapshotId)}, "${ARCHIVE_FILE}")`,
    ].join("\n"),
    TypeScript: [
      'import { writeFile } from "node:fs/promises";',
      'import { Client } from "threadkeep";',
      "",
      `const client = new Client({ url: ${scriptLiteral(server)} });`,
      `await writeFile("${ARCHIVE_FILE}", await client.snapshots.getArchive(${scriptLiteral(snapshotId)}));`,
    ].join("\n"),
    curl: [
      `curl ${shellWord(`${server}/v1/snapshots/archive?${query}`)}`,
      '  -H "Authorization: Bearer $THREADKEEP_API_KEY"',
      `  -o ${ARCHIVE_FILE}`,
    ].join(" \\\n"),
  };
}
