/** The example of two processes, run as a reader would run it. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, inject, it } from "vitest";
import { newKey } from "../support/server.js";
import { BINARY, cleanEnvironment, ROOT } from "../support/settings.js";

const REMEMBERED = [
  "process A answers: ACKNOWLEDGED",
  "process A is gone, by SIGKILL",
  "process B answers: AURORA-42",
  "process B still has /notes.md: The deployment window is Tuesday.",
];

/** The lines that the example prints. It finds no server but the one it is told of. */
async function runDemo(environment: Record<string, string> = {}): Promise<string[]> {
  const options = [`${ROOT}examples/deepagents_memory_js/run.mjs`, "--binary", BINARY];
  const { stdout } = await promisify(execFile)(process.execPath, options, {
    env: { ...cleanEnvironment(), ...environment } as NodeJS.ProcessEnv,
  });
  return stdout.trim().split("\n");
}

it("an agent killed after its last step is remembered by the next", async () => {
  const place = inject("servers").postgres;
  const key = await newKey(place);
  expect(await runDemo({ THREADKEEP_URL: place.url, THREADKEEP_API_KEY: key })).toEqual(REMEMBERED);
});

it("the demo starts a fresh server when it is told of none", async () => {
  expect(await runDemo()).toEqual(REMEMBERED);
});
