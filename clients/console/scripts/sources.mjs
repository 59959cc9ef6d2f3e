/** The digest of everything that `dist` is made of. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const FOLDERS = ["clients/console/src", "clients/js/src"];
const FILES = [
  "clients/console/index.html",
  "clients/console/package.json",
  "clients/console/vite.config.ts",
  "package-lock.json",
];

/** SHA-256 of the lines `<sha256>  <path>` of all sources, in the order of the bytes of their paths. */
export function sourcesDigest() {
  const listed = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length)),
  );
  const paths = [...listed, ...FILES].map((path) => path.replaceAll("\\", "/"));
  const lines = paths
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map((path) => `${sha256(readFileSync(join(ROOT, path)))}  ${path}\n`);
  return sha256(lines.join(""));
}

function sha256(data) {
  return createHash("sha256").update(data).digest("hex");
}
