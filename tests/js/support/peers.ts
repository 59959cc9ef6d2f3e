/** Finds the peers that an import resolves to, and their versions. */

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A folder of the suites. */
export const HERE = dirname(fileURLToPath(import.meta.url));

/** The folder that an import of the package finds from a file in `folder`. */
export function packageFolder(name: string, folder: string): string {
  const modules = createRequire(join(folder, "any.js")).resolve.paths(name) ?? [];
  const place = modules.find((it) => existsSync(join(it, name, "package.json")));
  if (place === undefined) throw new Error(`${name} is not installed where ${folder} looks`);
  return realpathSync(join(place, name));
}

/** The version that the suites import. */
export function versionOf(name: string): string {
  const manifest = join(packageFolder(name, HERE), "package.json");
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}

/** Whether the suites import this version of a package or a later one. `release` is `major.minor`. */
export function isAtLeast(name: string, release: string): boolean {
  const [major = 0, minor = 0] = versionOf(name).split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = release.split(".").map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
