/** Every size and place of the JavaScript suites: variable, default, meaning. Read nowhere else. */

import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** The program under test. */
export const BINARY = process.env["THREADKEEP_BIN"] ?? `${ROOT}target/debug/threadkeep`;
/** Folder with initdb and postgres (tests/setup/postgres.sh prints it). */
export const PG_BIN = process.env["THREADKEEP_TEST_PG_BIN"] ?? "";
/** Folder with the public sources of front ends, each in a folder of its own name; unset, they are not tried. */
export const UI_SOURCES = process.env["THREADKEEP_UI_SOURCES"];
/** Folder where `make screenshots` wants the pictures of the console; unset, they are made and thrown away. */
export const PICTURES = process.env["THREADKEEP_TEST_PICTURES"];
/** The longest wait for an event that must happen. It is no measure of speed. */
export const PATIENCE_MS = Number(process.env["THREADKEEP_TEST_PATIENCE_SECONDS"] ?? 60) * 1000;
/** Agents that work while a server restarts, and how long it is away. `make soak` has it away for ten seconds. */
export const AGENTS = Number(process.env["THREADKEEP_TEST_RESTART_AGENTS"] ?? 16);
export const RESTART_MS = Number(process.env["THREADKEEP_TEST_RESTART_SECONDS"] ?? 3) * 1000;
/** Tasks that call each other: how deep. `make soak` runs 1,000. */
export const NESTED_TASKS = Number(process.env["THREADKEEP_TEST_NESTED_TASKS"] ?? 150);
/** A value that fits into no body, in mebibytes. `make soak` has one of 200. */
export const LARGE_VALUE_MIB = Number(process.env["THREADKEEP_TEST_LARGE_VALUE_MIB"] ?? 80);
/** Rows of long lists in the console. `make soak` has 100,000 threads, 10,000 steps of a thread, 50,000 files and 10,000 items. */
export const LIST_ROWS = {
  threads: Number(process.env["THREADKEEP_TEST_LIST_THREADS"] ?? 5_000),
  steps: Number(process.env["THREADKEEP_TEST_LIST_STEPS"] ?? 1_200),
  files: Number(process.env["THREADKEEP_TEST_LIST_FILES"] ?? 5_000),
  items: Number(process.env["THREADKEEP_TEST_LIST_ITEMS"] ?? 1_000),
};
/** The same random operations in every run, so that a change alone can turn a test red. At 0 others each time. */
export const DERANDOMIZED = (process.env["THREADKEEP_TEST_DERANDOMIZED"] ?? "1") === "1";
/** Name and version of each peer that this run is meant to try, as JSON; unset, those of the lock file. */
export const PEERS = process.env["THREADKEEP_TEST_PEERS"];

/** The caller's environment without any setting of threadkeep: only what a test says counts. */
export function cleanEnvironment(): Record<string, string | undefined> {
  const mine = Object.entries(process.env).filter(([name]) => !name.startsWith("THREADKEEP_"));
  return Object.fromEntries(mine);
}
