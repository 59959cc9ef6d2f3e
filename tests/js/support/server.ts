/** The real program as a child process: start, make keys, stop, kill, start again on the same port. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { BINARY, cleanEnvironment } from "./settings.js";
import { waitUntil } from "./waiting.js";

/** Below the range from which systems take ports by themselves: between two starts nobody else is given the server's. */
const PORTS = { from: 15_000, to: 32_000 };
const KEYS_AT_ONCE = 16;

/** The address and the database of a server. They are enough to make keys for it. */
export interface Place {
  url: string;
  /** Arguments that name the database. */
  database: string[];
}

export class Server {
  readonly folder = mkdtempSync(join(tmpdir(), "tk-server-"));
  readonly database: string[];
  readonly #options: string[];
  #listen = "";
  #process: ChildProcess | undefined;

  /** Without a database URL, on SQLite in a folder of its own. Without a port, on one that is free. */
  constructor(databaseUrl?: string, options: string[] = [], port?: number) {
    this.database = databaseUrl
      ? ["--database-url", databaseUrl]
      : ["--data-dir", join(this.folder, "data")];
    this.#options = ["--allow-unsafe", ...options];
    if (port !== undefined) this.#listen = `127.0.0.1:${port}`;
  }

  get url(): string {
    return `http://${this.#listen}`;
  }

  get place(): Place {
    return { url: this.url, database: this.database };
  }

  /** Start and wait for /readyz. The first start chooses the port, later ones keep it. */
  async start(): Promise<this> {
    this.#listen ||= `127.0.0.1:${await freePort()}`;
    const [out, log] = [join(this.folder, "out"), join(this.folder, "log")];
    writeFileSync(out, "");
    const options = [...this.database, ...this.#options];
    this.#process = spawn(BINARY, ["serve", "--listen", this.#listen, ...options], {
      cwd: this.folder,
      env: cleanEnvironment() as NodeJS.ProcessEnv,
      stdio: ["ignore", openSync(out, "a"), openSync(log, "a")],
    });
    const url = await waitUntil(() => {
      this.#checkAlive(log);
      return /^listening on (\S+)\n/m.exec(readFileSync(out, "utf8"))?.[1];
    }, "the line that says where the server listens");
    this.#listen = url.replace("http://", "");
    await waitUntil(async () => {
      this.#checkAlive(log);
      return fetch(`${this.url}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      );
    }, `/readyz of ${this.url}`);
    return this;
  }

  #checkAlive(log: string): void {
    if (this.#process?.exitCode !== null) {
      throw new Error(`the server ended: ${readFileSync(log, "utf8").slice(-4000)}`);
    }
  }

  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error("the server does not run");
    return pid;
  }

  /** SIGTERM by default; SIGKILL is what a crash does. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const running = this.#process;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill(signal);
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

const spare = new Map<string, string[]>();

/** The key of a tenant nothing has used. Made several at a time: each costs a process. */
export async function newKey(place: Place): Promise<string> {
  const keys = spare.get(place.url) ?? [];
  spare.set(place.url, keys);
  if (keys.length === 0) {
    const made = Array.from({ length: KEYS_AT_ONCE }, () => makeKey(place));
    keys.push(...(await Promise.all(made)));
  }
  return keys.pop() as string;
}

/** Runs a command of the program on the database of a server, and returns what it prints. */
export async function run(place: Place, command: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(BINARY, [...command, ...place.database], {
    env: cleanEnvironment() as NodeJS.ProcessEnv,
  });
  return stdout;
}

async function makeKey(place: Place): Promise<string> {
  const tenant = `t-${randomUUID().slice(0, 13)}`;
  return await knownKey(place, ["--tenant", tenant]);
}

/** The key of an operator, who looks after all tenants of this place. */
export async function operatorKey(place: Place): Promise<string> {
  return await knownKey(place, ["--operator"]);
}

async function knownKey(place: Place, whose: readonly string[]): Promise<string> {
  const key = (await run(place, ["keys", "create", ...whose])).trim();
  if (!/^tko?_/.test(key)) throw new Error(`keys create said ${key}`);
  const headers = { authorization: `Bearer ${key}` };
  await waitUntil(async () => {
    const answer = await fetch(`${place.url}/v1/whoami`, { headers });
    return answer.ok;
  }, "the server to see a new key");
  return key;
}
