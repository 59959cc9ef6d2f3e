/**
 * A real PostgreSQL of the tests' own, on a unix socket in a temporary folder. As root it runs under another uid, because
 * initdb and postgres refuse root.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chownSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { PG_BIN } from "./settings.js";
import { waitUntil } from "./waiting.js";

const NOBODY = 65_534;
const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

export class Postgres {
  readonly folder = mkdtempSync(join(tmpdir(), "tk-pg-"));
  #process: ChildProcess | undefined;

  /** `fsync: true` where times or bytes on disk are the point. */
  async start({ fsync = false } = {}): Promise<this> {
    if (!PG_BIN) throw new Error("THREADKEEP_TEST_PG_BIN must name the folder of initdb");
    if (identity.uid !== undefined) chownSync(this.folder, NOBODY, NOBODY);
    const data = join(this.folder, "data");
    const options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
    execFileSync(join(PG_BIN, "initdb"), ["-D", data, ...options], {
      cwd: "/",
      stdio: "pipe",
      ...identity,
    });
    const settings = ["listen_addresses=", "max_connections=200"];
    if (!fsync) settings.push("fsync=off", "full_page_writes=off");
    const log = openSync(join(this.folder, "log"), "a");
    this.#process = spawn(
      join(PG_BIN, "postgres"),
      ["-D", data, "-k", this.folder, ...settings.flatMap((setting) => ["-c", setting])],
      { cwd: "/", stdio: ["ignore", log, log], ...identity },
    );
    await waitUntil(() => this.#answers(), `PostgreSQL to answer; its log is ${this.folder}/log`);
    return this;
  }

  url(database: string): string {
    return `postgres://postgres@localhost/${database}?host=${this.folder}`;
  }

  /** Settings of a node-postgres client. */
  connection(database: string): { host: string; user: string; database: string } {
    return { host: this.folder, user: "postgres", database };
  }

  /** Make a database and return its name. */
  async create(): Promise<string> {
    const name = `tk_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
    await this.run(`create database "${name}"`);
    return name;
  }

  async run(statement: string, database = "postgres"): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.connection(database));
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  }

  async remove(): Promise<void> {
    const running = this.#process;
    if (running && running.exitCode === null) {
      const ended = new Promise((resolve) => running.once("exit", resolve));
      running.kill("SIGQUIT");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    if (this.#process?.exitCode !== null) throw new Error("PostgreSQL ended");
    try {
      await this.run("select 1");
      return true;
    } catch {
      return false;
    }
  }
}
