/** Runs a graph and writes down everything that it then shows: a transcript. */

import type { BaseCheckpointSaver, CheckpointTuple, StateSnapshot } from "@langchain/langgraph";
import { isDeltaSnapshot, TASKS } from "@langchain/langgraph-checkpoint";
import type { Graph } from "./graphs.js";
import { Normaliser } from "./normaliser.js";

export interface Config {
  configurable: Record<string, unknown>;
  [name: string]: unknown;
}

/** One scenario's hands and notebook. */
export class Driver {
  readonly transcript: [string, unknown][] = [];
  readonly #normaliser = new Normaliser();

  constructor(readonly saver: BaseCheckpointSaver) {}

  config(thread = "t"): Config {
    return { configurable: { thread_id: thread } };
  }

  /** Run and note the result, or the error that the run ends with. */
  async invoke(graph: Graph, value: unknown, config: unknown, more = {}): Promise<unknown> {
    let result: unknown;
    try {
      result = await graph.invoke(value, { ...(config as object), ...more });
    } catch (error) {
      if (!(error instanceof Error && /^branch \d failed/.test(error.message))) throw error;
      result = error;
    }
    this.transcript.push(["result", this.#normaliser.value(result)]);
    return result;
  }

  async update(graph: Graph, config: unknown, values: unknown, asNode?: string): Promise<Config> {
    const made = await graph.updateState(config, values, asNode);
    this.transcript.push(["updated", this.#normaliser.config(made)]);
    return made;
  }

  async state(graph: Graph, config: unknown): Promise<StateSnapshot> {
    const found = await graph.getState(config, { subgraphs: true });
    this.transcript.push(["state", this.#snapshot(found)]);
    return found;
  }

  async history(graph: Graph, config: unknown, options = {}): Promise<StateSnapshot[]> {
    const found: StateSnapshot[] = [];
    for await (const one of graph.getStateHistory(config, options)) found.push(one);
    this.transcript.push(["history", found.map((one) => this.#snapshot(one))]);
    return found;
  }

  /** What the saver itself holds for a thread, in all namespaces. */
  async raw(thread = "t"): Promise<CheckpointTuple[]> {
    const tuples: CheckpointTuple[] = [];
    for await (const one of this.saver.list(this.config(thread))) tuples.push(one);
    const namespaces = new Map<string, CheckpointTuple[]>();
    for (const one of tuples) {
      const ns = String(one.config.configurable?.["checkpoint_ns"]);
      namespaces.set(ns, [...(namespaces.get(ns) ?? []), one]);
    }
    // By the oldest checkpoint: namespaces hold random ids, the times of their first steps do not.
    const oldestFirst = [...namespaces.values()].sort((a, b) =>
      idOf(a.at(-1)) < idOf(b.at(-1)) ? -1 : 1,
    );
    this.transcript.push(["raw", oldestFirst.map((ns) => ns.map((one) => this.#tuple(one)))]);
    return tuples;
  }

  /** Everything there is to see of a thread. */
  async all(graph: Graph, config = this.config()): Promise<void> {
    await this.state(graph, config);
    await this.history(graph, config);
    await this.raw(String(config.configurable["thread_id"]));
  }

  /** The same, and every checkpoint by itself, with the states of its subgraphs. */
  async each(graph: Graph): Promise<void> {
    await this.all(graph);
    for (const one of await this.history(graph, this.config())) await this.state(graph, one.config);
  }

  #snapshot(snapshot: StateSnapshot): unknown {
    const tasks = snapshot.tasks.map((task) => {
      const state = task.state as StateSnapshot | Config | undefined;
      const isSnapshot = state !== undefined && "values" in state;
      const shown = isSnapshot
        ? this.#snapshot(state as StateSnapshot)
        : this.#normaliser.config(state as Config);
      return { ...(this.#normaliser.value({ ...task, state: undefined }) as object), state: shown };
    });
    return {
      values: this.#normaliser.value(snapshot.values),
      next: snapshot.next,
      config: this.#normaliser.config(snapshot.config),
      metadata: this.#normaliser.value(snapshot.metadata),
      hasTime: snapshot.createdAt !== undefined,
      parent: this.#normaliser.config(snapshot.parentConfig),
      tasks,
    };
  }

  #tuple(one: CheckpointTuple): unknown {
    // By task, in an order that does not depend on their random ids: an in-memory saver gives them as they came.
    const tasks = new Map<string, unknown[]>();
    for (const write of one.pendingWrites ?? []) {
      tasks.set(write[0], [...(tasks.get(write[0]) ?? []), write]);
    }
    const writes = sortedByText([...tasks.values()].map(sortedByText));
    return {
      config: this.#normaliser.config(one.config),
      checkpoint: this.#normaliser.value(comparable(one.checkpoint)),
      metadata: this.#normaliser.value(one.metadata),
      parent: this.#normaliser.config(one.parentConfig),
      writes: this.#normaliser.value(writes),
    };
  }
}

function sortedByText<T>(values: T[]): T[] {
  const texts = values.map((value) => [Normaliser.plain(value), value] as const);
  return texts.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

/**
 * Without what only MemorySaver keeps: values of channels that have no version (a default that nobody wrote), which other
 * savers are not told to store, and an empty list of pending sends. And without snapshots of delta channels: others give one
 * also to the checkpoints that carry its version on, which MemorySaver leaves to the walk. The states have to be equal.
 */
function comparable(checkpoint: CheckpointTuple["checkpoint"]): unknown {
  const entries = Object.entries(checkpoint.channel_values).filter(([channel, value]) => {
    if (isDeltaSnapshot(value)) return false;
    const isNothing = channel === TASKS && Array.isArray(value) && value.length === 0;
    return !isNothing && Object.hasOwn(checkpoint.channel_versions, channel);
  });
  return { ...checkpoint, channel_values: Object.fromEntries(entries) };
}

/** Where two transcripts differ first, undefined when they do not: the whole of them would be megabytes. */
export function firstDifference(one: unknown, other: unknown, path = ""): string | undefined {
  const isBothObjects = typeof one === "object" && typeof other === "object" && one && other;
  if (!isBothObjects) {
    return Object.is(one, other)
      ? undefined
      : `${path}: ${JSON.stringify(one)} and ${JSON.stringify(other)}`;
  }
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const [left, right] = [one, other].map((it) => (it as Record<string, unknown>)[name]);
    const found = firstDifference(left, right, `${path}/${name}`);
    if (found) return found;
  }
  return undefined;
}

function idOf(one: CheckpointTuple | undefined): string {
  return String(one?.config.configurable?.["checkpoint_id"]);
}
