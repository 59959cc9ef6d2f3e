/**
 * Joins agents that are called by a tool with their calls. An agent's checkpoints are in a namespace `tools:TASK`, where TASK is the task
 * of the calling checkpoint that ran the tool. What this task wrote holds the tool message, and that names the call.
 */

import type { TimelineNamespace } from "threadkeep";
import { headOf } from "./cut.js";
import { isFields } from "./fields.js";
import { messageOf } from "./messages.js";
import { isMessage, messagesOf } from "./shapes.js";

/** A graph that another one called. */
export interface Run {
  ns: string;
  /** The name of the agent, where its metadata has one. */
  agent: string | undefined;
  /** The calling checkpoint, in the namespace around this one. */
  caller: string | undefined;
}

/** The fields of a state that name tasks and their calls. */
export interface CallingState {
  values: unknown;
  tasks: readonly { id?: string | undefined; path: readonly unknown[]; result?: unknown }[];
  writes: readonly { taskId: string; value: unknown }[];
}

/** One run for each namespace below the root, the oldest first. `namespaces` have the newest first. */
export function runsOf(namespaces: readonly TimelineNamespace[]): Run[] {
  return namespaces
    .filter(({ checkpointNs }) => checkpointNs !== "")
    .map(({ checkpointNs, agent, parentCheckpointId }) => ({
      ns: checkpointNs,
      agent,
      caller: parentCheckpointId,
    }))
    .reverse();
}

/** The runs that a graph in this namespace called itself. */
export function childrenOf(runs: readonly Run[], ns: string): Run[] {
  return runs.filter((run) => outerOf(run.ns) === ns);
}

/** The namespace around one. A part that is a number counts calls of the part before it. */
export function outerOf(ns: string): string {
  const parts = ns.split("|");
  while (/^\d+$/.test(parts.at(-1) ?? "")) parts.pop();
  return parts.slice(0, -1).join("|");
}

/** The task that a namespace is named after. */
export function taskOf(ns: string): string {
  const own = ns.slice(outerOf(ns).length).replace(/^\|/, "").split("|")[0] ?? "";
  return own.slice(own.lastIndexOf(":") + 1);
}

/** The checkpoints that called these runs, the newest first, each once. */
export function callersOf(runs: readonly Run[]): string[] {
  const ids = runs.flatMap(({ caller }) => caller ?? []);
  return [...new Set(ids)].sort().reverse();
}

/** The run of each call, by the id of the call. */
export function joinRuns(state: CallingState, runs: readonly Run[]): Map<string, Run> {
  const joined = new Map<string, Run>();
  const tasks = new Set(runs.map(({ ns }) => taskOf(ns)));
  for (const task of tasks) {
    const ids = callIdsOf(state, task);
    // One task may run several calls, one after the other.
    runs
      .filter(({ ns }) => taskOf(ns) === task)
      .forEach((run, at) => {
        const id = ids[at];
        if (id !== undefined && !joined.has(id)) joined.set(id, run);
      });
  }
  return joined;
}

function callIdsOf(state: CallingState, task: string): string[] {
  const written = state.writes.filter(({ taskId }) => taskId === task).map(({ value }) => value);
  const found = state.tasks.find(({ id }) => id === task);
  const answered = toolCallIdsIn([...written, found?.result], 4);
  if (answered.length > 0) return [...new Set(answered)];
  const pending = pendingCallOf(state, found?.path);
  return pending === undefined ? [] : [pending];
}

/** A task that is still running has written nothing: its place among the tasks is that of its call among the calls. */
function pendingCallOf(
  { values }: CallingState,
  path: readonly unknown[] | undefined,
): string | undefined {
  const place = path?.[0] === "__pregel_push" ? path[1] : undefined;
  if (typeof place !== "number") return undefined;
  const last = messagesOf(values)
    .map(messageOf)
    .findLast(({ role }) => role === "ai");
  return last?.calls[place]?.id;
}

function toolCallIdsIn(value: unknown, depth: number): string[] {
  if (depth === 0) return [];
  const found = headOf(value);
  if (Array.isArray(found)) return found.flatMap((one) => toolCallIdsIn(one, depth - 1));
  if (!isFields(found)) return [];
  if (isMessage(found)) {
    const { callId } = messageOf(found);
    return callId === undefined ? [] : [callId];
  }
  return toolCallIdsIn(Object.values(found), depth - 1);
}
