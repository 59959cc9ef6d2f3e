/**
 * Size and time against @langchain/langgraph-checkpoint-postgres, on one PostgreSQL with fsync on: a real deepagents agent, turn by
 * turn on both sides in lockstep. Only the ratios mean anything: the figures are those of this machine at this minute.
 *
 *     node --import tsx clients/js/bench/run.ts [--turns 20] [--tools 5] [--result-characters 3000]
 *         [--model-ms 25] [--json FILE]
 *
 * THREADKEEP_TEST_PG_BIN names the folder of initdb, THREADKEEP_BIN the server.
 */

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint";
import { agent, calls, type Line, Scripted } from "../../../tests/js/support/agents.js";
import { Postgres } from "../../../tests/js/support/postgres.js";
import { Prose } from "./prose.js";
import { reference, type Side, threadkeep } from "./sides.js";

const { values } = parseArgs({
  options: {
    turns: { type: "string", default: "20" },
    tools: { type: "string", default: "5" },
    "result-characters": { type: "string", default: "3000" },
    "model-ms": { type: "string", default: "25" },
    json: { type: "string" },
  },
});
const TURNS = Number(values.turns);
const TOOLS = Number(values.tools);
const RESULT_CHARACTERS = Number(values["result-characters"]);
const CONFIG = { configurable: { thread_id: "bench" } };
/** No model answers at once; LangGraph.js stores steps in the background meanwhile. */
const MODEL_MS = Number(values["model-ms"]);
const DISK_AT_MOST = 1 / 30;
const TIME_AT_MOST = 0.5;

interface Row {
  measure: string;
  threadkeep: number | string;
  reference: number | string;
  ratio: number;
  goal: string;
  met: boolean | undefined;
}

/** An agent with its own, equal words: what its model and its tool say depends on nothing but their order. */
function talker(saver: BaseCheckpointSaver | undefined) {
  const prose = new Prose(4);
  const script: Line[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (let n = 0; n < TOOLS; n += 1) {
      script.push(calls([`c${turn}-${n}`, "look", { query: prose.take(40) }]));
    }
    script.push(new AIMessage(prose.take(400)));
  }
  const look = tool(() => prose.take(RESULT_CHARACTERS), {
    name: "look",
    description: "Look something up.",
    schema: { type: "object", properties: { query: { type: "string" } } } as const,
  });
  return agent(saver, [], { model: new Scripted(script, MODEL_MS), tools: [look] });
}

function question(turn: number) {
  return {
    messages: [new HumanMessage({ content: new Prose(turn + 100).take(100), id: `u${turn}` })],
  };
}

/** Milliseconds of each turn, the sides in turns: A B C, C B A, … */
async function timed(savers: BaseCheckpointSaver[]): Promise<number[][]> {
  const agents = savers.map((saver) => ({ agent: talker(saver), times: [] as number[] }));
  for (let turn = 0; turn < TURNS; turn += 1) {
    const order = turn % 2 === 0 ? agents : [...agents].reverse();
    for (const { agent: one, times } of order) {
      const begun = performance.now();
      await one.invoke(question(turn), CONFIG);
      times.push(performance.now() - begun);
    }
  }
  return agents.map(({ times }) => times);
}

async function newest(saver: BaseCheckpointSaver): Promise<unknown> {
  const messages = (await saver.getTuple(CONFIG))?.checkpoint.channel_values["messages"];
  return (messages as AIMessage[]).map((one) => [one.getType(), one.text]);
}

async function measured(ours: Side, theirs: Side): Promise<Row[]> {
  const memory = new MemorySaver();
  const [inMemory, mine, other] = (await timed([memory, ours.saver, theirs.saver])).map(median);
  const [wire, theirWire] = [await ours.wire(), await theirs.wire()];
  const [disk, theirDisk] = [await ours.bytesOnDisk(), await theirs.bytesOnDisk()];
  const shown = JSON.stringify(await newest(memory));
  const [isSame, isTheirsSame] = [
    JSON.stringify(await newest(ours.fresh())) === shown,
    JSON.stringify(await newest(theirs.fresh())) === shown,
  ];
  const base = inMemory ?? 0;
  return [
    row("bytes on disk", disk, theirDisk, DISK_AT_MOST),
    row("bytes on the wire", wire.up + wire.down, theirWire.up + theirWire.down, DISK_AT_MOST),
    row("bytes to the server", wire.up, theirWire.up),
    row("bytes from the server", wire.down, theirWire.down),
    row("ms a turn, added to in-memory", (mine ?? 0) - base, (other ?? 0) - base, TIME_AT_MOST),
    row("ms a turn, whole", mine ?? 0, other ?? 0),
    row("ms a turn, in memory", base, base),
    {
      measure: "messages read back equal",
      threadkeep: String(isSame),
      reference: String(isTheirsSame),
      ratio: 1,
      goal: "both",
      met: isSame && isTheirsSame,
    },
  ];
}

function row(measure: string, ours: number, theirs: number, atMost?: number): Row {
  const ratio = ours / theirs;
  const goal = atMost === undefined ? "" : `≤ ${atMost.toPrecision(2)}`;
  const met = atMost === undefined ? undefined : ratio <= atMost;
  const shown = (value: number) => Math.round(value * 10) / 10;
  return { measure, threadkeep: shown(ours), reference: shown(theirs), ratio, goal, met };
}

function median(times: number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

const postgres = await new Postgres().start({ fsync: true });
const sides: Side[] = [];
try {
  for (const open of [threadkeep, reference]) sides.push(await open(postgres));
  const [ours, theirs] = sides as [Side, Side];
  const rows = await measured(ours, theirs);
  console.log(
    `deepagents in JavaScript, ${TURNS} turns of ${TOOLS} tools with ${RESULT_CHARACTERS} characters, medians\n`,
  );
  console.log(
    "| measure | threadkeep | reference | ratio | goal | met |\n|---|---|---|---|---|---|",
  );
  for (const { measure, threadkeep: one, reference: other, ratio, goal, met } of rows) {
    const said = met === undefined ? "" : met ? "yes" : "**no**";
    console.log(
      `| ${measure} | ${one.toLocaleString()} | ${other.toLocaleString()} | ${ratio.toPrecision(3)} | ${goal} | ${said} |`,
    );
  }
  if (values.json) writeFileSync(values.json, JSON.stringify(rows, null, 1));
} finally {
  for (const side of sides) await side.close();
  await postgres.remove();
}
