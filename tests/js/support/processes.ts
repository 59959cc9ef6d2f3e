/** Programs of the tests that are killed when they have said what they have to say. */

import { spawn } from "node:child_process";
import { cleanEnvironment } from "./settings.js";

export interface Said {
  // biome-ignore lint/suspicious/noExplicitAny: what a program prints as JSON
  said: any;
  stderr: string;
  signal: string | null;
}

/** Runs a program until its end. What it says is empty where it failed before. */
export function run(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<Said> {
  return new Promise((resolve) => {
    const running = spawn(process.execPath, [program, ...args], {
      env: { ...cleanEnvironment(), ...env } as NodeJS.ProcessEnv,
    });
    let [stdout, stderr] = ["", ""];
    running.stdout.on("data", (part) => {
      stdout += part;
    });
    running.stderr.on("data", (part) => {
      stderr += part;
    });
    running.on("close", (_, signal) => {
      resolve({ said: JSON.parse(stdout || "{}"), stderr, signal });
    });
  });
}
