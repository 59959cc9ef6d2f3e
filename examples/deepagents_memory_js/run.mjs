/**
 * Runs the two processes of agent.mjs one after the other: against the server that THREADKEEP_URL names, else against a fresh
 * one with its own temporary folder.
 *
 *     node run.mjs [--binary target/release/threadkeep]
 */

import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const AGENT = fileURLToPath(new URL("agent.mjs", import.meta.url));
const { values } = parseArgs({
  options: { binary: { type: "string", default: "target/release/threadkeep" } },
});

/** The address of a new server on a free port, and how to end it; its data goes away with it. */
async function freshServer(binary) {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-demo-"));
  const options = ["serve", "--listen", "127.0.0.1:0", "--data-dir", join(folder, "data")];
  const server = spawn(binary, options, { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((done) => server.once("exit", done));
  const stop = async () => {
    server.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for await (const line of createInterface({ input: server.stdout })) {
    if (line.startsWith("listening on ")) return { url: line.split(" ").at(-1), stop };
  }
  throw new Error(`${binary} did not start`);
}

function runAgent(part, threadId, url) {
  const env = { ...process.env, THREADKEEP_URL: url };
  return spawnSync(process.execPath, [AGENT, part, threadId], { env, stdio: "inherit" });
}

const given = process.env.THREADKEEP_URL;
const { url, stop } = given ? { url: given, stop() {} } : await freshServer(resolve(values.binary));
try {
  const threadId = randomUUID();
  const { signal, status } = runAgent("tell", threadId, url);
  if (signal === "SIGKILL") {
    console.log("process A is gone, by SIGKILL");
    process.exitCode = runAgent("ask", threadId, url).status ?? 1;
  } else {
    console.error(`process A should have been killed, but ended with ${status}`);
    process.exitCode = 1;
  }
} finally {
  await stop();
}
