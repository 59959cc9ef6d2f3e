/**
 * Single calls against @langchain/langgraph-checkpoint-postgres, on one PostgreSQL with fsync on: put, putWrites and getTuple, of one
 * task and of many that share a saver. Time of a call, and CPU of this process, which is the client of both sides. The sides run in
 * turns. Only the ratios mean anything.
 *
 *     node --import tsx clients/js/bench/calls.ts [--rounds 7] [--number 300] [--tasks 32] [--only put] [--json FILE]
 *
 * THREADKEEP_TEST_PG_BIN names the folder of initdb, THREADKEEP_BIN the server.
 */

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
  type PendingWrite,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { Postgres } from "../../../tests/js/support/postgres.js";
import { Prose } from "./prose.js";
import { median, print, type Row, row } from "./report.js";
import { reference, type Side, threadkeep } from "./sides.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    number: { type: "string", default: "300" },
    tasks: { type: "string", default: "32" },
    only: { type: "string", multiple: true },
    json: { type: "string" },
  },
});
const ROUNDS = Number(values.rounds);
const CALLS = Number(values.number);
const TASKS = Number(values.tasks);
const PUT_AT_MOST = 0.8;
const CHANNELS = Array.from({ length: 9 }, (_, at) => `channel_${at}`);
const TEXT = new Prose(4).take(300_000);
type Kind = "put" | "putWrites" | "getTuple";

/** Milliseconds of a call: the median of their times, and the CPU of this process. */
interface Figures {
  p50: number;
  cpu: number;
}

/** Prose that no other number has next to it. */
function prose(number: number, characters: number): string {
  const at = (number * 1_000) % (TEXT.length - 1_000);
  return TEXT.slice(at, at + characters);
}

function configOf(thread: string): RunnableConfig {
  return { configurable: { thread_id: thread, checkpoint_ns: "" } };
}

/** Arguments of a put in a run: a skeleton of about 1 KB, nine channels of which two are new. */
function checkpoint(step: number): [Checkpoint, CheckpointMetadata, ChannelVersions] {
  const fresh = Object.fromEntries(
    (step === 0 ? CHANNELS : CHANNELS.slice(0, 2)).map((name) => [name, step + 1]),
  );
  const versions = { ...Object.fromEntries(CHANNELS.map((name) => [name, 1])), ...fresh };
  const made: Checkpoint = {
    v: 4,
    id: uuid6(step),
    ts: "2026-01-01T00:00:00.000Z",
    channel_values: { channel_0: prose(step, 600), channel_1: { k: prose(step + 1, 200) } },
    channel_versions: versions,
    versions_seen: { node: Object.fromEntries(Object.entries(versions).slice(0, 4)) },
  };
  return [made, { source: "loop", step, parents: {} }, fresh];
}

/** What a task of a superstep hands over. */
function writes(step: number): PendingWrite[] {
  return [
    ["channel_0", prose(step, 600)],
    ["channel_1", { k: prose(step, 200) }],
    ["branch:to:n", null],
  ];
}

/** A thread of three checkpoints with the writes of two tasks on the last; its address. */
async function begun(saver: BaseCheckpointSaver, thread: string): Promise<RunnableConfig> {
  let where = configOf(thread);
  for (let step = 0; step < 3; step += 1) where = await saver.put(where, ...checkpoint(step));
  for (const task of ["a", "b"]) await saver.putWrites(where, writes(3), task);
  return where;
}

/** One round of one side: `calls` calls in each of `tasks` tasks at once, on one saver that is new. */
async function round(side: Side, kind: Kind, tasks: number, calls: number): Promise<Figures> {
  const saver = side.fresh();
  const threads = Array.from({ length: tasks }, () => crypto.randomUUID());
  const parents = await Promise.all(threads.map((thread) => begun(saver, thread)));
  const times: number[] = [];
  const one = async (task: number, number: number) => {
    const where = parents[task] as RunnableConfig;
    if (kind === "put") parents[task] = await saver.put(where, ...checkpoint(number + 3));
    else if (kind === "putWrites") await saver.putWrites(where, writes(number), `task ${number}`);
    else if (!(await saver.getTuple(configOf(threads[task] as string)))) throw new Error("lost");
  };
  const before = process.cpuUsage();
  await Promise.all(
    threads.map(async (_, task) => {
      for (let number = 0; number < calls; number += 1) {
        const start = performance.now();
        await one(task, number);
        times.push(performance.now() - start);
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return { p50: median(times), cpu: (user + system) / 1_000 / (tasks * calls) };
}

/** The medians of the rounds of each side, in turns: A B, B A, … The first round of each warms it up and does not count. */
async function compared(sides: Side[], kind: Kind, tasks: number): Promise<Figures[]> {
  const calls = tasks === 1 ? CALLS : Math.max(1, Math.floor((2 * CALLS) / tasks));
  const found = new Map<Side, Figures[]>(sides.map((side) => [side, []]));
  for (let turn = 0; turn <= ROUNDS; turn += 1) {
    for (const side of turn % 2 === 0 ? sides : [...sides].reverse()) {
      const figures = await round(side, kind, tasks, calls);
      if (turn > 0) found.get(side)?.push(figures);
    }
  }
  return [...found.values()].map((rounds) => ({
    p50: median(rounds.map(({ p50 }) => p50)),
    cpu: median(rounds.map(({ cpu }) => cpu)),
  }));
}

async function measured(sides: Side[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of ["put", "putWrites", "getTuple"] as const) {
    if (values.only && !values.only.includes(kind)) continue;
    for (const tasks of [1, TASKS]) {
      const [ours, theirs] = (await compared(sides, kind, tasks)) as [Figures, Figures];
      const name = `${kind}, ${tasks === 1 ? "1 task" : `${tasks} tasks on one saver`}`;
      const goal = kind === "put" && tasks === 1 ? { atMost: PUT_AT_MOST } : {};
      rows.push(
        row(`${name}, p50 ms`, ours.p50, theirs.p50, { ...goal, digits: 2 }),
        row(`${name}, CPU ms of the client`, ours.cpu, theirs.cpu, { digits: 3 }),
      );
    }
  }
  return rows;
}

const postgres = await new Postgres().start({ fsync: true });
const sides: Side[] = [];
try {
  for (const open of [threadkeep, reference]) sides.push(await open(postgres));
  const rows = await measured(sides);
  print(`single calls in JavaScript, medians of ${ROUNDS} rounds of ${CALLS} calls`, rows);
  if (values.json) writeFileSync(values.json, JSON.stringify(rows, null, 1));
} finally {
  for (const side of sides) await side.close();
  await postgres.remove();
}
