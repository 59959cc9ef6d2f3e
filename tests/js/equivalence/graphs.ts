/**
 * The plain LangGraph graphs of the scenarios: deterministic nodes, each graph made for one behaviour of a saver. Every graph
 * exists twice: `plain` keeps its log in a reducer channel, `delta` in a DeltaChannel whose values are mostly not stored and
 * are rebuilt from writes.
 */

import {
  Annotation,
  type BaseChannel,
  type BaseCheckpointSaver,
  Command,
  DeltaChannel,
  END,
  entrypoint,
  getPreviousState,
  interrupt,
  Send,
  START,
  StateGraph,
  task,
} from "@langchain/langgraph";
import { sleep } from "../support/waiting.js";

export const KINDS = ["plain", "delta"] as const;
export type Kind = (typeof KINDS)[number];
/** How a node waits for two branches: by one edge from both, as a node that runs last, or by both. */
export const JOINS = ["edge", "defer", "edge and defer"] as const;
export const SNAPSHOT_EVERY = 4;

export interface Log {
  log: unknown[];
  note?: unknown;
}

/** Compiled graphs are used through what every one of them has. */
// biome-ignore lint/suspicious/noExplicitAny: the types of LangGraph differ with every node's name
export type Graph = any;

type Node = (state: Log) => Partial<Log> | Promise<Partial<Log>>;

const add = (log: unknown[], more: unknown[]) => [...log, ...more];

function schema(kind: Kind) {
  const delta = new DeltaChannel<unknown[], unknown[]>(
    (state, writes) => [...(state ?? []), ...writes.flat()],
    { initialValueFactory: () => [], snapshotFrequency: SNAPSHOT_EVERY },
  ) as unknown as BaseChannel<unknown[], unknown[]>;
  const plain = Annotation<unknown[]>({ reducer: add, default: () => [] });
  return Annotation.Root({
    log: kind === "plain" ? plain : ((() => delta) as unknown as typeof plain),
    note: Annotation<unknown>(),
  });
}

/** Nodes in a row, from START on. */
function inARow(kind: Kind, nodes: [string, Node][]): Graph {
  let builder: Graph = new StateGraph(schema(kind));
  let before: string = START;
  for (const [name, node] of nodes) {
    builder = builder.addNode(name, node).addEdge(before, name);
    before = name;
  }
  return builder;
}

/** A node that adds one entry, telling how long the log was when it ran. */
function say(what: string, more: Partial<Log> = {}): Node {
  return (state) => ({ log: [`${what}@${state.log.length}`], ...more });
}

/** START -> a -> b -> c. */
export function chain(
  kind: Kind,
  checkpointer: BaseCheckpointSaver,
  names = "abc",
  options: Record<string, unknown> = {},
): Graph {
  const nodes = [...names].map((name): [string, Node] => [name, say(name, { note: name })]);
  return inARow(kind, nodes).compile({ checkpointer, ...options });
}

/** A chain in whose middle something happens that is not the graph's doing. */
export function interrupted(
  kind: Kind,
  checkpointer: BaseCheckpointSaver,
  happens: () => Promise<unknown>,
): Graph {
  const node: Node = async () => {
    await happens();
    return { log: ["too late"] };
  };
  return inARow(kind, [
    ["a", say("a")],
    ["b", node],
    ["c", say("c")],
  ]).compile({ checkpointer });
}

/** One node that asks two questions, between two that ask none. */
export function asking(kind: Kind, checkpointer: BaseCheckpointSaver): Graph {
  const ask: Node = (state) => {
    const first = interrupt({ question: "name", soFar: state.log.length });
    const second = interrupt("colour");
    return { log: [`${first} likes ${JSON.stringify(second)}`], note: null };
  };
  const bytes = say("before", { note: { bytes: new Uint8Array([0, 255]) } });
  return inARow(kind, [
    ["before", bytes],
    ["ask", ask],
    ["after", say("after")],
  ]).compile({ checkpointer });
}

/** Four branches by Send, of which those in `failing` throw; then one node that joins them. */
export function fanOut(kind: Kind, checkpointer: BaseCheckpointSaver, failing: Set<number>): Graph {
  const branch = async ({ number }: { number: number }) => {
    if (failing.has(number)) {
      // A failure may drop what the others have not stored yet, so it must be the last.
      await sleep(150);
      throw new Error(`branch ${number} failed`);
    }
    return { log: [`branch ${number}`] };
  };
  const builder: Graph = new StateGraph(schema(kind));
  return builder
    .addNode("start", say("start"))
    .addNode("branch", branch)
    .addNode("join", say("join"))
    .addEdge(START, "start")
    .addConditionalEdges(
      "start",
      () => [0, 1, 2, 3].map((number) => new Send("branch", { number })),
      ["branch"],
    )
    .addEdge("branch", "join")
    .compile({ checkpointer });
}

/** A graph with a subgraph of two steps; `ownMemory` lets the subgraph remember from turn to turn. */
export function nested(
  kind: Kind,
  checkpointer: BaseCheckpointSaver,
  { ownMemory = false, asks = false } = {},
): Graph {
  const last: Node = (state) => {
    const answer = asks ? interrupt("inside") : "quiet";
    return { log: [`${answer}@${state.log.length}`] };
  };
  const child = inARow(kind, [
    ["one", say("inner one")],
    ["two", last],
  ]).compile(ownMemory ? { checkpointer: true } : {});
  const call: Node = async (state) => {
    const done = await child.invoke({ log: [`called with ${state.log.length}`] });
    return { note: done.log.length, log: ["called"] };
  };
  const builder: Graph = new StateGraph(schema(kind));
  return builder
    .addNode("before", say("outer before"))
    .addNode("child", call, { subgraphs: [child] })
    .addNode("after", say("outer after"))
    .addEdge(START, "before")
    .addEdge("before", "child")
    .addEdge("child", "after")
    .addEdge("after", END)
    .compile({ checkpointer });
}

/** One node run `steps` times in one turn: a long chain of checkpoints. */
export function looping(kind: Kind, checkpointer: BaseCheckpointSaver, steps: number): Graph {
  const again = (state: Log) => (state.log.length % (steps + 1) === 0 ? END : "step");
  const builder: Graph = new StateGraph(schema(kind));
  return builder
    .addNode("step", say("step"))
    .addEdge(START, "step")
    .addConditionalEdges("step", again, ["step", END])
    .compile({ checkpointer });
}

/** Two branches of different length, of which the one asks for its entry, and a node that waits for both. */
export function joined(
  kind: Kind,
  checkpointer: BaseCheckpointSaver,
  how: (typeof JOINS)[number],
): Graph {
  const builder: Graph = new StateGraph(schema(kind));
  builder
    .addNode("left", () => ({ log: [interrupt("left")] }))
    .addNode("right", say("branch right"))
    .addNode("more", say("more"))
    .addNode("join", say("join"), { defer: how.includes("defer") })
    .addEdge(START, "left")
    .addEdge(START, "right")
    .addEdge("right", "more");
  const both = how.includes("edge") ? [["left", "more"]] : ["left", "more"];
  for (const from of both) builder.addEdge(from, "join");
  return builder.compile({ checkpointer });
}

/** Nodes without edges: each says by a Command which are next, the last but one from within a subgraph. */
export function routed(kind: Kind, checkpointer: BaseCheckpointSaver): Graph {
  const go =
    (what: string, where: object) =>
    ({ log }: Log) =>
      new Command({ update: { log: [`${what}@${log.length}`] }, ...where });
  const inner: Graph = new StateGraph(schema(kind));
  const child = inner
    .addNode("one", say("child one"))
    .addNode("two", go("child two", { goto: "last", graph: Command.PARENT }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .compile();
  const sends = { goto: new Send("sent", { log: ["of its own"] }) };
  const builder: Graph = new StateGraph(schema(kind));
  return builder
    .addNode("first", go("first", { goto: ["left", "right"] }), { ends: ["left", "right"] })
    .addNode("left", say("branch left"))
    .addNode("right", go("branch right", sends), { ends: ["sent"] })
    .addNode("sent", go("sent", { goto: "child" }), { ends: ["child"] })
    .addNode("child", child, { ends: ["last"] })
    .addNode("last", say("last"))
    .addEdge(START, "first")
    .compile({ checkpointer });
}

/** A subgraph in a subgraph. The innermost asks twice; the one that is named remembers from turn to turn. */
export function twoDeep(kind: Kind, checkpointer: BaseCheckpointSaver, remembers = ""): Graph {
  const ask: Node = ({ log }) => {
    const answers = [interrupt({ question: 0 }), interrupt({ question: 1 })];
    return { log: [`${JSON.stringify(answers)} after ${log.length}`], note: "asked" };
  };
  const level = (name: string, inside: Node | Graph) =>
    inARow(kind, [
      ["before", say(`${name} before`)],
      ["inside", inside],
      ["after", say(`${name} after`)],
    ]);
  const inner = (name: string, inside: Node | Graph) =>
    level(name, inside).compile(name === remembers ? { checkpointer: true } : {});
  return level("outer", inner("middle", inner("innermost", ask))).compile({ checkpointer });
}

/**
 * Of the functional API: parallel tasks, a question, a task after it, and a value kept for the next turn. It asks only where it
 * is given numbers.
 */
export function functional(checkpointer: BaseCheckpointSaver): Graph {
  const double = task("double", async (number: number) => 2 * number);
  const describe = task("describe", async (total: number, answer: string) => ({
    text: `${answer}: ${total}`,
  }));
  return entrypoint({ checkpointer, name: "workflow" }, async (numbers: number[]) => {
    const previous = getPreviousState<{ total: number }>();
    const total = (await Promise.all(numbers.map((it) => double(it)))).reduce((a, b) => a + b, 0);
    const answer = numbers.length > 0 ? interrupt({ total, previous: previous ?? null }) : "none";
    const value = await describe(total, String(answer));
    return entrypoint.final({ value, save: { total: total + (previous?.total ?? 0) } });
  });
}
