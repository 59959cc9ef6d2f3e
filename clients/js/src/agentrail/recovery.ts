/** The state of an orchestration from its last checkpoint and the events behind it, as Agentrail itself recovers it. */

import type {
  Agent,
  OrchestrationEvent,
  OrchestrationSnapshot,
  RecoveredOrchestrationState,
} from "./orchestration_contract.js";

export function recoveredState(
  checkpoint: OrchestrationSnapshot | null,
  events: readonly OrchestrationEvent[],
): RecoveredOrchestrationState {
  const [base, rest] = replayOf(checkpoint, events);
  const snapshot = base ? structuredClone(base) : emptySnapshot();
  for (const event of rest) apply(snapshot, event);
  const runs = Object.values(snapshot.runs);
  // Runs that are all over leave nothing to wait for.
  const isOpen = runs.length === 0 || runs.some(({ status }) => !ENDED.has(status));
  return {
    snapshot,
    pendingWaits: isOpen
      ? Object.values(snapshot.waits).filter(({ status }) => status === "pending")
      : [],
    activeAgents: isOpen
      ? Object.values(snapshot.agents).filter(({ status }) => status !== "closed")
      : [],
  };
}

const ENDED = new Set(["completed", "failed"]);

export function emptySnapshot(): OrchestrationSnapshot {
  return { runs: {}, tasks: {}, agents: {}, waits: {}, queuedInputs: [] };
}

/** What to begin with, and which events to add. A checkpoint whose last event is not in the log counts only without a log. */
function replayOf(
  checkpoint: OrchestrationSnapshot | null,
  events: readonly OrchestrationEvent[],
): [OrchestrationSnapshot | null, readonly OrchestrationEvent[]] {
  const last = checkpoint?.lastEventId;
  if (!last) return [checkpoint, events];
  const at = events.findIndex(({ eventId }) => eventId === last);
  if (at < 0) return events.length === 0 ? [checkpoint, []] : [null, events];
  return [checkpoint, events.slice(at + 1)];
}

function apply(snapshot: OrchestrationSnapshot, event: OrchestrationEvent): void {
  const { occurredAt, runId } = event;
  switch (event.type) {
    case "run_started":
      begin(snapshot, event);
      break;
    case "agent_spawned":
      spawn(snapshot, event);
      break;
    case "agent_input_queued": {
      const { id, agentId, payload } = event.input;
      snapshot.queuedInputs.push({ id, agentId, payload, queuedAt: occurredAt });
      break;
    }
    case "agent_input_removed":
      snapshot.queuedInputs = snapshot.queuedInputs.filter(({ id }) => id !== event.inputId);
      break;
    case "agent_status_changed":
      change(snapshot, event.agentId, { status: event.status, updatedAt: occurredAt });
      break;
    case "agent_job_started":
      change(snapshot, event.agentId, { updatedAt: occurredAt });
      break;
    case "agent_job_completed":
    case "agent_job_failed": {
      const lastJob = { ...event.job, completedAt: occurredAt };
      change(snapshot, event.agentId, { lastJob, updatedAt: occurredAt });
      break;
    }
    case "wait_registered":
      register(snapshot, event);
      break;
    case "wait_resolved": {
      const { resolution } = event;
      const resolved = { status: "resolved", resolvedAt: occurredAt } as const;
      amend(snapshot.waits, event.waitId, { ...resolved, ...given({ resolution }) });
      break;
    }
    case "agent_closed": {
      const closed = { status: "closed", updatedAt: occurredAt, closedAt: occurredAt } as const;
      change(snapshot, event.close.agentId, closed);
      break;
    }
    case "run_completed": {
      const { status } = event;
      amend(snapshot.runs, runId, { status, updatedAt: occurredAt, completedAt: occurredAt });
      break;
    }
    default:
      throw new Error(`an orchestration event of an unknown kind: ${JSON.stringify(event)}`);
  }
  snapshot.lastEventId = event.eventId;
}

type Of<Type extends OrchestrationEvent["type"]> = Extract<OrchestrationEvent, { type: Type }>;

function begin(snapshot: OrchestrationSnapshot, event: Of<"run_started">): void {
  const { runId, occurredAt: createdAt, initialTask } = event;
  const { id, kind, input } = initialTask;
  const status = "running";
  own(snapshot.runs, runId, {
    id: runId,
    status,
    initialTaskId: id,
    createdAt,
    updatedAt: createdAt,
  });
  own(snapshot.tasks, id, { id, runId, kind, input, createdAt });
}

function spawn(snapshot: OrchestrationSnapshot, event: Of<"agent_spawned">): void {
  const { runId, occurredAt: createdAt, agent } = event;
  const { id, displayName, role } = agent;
  own(snapshot.agents, id, {
    id,
    runId,
    taskId: agent.taskId ?? snapshot.runs[runId]?.initialTaskId ?? id,
    ...given({ displayName }),
    role,
    status: "idle",
    createdAt,
    updatedAt: createdAt,
  });
}

function register(snapshot: OrchestrationSnapshot, event: Of<"wait_registered">): void {
  const { id, agentId, agentIds, kind, description, match, timeoutAt } = event.wait;
  own(snapshot.waits, id, {
    id,
    runId: event.runId,
    agentId,
    ...given({ agentIds }),
    kind,
    description,
    ...given({ match }),
    status: "pending",
    registeredAt: event.occurredAt,
    ...given({ timeoutAt }),
  });
}

function change(snapshot: OrchestrationSnapshot, agentId: string, changes: Partial<Agent>): void {
  amend(snapshot.agents, agentId, changes);
}

/** What does not exist is not made. */
function amend<T extends object>(of: Record<string, T>, id: string, changes: Partial<T>): void {
  const found = Object.hasOwn(of, id) ? of[id] : undefined;
  if (found) Object.assign(found, changes);
}

/** An own entry under any name, `__proto__` too. */
function own<T>(of: Record<string, T>, id: string, value: T): void {
  Object.defineProperty(of, id, { value, writable: true, enumerable: true, configurable: true });
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** Without the entries that are undefined. */
function given<T extends object>(entries: T): Given<T> {
  return Object.fromEntries(
    Object.entries(entries).filter(([, value]) => value !== undefined),
  ) as Given<T>;
}
