/** Reads what Agentrail keeps in a session: the names of its logs and documents, its traced events, and the state of its orchestration. */

import type { NamedDocument, SessionStream } from "threadkeep";
import {
  type OrchestrationEvent,
  type OrchestrationSnapshot,
  recoveredState,
} from "threadkeep/agentrail";
import { type Fields, isFields } from "../../content/fields.js";

export const AGENTRAIL = "agentrail";
export const TRACE = "trace";
export const EVENTS = "orch/events";
export const CHECKPOINT = "orch/snapshot";
const HISTORY = "orch/history/";
const MAILBOX = "orch/mailbox/";

export interface Place {
  title: string;
  stream?: string;
  document?: string;
  view?: "orchestration";
}

/** Places of a session that have names of their own, where the session has them. */
export function placesOf(
  streams: readonly SessionStream[],
  documents: readonly NamedDocument[],
): Place[] {
  const hasStream = new Set(streams.map(({ stream }) => stream));
  const hasDocument = new Set(documents.map(({ name }) => name));
  const isOrchestrated = hasStream.has(EVENTS) || hasDocument.has(CHECKPOINT);
  const places: Place[] = [
    { title: "Messages", stream: "messages" },
    { title: "Trace", stream: TRACE },
    { title: "Turns", stream: "turns" },
    { title: "Todos", document: "memo/TODO.md" },
    { title: "Notes", document: "memo/NOTES.md" },
    { title: "Orchestration", view: "orchestration" },
  ];
  return places.filter(({ stream, document: name }) => {
    if (stream !== undefined) return hasStream.has(stream);
    return name === undefined ? isOrchestrated : hasDocument.has(name);
  });
}

export function historyOf(agentId: string): string {
  return `${HISTORY}${agentId}`;
}

export function mailboxOf(agentId: string): string {
  return `${MAILBOX}${agentId}`;
}

export interface TracedEvent {
  kind: string;
  source: string | undefined;
  at: string | undefined;
  /** The event without its envelope. */
  event: unknown;
}

/** An envelope of a trace, or an event of an orchestration; undefined for another thing. */
export function tracedEvent(data: unknown): TracedEvent | undefined {
  if (!isFields(data)) return undefined;
  const { event = data, source, timestamp, occurredAt } = data;
  if (!isFields(event) || typeof event["type"] !== "string") return undefined;
  return {
    kind: event["type"],
    source: textOf(source),
    at: textOf(timestamp) ?? textOf(occurredAt),
    event,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Whether the events reach back to the last one that a checkpoint has. */
export function reachesBack(checkpoint: unknown, events: readonly unknown[]): boolean {
  const last = isFields(checkpoint) ? checkpoint["lastEventId"] : undefined;
  return Boolean(last) && events.some((event) => isFields(event) && event["eventId"] === last);
}

/** An orchestration for display. Whatever is stored, its texts are texts. */
export interface Orchestration {
  runs: Run[];
  agents: Agent[];
  waits: Wait[];
  queuedInputs: unknown[];
}

export interface Run {
  id: string;
  status: string;
  startedAt: string | undefined;
  endedAt: string | undefined;
  /** Absent: the first task is not stored. */
  task: { kind: string; input: unknown } | undefined;
}

export interface Agent {
  id: string;
  name: string;
  role: string;
  status: string;
  updatedAt: string | undefined;
  lastJob: { outcome: string; output: string | undefined; error: string | undefined } | undefined;
}

export interface Wait {
  id: string;
  agentId: string;
  what: string;
  timeoutAt: string | undefined;
}

/** The state after the events behind the checkpoint. An Error for an event of an unknown kind. */
export function orchestrationOf(checkpoint: unknown, events: readonly unknown[]): Orchestration {
  const base = isFields(checkpoint) ? (checkpoint as Partial<OrchestrationSnapshot>) : undefined;
  const none = { runs: {}, tasks: {}, agents: {}, waits: {}, queuedInputs: [] };
  const state = recoveredState(
    base === undefined ? null : { ...none, ...base },
    events.filter(isFields) as unknown as OrchestrationEvent[],
  );
  const { runs, tasks, agents, queuedInputs } = state.snapshot;
  const taskOf = new Map(entriesIn(tasks));
  const waits: readonly unknown[] = state.pendingWaits;
  return {
    runs: entriesIn(runs).map(([id, run]) => runOf(id, run, taskOf)),
    agents: entriesIn(agents).map(([id, agent]) => agentOf(id, agent)),
    waits: waits.filter(isFields).map(waitOf),
    queuedInputs: Array.isArray(queuedInputs) ? queuedInputs : [],
  };
}

function entriesIn(found: unknown): [id: string, value: Fields][] {
  if (!isFields(found)) return [];
  return Object.entries(found).filter((entry): entry is [string, Fields] => isFields(entry[1]));
}

function runOf(id: string, run: Fields, tasks: ReadonlyMap<string, Fields>): Run {
  const task = tasks.get(textOf(run["initialTaskId"]) ?? "");
  return {
    id,
    status: textOf(run["status"]) ?? "?",
    startedAt: textOf(run["createdAt"]),
    endedAt: textOf(run["completedAt"]),
    task: task && { kind: textOf(task["kind"]) ?? "?", input: task["input"] },
  };
}

function agentOf(id: string, agent: Fields): Agent {
  const { lastJob } = agent;
  return {
    id,
    name: textOf(agent["displayName"]) || id,
    role: textOf(agent["role"]) ?? "?",
    status: textOf(agent["status"]) ?? "?",
    updatedAt: textOf(agent["updatedAt"]),
    lastJob: isFields(lastJob)
      ? {
          outcome: textOf(lastJob["outcome"]) ?? "?",
          output: textOf(lastJob["outputText"]),
          error: textOf(lastJob["error"]),
        }
      : undefined,
  };
}

function waitOf(wait: Fields): Wait {
  return {
    id: textOf(wait["id"]) ?? "",
    agentId: textOf(wait["agentId"]) ?? "?",
    what: textOf(wait["description"]) || (textOf(wait["kind"]) ?? "?"),
    timeoutAt: textOf(wait["timeoutAt"]),
  };
}
