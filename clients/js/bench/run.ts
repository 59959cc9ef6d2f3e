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
import { median, print, type Row, row } from "./report.js";
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
const TIME_AT_MOST = 0.25;

/** What a turn took: milliseconds, and those of the CPU of this process. */
interface Turn {
  time: number;
  cpu: number;
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

/** Each turn, the sides in turns: A B C, C B A, … */
async function timed(savers: BaseCheckpointSaver[]): Promise<Turn[][]> {
  const agents = savers.map((saver) => ({ agent: talker(saver), turns: [] as Turn[] }));
  for (let turn = 0; turn < TURNS; turn += 1) {
    const order = turn % 2 === 0 ? agents : [...agents].reverse();
    for (const { agent: one, turns } of order) {
      const [begun, before] = [performance.now(), process.cpuUsage()];
      await one.invoke(question(turn), CONFIG);
      const { user, system } = process.cpuUsage(before);
      turns.push({ time: performance.now() - begun, cpu: (user + system) / 1_000 });
    }
  }
  return agents.map(({ turns }) => turns);
}

async function newest(saver: BaseCheckpointSaver): Promise<unknown> {
  const messages = (await saver.getTuple(CONFIG))?.checkpoint.channel_values["messages"];
  return (messages as AIMessage[]).map((one) => [one.getType(), one.text]);
}

async function measured(ours: Side, theirs: Side): Promise<Row[]> {
  const memory = new MemorySaver();
  const turns = await timed([memory, ours.saver, theirs.saver]);
  const [inMemory = 0, mine = 0, other = 0] = turns.map((all) => median(all.map((it) => it.time)));
  const [cpuInMemory = 0, cpu = 0, otherCpu = 0] = turns.map((all) => {
    return median(all.map((it) => it.cpu));
  });
  const [wire, theirWire] = [await ours.wire(), await theirs.wire()];
  const [disk, theirDisk] = [await ours.bytesOnDisk(), await theirs.bytesOnDisk()];
  const shown = JSON.stringify(await newest(memory));
  const [isSame, isTheirsSame] = [
    JSON.stringify(await newest(ours.fresh())) === shown,
    JSON.stringify(await newest(theirs.fresh())) === shown,
  ];
  const [both, theirBoth] = [wire.up + wire.down, theirWire.up + theirWire.down];
  return [
    row("bytes on disk", disk, theirDisk, { atMost: DISK_AT_MOST }),
    row("bytes on the wire", both, theirBoth, { atMost: DISK_AT_MOST }),
    row("bytes to the server", wire.up, theirWire.up),
    row("bytes from the server", wire.down, theirWire.down),
    row("ms a turn, added to in-memory", mine - inMemory, other - inMemory, {
      atMost: TIME_AT_MOST,
    }),
    row("ms a turn, whole", mine, other),
    row("ms a turn, in memory", inMemory, inMemory),
    row(
      "CPU ms of the client a turn, added to in-memory",
      cpu - cpuInMemory,
      otherCpu - cpuInMemory,
    ),
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

const postgres = await new Postgres().start({ fsync: true });
const sides: Side[] = [];
try {
  for (const open of [threadkeep, reference]) sides.push(await open(postgres));
  const [ours, theirs] = sides as [Side, Side];
  const rows = await measured(ours, theirs);
  print(
    `deepagents in JavaScript, ${TURNS} turns of ${TOOLS} tools with ${RESULT_CHARACTERS} characters, medians`,
    rows,
  );
  if (values.json) writeFileSync(values.json, JSON.stringify(rows, null, 1));
} finally {
  for (const side of sides) await side.close();
  await postgres.remove();
}
