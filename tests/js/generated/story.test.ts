/** Types that openapi-typescript makes from the served document: the compiler takes them, and a whole story is told with them. */

import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, describe, expect, inject, it } from "vitest";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { cleanEnvironment, ROOT } from "../support/settings.js";

const EXAMPLE = `${ROOT}examples/generated_typescript/`;
const TOLD = [
  "thread: 2 checkpoints, the last one says Norway",
  "store: 2 items, found by filter; a stale put is refused",
  "files: 260 bytes up and down, one edit",
  "snapshots: taken, listed, restored beside and in place; the thread says Norway again",
  "refusals: not granted, invalid, unauthorized",
  "done",
];

const folder = mkdtempSync(`${ROOT}target/generated-`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs in the folder; what it prints. */
async function run(environment: Record<string, string>, ...command: string[]): Promise<string> {
  const env = { ...cleanEnvironment(), ...environment } as NodeJS.ProcessEnv;
  const done = await promisify(execFile)(process.execPath, command, { cwd: folder, env });
  expect(done.stderr).toBe("");
  return done.stdout;
}

describe.each(ENGINES)("on %s", (engine) => {
  it("a story is told with the generated types, and the compiler agrees", async () => {
    const place = inject("servers")[engine];
    const environment = { THREADKEEP_URL: place.url, THREADKEEP_API_KEY: await newKey(place) };
    for (const file of ["story.ts", "tsconfig.json", "generate.mjs"]) {
      copyFileSync(`${EXAMPLE}${file}`, `${folder}/${file}`);
    }
    expect(await run(environment, "generate.mjs", ".")).toBe("");
    expect(await run(environment, `${ROOT}node_modules/typescript/bin/tsc`, "-p", ".")).toBe("");
    const told = await run(environment, "--import", "tsx", "story.ts");
    expect(told.trim().split("\n")).toEqual(TOLD);
  });
});
