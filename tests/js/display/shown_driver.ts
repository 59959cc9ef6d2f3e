/** A driver that holds every state it shows against `GET /v1/state`, which has no graph and no serializer of LangGraph. */

import { BaseMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, START, type StateSnapshot } from "@langchain/langgraph";
import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { type Config, Driver } from "../equivalence/driver.js";
import type { Graph } from "../equivalence/graphs.js";

const PULL = "__pregel_pull";

export type Fields = Record<string, unknown>;

export interface Shown extends Fields {
  values: Fields;
  next: string[];
  tasks: Fields[];
  interrupts: unknown[];
}

export class ShownDriver extends Driver {
  compared = 0;

  constructor(
    saver: BaseCheckpointSaver,
    readonly url: string,
    readonly key: string,
  ) {
    super(saver);
  }

  override async state(graph: Graph, config: unknown): Promise<StateSnapshot> {
    const found = await super.state(graph, config);
    const asked = (config as Config).configurable;
    const id = asked["checkpoint_id"];
    const kind = { isPinned: Boolean(id), isInner: Boolean(asked["checkpoint_ns"]) };
    await this.hold(found, await this.shown(asked, id), kind);
    return found;
  }

  override async history(graph: Graph, config: unknown, options = {}): Promise<StateSnapshot[]> {
    const found = await super.history(graph, config, options);
    const shown = await this.shownHistory(found, config as Config, options);
    expect(shown).toHaveLength(found.length);
    const isInner = Boolean((config as Config).configurable["checkpoint_ns"]);
    const kind = { isPinned: true, isInner };
    for (const [at, one] of found.entries()) await this.hold(one, shown[at], kind);
    return found;
  }

  protected async shownHistory(
    found: StateSnapshot[],
    _config: Config,
    _options: object,
  ): Promise<(Shown | undefined)[]> {
    const asked = found.map((one) => one.config.configurable ?? {});
    return await Promise.all(asked.map((one) => this.shown(one, one["checkpoint_id"])));
  }

  /** What the server tells of a checkpoint, or of the newest. */
  protected async shown(asked: Fields, checkpointId: unknown): Promise<Shown | undefined> {
    const query = new URLSearchParams({ thread_id: String(asked["thread_id"]) });
    query.set("checkpoint_ns", String(asked["checkpoint_ns"] ?? ""));
    if (checkpointId) query.set("checkpoint_id", String(checkpointId));
    const answer = await fetch(`${this.url}/v1/state?${query}`, {
      headers: { authorization: `Bearer ${this.key}` },
    });
    return ((await answer.json()) as { state?: Shown }).state;
  }

  /** The state of a task's subgraph. */
  protected async shownInner(inner: StateSnapshot, _task: Fields): Promise<Shown | undefined> {
    const asked = inner.config?.configurable;
    return asked && (await this.shown(asked, undefined));
  }

  protected async hold(
    given: StateSnapshot,
    shown: Shown | undefined,
    { isPinned = false, isInner = false },
  ): Promise<void> {
    if (!shown) {
      expect(given.createdAt).toBeUndefined();
      return;
    }
    this.compared += 1;
    const expected = await this.#known(given);
    unmerge(shown.values);
    expect({
      values: shown.values,
      next: [...shown.next].sort(),
      tasks: byId(shown.tasks.map(withoutInner)),
      metadata: shown["metadata"],
      created: shown["created_at"],
      id: shown["checkpoint_id"],
      parent: shown["parent_checkpoint_id"],
    }).toEqual({
      values: await this.#values(expected, shown.values, isInner),
      next: isPinned ? [...expected.next].sort() : await this.#next(expected),
      tasks: byId(expected.tasks.map((task) => taskOf(task, shown.tasks))),
      metadata: withoutThread(expected.metadata),
      created: expected.createdAt,
      id: expected.config.configurable?.["checkpoint_id"],
      parent: expected.parentConfig?.configurable?.["checkpoint_id"],
    });
    for (const task of expected.tasks) {
      const inner = task.state as StateSnapshot | Config | undefined;
      const served = shown.tasks.find((one) => one["id"] === task.id) ?? {};
      if (inner && "values" in inner) {
        const state = inner as StateSnapshot;
        await this.hold(state, await this.shownInner(state, served), { isInner: true });
      } else await this.holdReference(task.name, inner, served);
    }
  }

  /** Of a subgraph whose state is not shown. */
  protected async holdReference(
    _name: string,
    _inner: Config | undefined,
    _task: Fields,
  ): Promise<void> {}

  /** Without what nothing stored tells: the function of a functional graph is called `__start__` until it has run once. */
  async #known(expected: StateSnapshot): Promise<StateSnapshot> {
    const stored = await this.saver.getTuple(expected.config);
    const seen = Object.entries(stored?.checkpoint.versions_seen ?? {});
    const nodes = seen.filter(([node]) => !["__input__", "__interrupt__"].includes(node));
    const hasRun = nodes.some(([, versions]) => START in versions);
    const isNew = !hasRun && START in (stored?.checkpoint.channel_values ?? {});
    if (!isNew) return expected;
    const first = expected.tasks.map((task) => ({ ...task, name: START, path: [PULL, START] }));
    return { ...expected, next: expected.next.map(() => START), tasks: first as never };
  }

  /** LangGraph.js takes a task for done that was given an answer and asked again; Python, and the server, do not. */
  async #next(expected: StateSnapshot): Promise<string[]> {
    const stored = await this.saver.getTuple(expected.config);
    const writes = stored?.pendingWrites ?? [];
    const isOutput = (channel: string) =>
      !["__error__", "__interrupt__", "__resume__"].includes(channel);
    const hasOutput = (id: string) => writes.some((it) => it[0] === id && isOutput(String(it[1])));
    const waiting = expected.tasks.filter((it) => !hasOutput(it.id));
    return waiting.map((it) => it.name).sort();
  }

  /** Without what no reducer of the server can know: see the description of the route. */
  async #values(expected: StateSnapshot, shown: Fields, isInner: boolean): Promise<Fields> {
    // Of a functional graph that has not returned yet.
    const values = (project(expected.values) ?? {}) as Fields;
    const stored = await this.saver.getTuple(expected.config);
    const held = stored?.checkpoint.channel_values ?? {};
    for (const [, name] of stored?.pendingWrites ?? []) {
      const isPlain = name in held && !isDeltaSnapshot(held[name]);
      if (name in values && isPlain) values[name] = project(held[name]);
    }
    for (const [name, value] of Object.entries(values)) {
      // Channels that nothing was written to yet: the graph knows their names, the checkpoint does not.
      const isEmpty = typeof value === "object" && value && Object.keys(value).length === 0;
      if (isEmpty && !(name in shown)) delete values[name];
      // In a state within a state LangGraph.js has no saver to replay delta channels with.
      if (isEmpty && isInner) values[name] = shown[name];
    }
    return values;
  }
}

/** The logs of the scenarios have a reducer of their own; it adds lists. */
function unmerge(values: Fields): void {
  const log = values["log"] as { $seed?: unknown[]; $delta_writes?: unknown[][] } | undefined;
  if (log?.$delta_writes) values["log"] = [...(log.$seed ?? []), ...log.$delta_writes.flat()];
}

/** As `/v1/state` tells a task. */
function withoutInner({ state: _, checkpoint: __, ...task }: Fields): Fields {
  return task;
}

function byId(tasks: Fields[]): Fields[] {
  return [...tasks].sort((a, b) => (String(a["id"]) < String(b["id"]) ? -1 : 1));
}

/**
 * Builds the task that the server has to show. LangGraph.js leaves out the result of a task that wrote no state channel or that asked
 * before, and interrupts that were answered. These are taken from the server's answer.
 */
function taskOf(task: StateSnapshot["tasks"][number], shown: Fields[]): Fields {
  const served = shown.find((one) => one["id"] === task.id);
  // LangGraph.js before 1.7 leaves out the last part of the path of a task that was sent.
  const isShort = task.path?.[0] === "__pregel_push" && task.path.length === 2;
  const path = isShort ? [...(task.path ?? []), false] : task.path;
  const told: Fields = { id: task.id, name: task.name, path };
  const isDone = served?.["result"] !== undefined;
  const interrupts = task.interrupts.map(({ id, value }) => ({ id, value: project(value) }));
  told["interrupts"] = isDone ? served["interrupts"] : interrupts;
  if (task.error !== undefined) told["error"] = project(task.error);
  const result = (task as { result?: unknown }).result;
  if (isDone) told["result"] = result === undefined ? served["result"] : project(result);
  return told;
}

/** LangGraph.js adds the thread to what was stored. */
function withoutThread(metadata: StateSnapshot["metadata"]): unknown {
  const { thread_id: _, ...stored } = (metadata ?? {}) as Fields;
  return project(stored);
}

/** Plain JSON, as the description of values for display has it, without the code under test. */
export function project(value: unknown): unknown {
  if (BaseMessage.isInstance(value)) {
    const { kwargs } = JSON.parse(JSON.stringify(value)) as { kwargs: Fields };
    return { ...kwargs, type: value.getType() };
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map((one) => project(one) ?? null);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries.map(([name, one]) => [name, project(one)]));
}
