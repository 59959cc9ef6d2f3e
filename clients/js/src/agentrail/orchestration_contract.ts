/** Agentrail's orchestration, restated: events of runs and agents, and the state that they make. */

import type { InspectorSession, Message, TraceEnvelope } from "./contract.js";

type Payload = Record<string, unknown>;

export interface Run {
  id: string;
  status: "running" | "completed" | "failed";
  initialTaskId: string;
  createdAt: string;
  updatedAt: string;
  completedAt?: string;
}
export interface Task {
  id: string;
  runId: string;
  kind: string;
  input: Payload;
  createdAt: string;
}
export interface Job {
  jobId: string;
  inputIds: string[];
  outcome: "completed" | "failed" | "cancelled" | "timed_out";
  outputText?: string;
  error?: string;
  toolCalls?: {
    toolCallId: string;
    toolName: string;
    input: unknown;
    output?: { content: unknown[]; details?: unknown };
  }[];
  completedAt: string;
}
export type AgentStatus = "idle" | "running" | "waiting" | "closing" | "closed";
export interface Agent {
  id: string;
  runId: string;
  taskId: string;
  displayName?: string;
  role: string;
  status: AgentStatus;
  createdAt: string;
  updatedAt: string;
  closedAt?: string;
  lastJob?: Job;
}
export interface Wait {
  id: string;
  runId: string;
  agentId: string;
  agentIds?: string[];
  kind: string;
  description: string;
  match?: "any" | "all";
  status: "pending" | "resolved";
  registeredAt: string;
  timeoutAt?: string;
  resolvedAt?: string;
  resolution?: Payload;
}
export interface AgentInput {
  id: string;
  agentId: string;
  payload: Payload;
  queuedAt: string;
}

export interface OrchestrationSnapshot {
  runs: Record<string, Run>;
  tasks: Record<string, Task>;
  agents: Record<string, Agent>;
  waits: Record<string, Wait>;
  queuedInputs: AgentInput[];
  lastEventId?: string;
}

export interface RecoveredOrchestrationState {
  snapshot: OrchestrationSnapshot;
  pendingWaits: Wait[];
  activeAgents: Agent[];
}

interface OfRun {
  eventId: string;
  occurredAt: string;
  runId: string;
}
export type OrchestrationEvent = OfRun &
  (
    | { type: "run_started"; initialTask: { id: string; kind: string; input: Payload } }
    | { type: "agent_spawned"; agent: NewAgent }
    | { type: "agent_input_queued"; input: { id: string; agentId: string; payload: Payload } }
    | {
        type: "agent_input_removed";
        inputId: string;
        agentId: string;
        reason: "delivered" | "agent_closed";
      }
    | { type: "agent_status_changed"; agentId: string; status: AgentStatus }
    | { type: "agent_job_started"; agentId: string; jobId: string; inputIds: string[] }
    | { type: "agent_job_completed"; agentId: string; job: Omit<Job, "completedAt"> }
    | { type: "agent_job_failed"; agentId: string; job: Omit<Job, "completedAt"> }
    | { type: "wait_registered"; wait: NewWait }
    | { type: "wait_resolved"; waitId: string; resolution?: Payload }
    | { type: "agent_closed"; close: { id: string; agentId: string; reason?: string } }
    | { type: "run_completed"; status: "completed" | "failed"; error?: string }
  );

export interface NewAgent {
  id: string;
  runId: string;
  taskId?: string;
  displayName?: string;
  role: string;
  chainId?: string;
  depth?: number;
}
export type NewWait = Omit<Wait, "runId" | "status" | "registeredAt" | "resolvedAt" | "resolution">;

export type MailboxEvent =
  | {
      eventId: string;
      type: "input_enqueued";
      agentId: string;
      occurredAt: string;
      inputId: string;
      payload: Payload;
    }
  | {
      eventId: string;
      type: "agent_close_requested";
      agentId: string;
      occurredAt: string;
      reason?: string;
    };

export interface MailboxState {
  /** How many of the mailbox's events are done: their order never changes. */
  processedEventCount: number;
  closeRequested: { reason?: string; occurredAt: string } | null;
}

/** Contract 4: the orchestration of one session. */
export interface OrchestrationPersistence {
  appendEvent(event: OrchestrationEvent): Promise<void>;
  loadEvents(): Promise<OrchestrationEvent[]>;
  loadSnapshot(): Promise<OrchestrationSnapshot | null>;
  writeCheckpoint(snapshot: OrchestrationSnapshot): Promise<void>;
  recoverState(): Promise<RecoveredOrchestrationState>;
  appendMailboxEvent(agentId: string, event: MailboxEvent): Promise<void>;
  loadMailboxEvents(agentId: string): Promise<MailboxEvent[]>;
  loadMailboxState(agentId: string): Promise<MailboxState>;
  writeMailboxState(agentId: string, state: MailboxState): Promise<void>;
  loadAgentHistory(agentId: string): Promise<unknown[]>;
  writeAgentHistory(agentId: string, history: unknown[]): Promise<void>;
}

/** Contract 5: what the Inspector reads. */
export interface InspectorDataSource {
  listSessions(): Promise<InspectorSession[]>;
  loadMessages(tenantId: string, sessionId: string): Promise<Message[]>;
  loadTraceEnvelopes(tenantId: string, sessionId: string): Promise<TraceEnvelope[]>;
  loadOrchestrationState(
    tenantId: string,
    sessionId: string,
  ): Promise<RecoveredOrchestrationState | null>;
  loadOrchestrationEvents(tenantId: string, sessionId: string): Promise<unknown[]>;
}
