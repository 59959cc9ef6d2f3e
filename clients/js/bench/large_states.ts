/**
 * Large states put and read against @langchain/langgraph-checkpoint-postgres, on one PostgreSQL with fsync on: time, and peak memory
 * of both sides beyond what they had before. Each put and each get is a process of its own, because only a fresh one has a peak of
 * its own.
 *
 *     node --import tsx clients/js/bench/large_states.ts [--state-bytes 20000000] [--state-bytes 60000000]
 *
 * THREADKEEP_TEST_PG_BIN names the folder of initdb, THREADKEEP_BIN the server.
 */

import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs, promisify } from "node:util";
import type { BaseCheckpointSaver, Checkpoint } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { Postgres } from "../../../tests/js/support/postgres.js";
import { newKey, Server } from "../../../tests/js/support/server.js";
import { ThreadkeepSaver } from "../src/langgraph/index.js";

const FILE_BYTES = 1_000_000;
const TIMEOUT_MS = 600_000;
const CALLS = ["put", "get"] as const;
/** The figures of one call. */
const FIGURES = ["milliseconds", "client", "server"] as const;

/** One call, which a process of its own makes. */
interface Task {
  call: (typeof CALLS)[number];
  thread: string;
  sizeBytes: number;
  /** Of threadkeep; else the saver of LangGraph.js is asked. */
  server?: { url: string; apiKey: string; pid: number };
  postgres?: pg.PoolConfig;
}

type Figures = Record<(typeof FIGURES)[number], number>;

/** The files of an agent as one channel. Compresses to half of its size. */
function state(sizeBytes: number): Record<string, { content: string }> {
  const files: Record<string, { content: string }> = {};
  let seed = 1;
  for (let file = 0; file < Math.max(1, Math.floor(sizeBytes / FILE_BYTES)); file += 1) {
    const noise = Buffer.alloc(FILE_BYTES / 2);
    for (let at = 0; at < noise.length; at += 1) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      noise[at] = seed >>> 24;
    }
    files[`/data/${file}.txt`] = { content: noise.toString("hex") };
  }
  return files;
}

/** Measures the peak memory of a process beyond what it had at the beginning. */
class Peak {
  readonly #folder: string;
  readonly #begun: number;

  constructor(pid: number) {
    this.#folder = `/proc/${pid}`;
    // Its peak so far is forgotten.
    writeFileSync(`${this.#folder}/clear_refs`, "5");
    this.#begun = this.#read("VmRSS");
  }

  bytes(): number {
    return Math.max(0, this.#read("VmHWM") - this.#begun);
  }

  #read(name: string): number {
    const status = readFileSync(`${this.#folder}/status`, "utf8");
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1_024;
  }
}

/** Measures it; a read is compared with what was put. */
async function one({ call, thread, sizeBytes, server, postgres }: Task): Promise<Figures> {
  const pool = postgres && new pg.Pool({ ...postgres, max: 1 });
  const saver: BaseCheckpointSaver = pool
    ? new PostgresSaver(pool)
    : new ThreadkeepSaver({ ...server, timeoutMs: TIMEOUT_MS });
  const backend = async () => (await pool?.query("select pg_backend_pid() as pid"))?.rows[0].pid;
  const pid: number = server ? server.pid : await backend();
  const want = state(sizeBytes);
  const config = { configurable: { thread_id: thread, checkpoint_ns: "" } };
  const made: Checkpoint = {
    v: 4,
    id: "1f0c0000-0000-6000-8001-000000000000",
    ts: "2026-01-01T00:00:00.000Z",
    channel_values: { files: want },
    channel_versions: { files: 1 },
    versions_seen: {},
  };
  await saver.getTuple({ configurable: { thread_id: "unknown", checkpoint_ns: "" } });
  const [client, other] = [new Peak(process.pid), new Peak(pid)];
  const begun = performance.now();
  let found: unknown = want;
  if (call === "put") {
    await saver.put(config, made, { source: "loop", step: 1, parents: {} }, { files: 1 });
  } else {
    found = (await saver.getTuple(config))?.checkpoint.channel_values["files"];
  }
  const milliseconds = performance.now() - begun;
  const figures = { milliseconds, client: client.bytes(), server: other.bytes() };
  if (!isDeepStrictEqual(found, want)) throw new Error("another state came back");
  await pool?.end();
  return figures;
}

async function inProcess(task: Task): Promise<Figures> {
  const options = ["--import", "tsx", fileURLToPath(import.meta.url), "--task"];
  const command = [...options, JSON.stringify(task)];
  const { stdout } = await promisify(execFile)(process.execPath, command);
  return JSON.parse(stdout) as Figures;
}

async function compare(sizes: number[]): Promise<void> {
  const postgres = await new Postgres().start({ fsync: true });
  const server = new Server(postgres.url(await postgres.create()));
  try {
    await server.start();
    const ours = { url: server.url, apiKey: await newKey(server.place), pid: server.pid };
    const theirs = postgres.connection(await postgres.create());
    const pool = new pg.Pool(theirs);
    await new PostgresSaver(pool).setup();
    await pool.end();
    console.log("| measure | threadkeep | reference | ratio |\n|---|---|---|---|");
    for (const sizeBytes of sizes) {
      const thread = crypto.randomUUID();
      for (const call of CALLS) {
        const task = { call, thread, sizeBytes };
        const mine = await inProcess({ ...task, server: ours });
        // At 100 MB its process ends with a fatal error of V8 where it reads.
        const others = await inProcess({ ...task, postgres: theirs }).catch(() => undefined);
        for (const figure of FIGURES)
          show(`${call} of ${sizeBytes / 1e6} MB`, figure, mine, others);
      }
    }
  } finally {
    await server.remove();
    await postgres.remove();
  }
}

function show(
  what: string,
  figure: (typeof FIGURES)[number],
  ours: Figures,
  theirs: Figures | undefined,
) {
  const shown = (value: number) =>
    figure === "milliseconds" ? `${value.toFixed(0)} ms` : `${(value / 1e6).toFixed(1)} MB`;
  const name = figure === "milliseconds" ? "time" : `memory of the ${figure}`;
  const [other, ratio] = theirs
    ? [shown(theirs[figure]), (ours[figure] / theirs[figure]).toPrecision(3)]
    : ["failed", ""];
  console.log(`| ${what}, ${name} | ${shown(ours[figure])} | ${other} | ${ratio} |`);
}

const { values } = parseArgs({
  options: { "state-bytes": { type: "string", multiple: true }, task: { type: "string" } },
});
if (values.task === undefined) {
  await compare((values["state-bytes"] ?? ["20000000", "60000000"]).map(Number));
} else {
  console.log(JSON.stringify(await one(JSON.parse(values.task) as Task)));
}
