/** An empty project with the package in it, as npm would publish it. */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../support/settings.js";

export const run = promisify(execFile);

/** A new folder with a package.json of this type, the packed package, and what npm would fetch beside it. */
export async function installPacked(type: "module" | "commonjs"): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "tk-packed-"));
  const modules = join(folder, "node_modules");
  const installed = join(modules, "threadkeep");
  const options = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const { stdout } = await run("npm", [...options, `${ROOT}clients/js`]);
  const [{ filename }] = JSON.parse(stdout);
  mkdirSync(installed, { recursive: true });
  await run("tar", ["-xzf", join(folder, filename), "--strip-components=1", "-C", installed]);
  for (const name of ["@msgpack", "@noble", "@langchain", "@types", "deepagents"])
    symlinkSync(`${ROOT}node_modules/${name}`, join(modules, name));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type }));
  return folder;
}
