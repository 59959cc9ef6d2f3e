/**
 * The two sides of the comparison on one PostgreSQL with fsync on: threadkeep over HTTP, and the Postgres saver of LangGraph.js
 * straight to the database. Both behind a proxy of its own process that counts bytes.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type BaseCheckpointSaver, emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import type { Postgres } from "../../../tests/js/support/postgres.js";
import { newKey, Server } from "../../../tests/js/support/server.js";
import { ThreadkeepSaver } from "../src/langgraph/index.js";

const WIRE = fileURLToPath(new URL("wire.ts", import.meta.url));
/** Of the tables, indexes and TOAST of a database. */
const SIZE = `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as size from pg_class c
  join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind in ('r', 'p')`;

export interface Bytes {
  up: number;
  down: number;
}

/** A running proxy. */
class Wire {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  port = 0;

  private constructor(child: ChildProcess, reader: Interface) {
    this.#process = child;
    this.#lines = reader[Symbol.asyncIterator]();
  }

  static async before(target: string): Promise<Wire> {
    const child = spawn(process.execPath, ["--import", "tsx", WIRE, target], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    if (!child.stdout) throw new Error("the proxy has no output");
    const wire = new Wire(child, createInterface({ input: child.stdout }));
    wire.port = Number(await wire.#line());
    return wire;
  }

  async count(): Promise<Bytes> {
    this.#process.stdin?.write("count\n");
    const [up = 0, down = 0] = (await this.#line()).split(" ").map(Number);
    return { up, down };
  }

  async close(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.stdin?.end();
    await ended;
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the proxy ended");
    return value;
  }
}

/** One side. */
export interface Side {
  name: string;
  saver: BaseCheckpointSaver;
  /** Another saver that remembers nothing. */
  fresh(): BaseCheckpointSaver;
  wire(): Promise<Bytes>;
  /** After a vacuum, without what the tables take with one small thread in them: the first page of each, its maps. */
  bytesOnDisk(): Promise<number>;
  close(): Promise<void>;
}

async function putSmallThread(saver: BaseCheckpointSaver): Promise<void> {
  const config = { configurable: { thread_id: "small", checkpoint_ns: "" } };
  const versions = { messages: 1 };
  const checkpoint = {
    ...emptyCheckpoint(),
    channel_values: { messages: "x" },
    channel_versions: versions,
  };
  const metadata = { source: "loop", step: 0, parents: {} } as const;
  const put = await saver.put(config, checkpoint, metadata, versions);
  await saver.putWrites(put, [["messages", "y"]], crypto.randomUUID());
}

async function sizeOf(postgres: Postgres, database: string): Promise<number> {
  await postgres.run("vacuum analyze", database);
  const [row] = await postgres.run(SIZE, database);
  return Number(row?.["size"]);
}

export async function threadkeep(postgres: Postgres): Promise<Side> {
  const database = await postgres.create();
  const server = await new Server(postgres.url(database)).start();
  const wire = await Wire.before(server.url);
  const apiKey = await newKey(server.place);
  const make = (url: string) => new ThreadkeepSaver({ url, apiKey });
  await putSmallThread(make(server.url));
  const empty = await sizeOf(postgres, database);
  return {
    name: "threadkeep",
    saver: make(`http://127.0.0.1:${wire.port}`),
    fresh: () => make(server.url),
    wire: () => wire.count(),
    bytesOnDisk: async () => (await sizeOf(postgres, database)) - empty,
    close: async () => {
      await wire.close();
      await server.remove();
    },
  };
}

export async function reference(postgres: Postgres): Promise<Side> {
  const database = await postgres.create();
  const wire = await Wire.before(`${postgres.folder}/.s.PGSQL.5432`);
  const near = new pg.Pool(postgres.connection(database));
  const far = new pg.Pool({
    ...postgres.connection(database),
    host: "127.0.0.1",
    port: wire.port,
  });
  const saver = new PostgresSaver(far);
  await saver.setup();
  await putSmallThread(new PostgresSaver(near));
  const before = await wire.count();
  const empty = await sizeOf(postgres, database);
  return {
    name: "@langchain/langgraph-checkpoint-postgres",
    saver,
    fresh: () => new PostgresSaver(near),
    wire: async () => {
      const { up, down } = await wire.count();
      return { up: up - before.up, down: down - before.down };
    },
    bytesOnDisk: async () => (await sizeOf(postgres, database)) - empty,
    close: async () => {
      await far.end();
      await near.end();
      await wire.close();
    },
  };
}
