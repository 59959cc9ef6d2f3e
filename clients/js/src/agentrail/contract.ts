/**
 * Agentrail's contracts for storage, restated: its types are structural, so nothing of it has to be installed. Messages and
 * events keep what they hold beyond this.
 */

/** The JSON array of tenant and session. Agentrail brands it; give the adapters its type to have it back. */
export type SessionRef = string;

export interface SessionMeta {
  sessionId: string;
  /** Milliseconds since 1970. */
  updatedAt: number;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  totalTokens: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

export interface TextContent {
  type: "text";
  text: string;
  textSignature?: string;
}
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
}
export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
}
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the tool takes
  arguments: Record<string, any>;
  thoughtSignature?: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: string | (TextContent | ImageContent)[];
  readonly timestamp: number;
}
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: (TextContent | ThinkingContent | ToolCall)[];
  readonly provider: string;
  readonly modelId: string;
  readonly usage: Usage;
  readonly stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  readonly errorMessage?: string;
  readonly timestamp: number;
}
export interface ToolResultMessage {
  readonly role: "toolResult";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: (TextContent | ImageContent)[];
  readonly details?: unknown;
  readonly isError: boolean;
  readonly timestamp: number;
}
export type Message = UserMessage | AssistantMessage | ToolResultMessage;

export interface TodoStorage {
  read(): Promise<string | null>;
  write(content: string): Promise<void>;
}

export interface CompactionOptions {
  /** Default 60,000. */
  triggerTokens?: number;
  /** Default 1/3. */
  compactFraction?: number;
  /** What `loadAllMessages` answered, so that it is not asked again. */
  preloadedMessages?: Message[];
  workspaceSnapshot?: string;
}

export interface SkillLog {
  skillName: string;
  task: string;
  input: string;
  systemPrompt: string;
  messages: unknown[];
  resultText: string;
  startedAt: number;
  finishedAt: number;
}

export type MemoryScope = "session" | "user";

/** Contract 1: conversations. */
export interface AgentrailSessionStore<Ref extends string = SessionRef> {
  getOrCreate(
    tenantId: string,
    userId: string,
    agentId: string,
    sessionId?: string,
  ): Promise<{ sessionId: string; sessionRef: Ref }>;
  loadMessages(tenantId: string, sessionId: string, limit?: number): Promise<Message[]>;
  loadMessagesWithBudget(
    tenantId: string,
    sessionId: string,
    tokenBudget?: number,
  ): Promise<Message[]>;
  loadAllMessages(tenantId: string, sessionId: string): Promise<Message[]>;
  appendMessages(tenantId: string, sessionId: string, messages: Message[]): Promise<void>;
  recordTurn(tenantId: string, sessionId: string, usage: Usage): Promise<void>;
  compactIfNeeded(
    tenantId: string,
    sessionId: string,
    summarizeFn: (messages: Message[]) => Promise<string>,
    options?: CompactionOptions,
  ): Promise<boolean>;
  ping?(): Promise<void>;
  createTodoStorage?(sessionRef: Ref): TodoStorage;
  persistSkillSubAgentLog?(sessionRef: Ref, entry: SkillLog): Promise<void>;
  readMemoryDocument?(
    tenantId: string,
    ownerId: string,
    scope: MemoryScope,
    name: string,
  ): Promise<string | null>;
  writeMemoryDocument?(
    tenantId: string,
    ownerId: string,
    scope: MemoryScope,
    name: string,
    content: string,
  ): Promise<void>;
  appendMemoryDocument?(
    tenantId: string,
    ownerId: string,
    scope: MemoryScope,
    name: string,
    content: string,
  ): Promise<void>;
  readToolResultArtifact?(sessionRef: Ref, toolCallId: string): Promise<string | null>;
  writeToolResultArtifact?(sessionRef: Ref, toolCallId: string, content: string): Promise<void>;
}

/** Contract 2: the sessions of a user, newest first. */
export interface UserSessionLister {
  listSessionsByUser(tenantId: string, userId: string): Promise<SessionMeta[]>;
}

/** What a sandbox is given of documents and artifacts. Methods are called without their object. */
export interface SandboxMemoProvider {
  readMemoryDocument(
    tenantId: string,
    ownerId: string,
    scope: MemoryScope,
    name: string,
  ): Promise<string | null>;
  writeMemoryDocument?(
    tenantId: string,
    ownerId: string,
    scope: MemoryScope,
    name: string,
    content: string,
  ): Promise<void>;
  listToolResultArtifactIds?(sessionRef: string): Promise<string[]>;
  readToolResultArtifact?(sessionRef: string, toolCallId: string): Promise<string | null>;
  writeToolResultArtifact?(sessionRef: string, toolCallId: string, content: string): Promise<void>;
}

export interface MemoryIndexEntry {
  name: string;
  path: string;
  exists: boolean;
  sizeTokensApprox: number;
  updatedAt: number | null;
  summary: string | null;
}
export interface MemoryIndex {
  entries: MemoryIndexEntry[];
}

/** One event of a run as it is traced. `sequence` begins anew with each request; `id` is the envelope's own. */
export interface TraceEnvelope {
  id: string;
  timestamp: string;
  sequence: number;
  source: "runtime" | "orchestration";
  event: object;
  traceId?: string;
  sessionId?: string;
  tenantId?: string;
}

/** Contract 3: the trace of one session. */
export interface SessionTraceStore<Envelope = TraceEnvelope> {
  appendEnvelope(envelope: Envelope): Promise<void>;
  loadEnvelopes(): Promise<Envelope[]>;
}

/** What the last turn took of the context: input with what was cached, and the share of 200,000 tokens. */
export interface SessionContextUsage {
  inputTokens: number;
  outputTokens: number;
  budgetUsedPct: number;
}

export interface InspectorSession {
  tenantId: string;
  sessionId: string;
  userId?: string;
  lastActive?: string;
  turns?: number;
  tokens?: number;
  status?: "idle" | "error";
}
