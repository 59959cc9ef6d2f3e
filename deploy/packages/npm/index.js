// The threadkeep server as one program, and servers for tests: `await using server = await start()`, then `server.url`.

import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const START_MILLISECONDS_MAX = 60_000;
const LISTENING = "listening on ";
// The shell ends the server when its standard input ends, which happens however this process ends. It closes its standard
// output, so that this ends with the server.
const UNTIL_INPUT_ENDS =
  '"$@" </dev/null & exec >&-; read -r line; kill "$!" 2>/dev/null; wait "$!"';

/** The path of the program for this platform. */
export function program() {
  const name = `threadkeep-server-${process.platform}-${process.arch}`;
  try {
    const found = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(found), "bin", "threadkeep");
  } catch {
    throw new Error(
      `the package ${name} is not installed: threadkeep has no program for this platform, or npm left optional packages out`,
    );
  }
}

/**
 * Runs a server on a free port of this machine, with an embedded database in a temporary folder. It ends with `stop()`, or with this
 * process. Settings of threadkeep in the environment of this process do not count.
 */
export async function start({ options = [], env = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "threadkeep-"));
  const dataDir = join(folder, "data");
  const logFile = join(folder, "log");
  const log = openSync(logFile, "w");
  const command = [
    program(),
    "serve",
    "--listen",
    "127.0.0.1:0",
    "--data-dir",
    dataDir,
    ...options,
  ];
  // A session of its own: Ctrl-C is for this process.
  const child = spawn("sh", ["-c", UNTIL_INPUT_ENDS, "sh", ...command], {
    cwd: folder,
    detached: true,
    env: { ...withoutSettings(process.env), ...env },
    stdio: ["pipe", "pipe", log],
  });
  closeSync(log);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.ref();
    child.stdin.end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const said = () => (existsSync(logFile) ? readFileSync(logFile, "utf8").trim() : "");
  try {
    const url = await listening(child, said);
    await untilReady(url, said);
    // None of them keeps this process alive; without it, they end.
    for (const it of [child, child.stdin, child.stdout]) it.unref();
    return { url, dataDir, log: logFile, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function withoutSettings(environment) {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith("THREADKEEP_")),
  );
}

async function listening(child, said) {
  const lines = createInterface({ input: child.stdout });
  try {
    for await (const line of lines) {
      if (line.startsWith(LISTENING)) return line.slice(LISTENING.length).trim();
    }
  } finally {
    lines.close();
  }
  throw new Error(said());
}

async function untilReady(url, said) {
  const until = Date.now() + START_MILLISECONDS_MAX;
  while (Date.now() < until) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(said());
}
