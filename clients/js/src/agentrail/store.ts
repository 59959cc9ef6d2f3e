/** `ThreadkeepAgentrailStore`: sessions of Agentrail on a threadkeep server. */

import { Calls } from "../client/calls.js";
import { Sessions } from "../client/sessions.js";
import { Connection } from "../http/connection.js";
import type { CallOptions } from "../http/deadline.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { showAs } from "../http/shown.js";
import { segmentOf } from "../wire/ids.js";
import { randomId } from "../wire/random_id.js";
import { AgentrailCalls, entriesOf, sessionPath, tenantPath } from "./calls.js";
import { type CompactedSession, Compactions, type Summarize } from "./compaction.js";
import type {
  AgentrailSessionStore,
  CompactionOptions,
  MemoryIndex,
  MemoryScope,
  Message,
  SandboxMemoProvider,
  SessionContextUsage,
  SessionMeta,
  SessionRef,
  SkillLog,
  TodoStorage,
  Usage,
  UserSessionLister,
} from "./contract.js";
import { Memory } from "./memory.js";
import { Messages } from "./messages.js";
import { placeOf, type SessionPlace, sessionRefOf } from "./session_ref.js";
import { BUDGET_TOKENS } from "./tokens.js";

const USER_SESSIONS_MAX = 500;
const CONTEXT_TOKENS = 200_000;
/** The kind of the sessions that these adapters write. */
const KIND = "agentrail";
const TURNS = "turns";

/**
 * Agentrail's session store, lister of a user's sessions, and provider of memory for sandboxes. `url` and `apiKey` default to
 * THREADKEEP_URL and THREADKEEP_API_KEY. Constructing does no I/O and there is nothing to close. Methods are bound, because a
 * sandbox manager takes them out of the object. `Ref` is Agentrail's type of a session's reference; both spellings are read.
 */
export class ThreadkeepAgentrailStore<Ref extends string = SessionRef>
  implements AgentrailSessionStore<Ref>, UserSessionLister, SandboxMemoProvider
{
  readonly #options: ConnectionOptions;
  readonly #calls: AgentrailCalls;
  readonly #sessions: Sessions;
  readonly #messages: Messages;
  readonly #compactions: Compactions;
  readonly #memory: Memory;

  constructor(options: ConnectionOptions = {}) {
    const connection = new Connection(settingsOf(options));
    this.#options = options;
    this.#calls = new AgentrailCalls(connection);
    this.#sessions = new Sessions(new Calls(connection));
    this.#messages = new Messages(this.#calls);
    this.#compactions = new Compactions(this.#calls, this.#messages);
    this.#memory = new Memory(this.#calls);
    showAs(this, connection.url);
  }

  /** A store with other limits. */
  readonly withOptions = (options: CallOptions): ThreadkeepAgentrailStore<Ref> => {
    return new ThreadkeepAgentrailStore<Ref>({ ...this.#options, ...options });
  };

  /** The session, made where there is none. Its first user and agent stay. */
  readonly getOrCreate = async (
    tenantId: string,
    userId: string,
    agentId: string,
    sessionId: string = randomId(),
  ): Promise<{ sessionId: string; sessionRef: Ref }> => {
    const body = { userId, agentId };
    await this.#calls.send(sessionPath({ tenantId, sessionId }), body, { method: "PUT" });
    return { sessionId, sessionRef: this.getSessionRef(tenantId, sessionId) };
  };

  /** The newest, oldest of them first; without a limit all. */
  readonly loadMessages = async (
    tenantId: string,
    sessionId: string,
    limit?: number,
  ): Promise<Message[]> => {
    if (limit !== undefined && limit <= 0) return [];
    return (await this.#messages.load({ tenantId, sessionId }, limit)).messages;
  };

  /** The newest that fit, at least one. */
  readonly loadMessagesWithBudget = (
    tenantId: string,
    sessionId: string,
    tokenBudget = BUDGET_TOKENS,
  ): Promise<Message[]> => {
    return this.#messages.withinBudget({ tenantId, sessionId }, tokenBudget);
  };

  readonly loadAllMessages = async (tenantId: string, sessionId: string): Promise<Message[]> => {
    return (await this.#messages.load({ tenantId, sessionId })).messages;
  };

  /** With a key of its own for each call, so that a request that is sent again is not a second one. */
  readonly appendMessages = (
    tenantId: string,
    sessionId: string,
    messages: Message[],
  ): Promise<void> => {
    return this.#messages.append({ tenantId, sessionId }, messages);
  };

  readonly recordTurn = async (
    tenantId: string,
    sessionId: string,
    usage: Usage,
  ): Promise<void> => {
    const idempotencyKey = randomId();
    const path = sessionPath({ tenantId, sessionId }, "turns");
    await this.#calls.send(path, usage, { idempotencyKey });
  };

  /** Of the last turn; null before the first. */
  readonly getLastContextUsage = async (
    tenantId: string,
    sessionId: string,
  ): Promise<SessionContextUsage | null> => {
    const session = { kind: KIND, key: [tenantId, sessionId] };
    const page = await this.#sessions.load(session, { stream: TURNS, tail: 1 });
    const usage = page?.entries[0]?.data as Partial<Usage> | undefined;
    if (!usage) return null;
    const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, outputTokens = 0 } = usage;
    const input = inputTokens + cacheReadTokens + cacheWriteTokens;
    const budgetUsedPct = Math.round((input / CONTEXT_TOKENS) * 100);
    return { inputTokens: input, outputTokens, budgetUsedPct };
  };

  /** Whether it ran. `summarizeFn` runs here; what is appended meanwhile stays behind the kept messages. */
  readonly compactIfNeeded = async (
    tenantId: string,
    sessionId: string,
    summarizeFn: Summarize,
    options: CompactionOptions = {},
  ): Promise<boolean> => {
    return (await this.compactSession(tenantId, sessionId, summarizeFn, options)) !== null;
  };

  /** The same, with what it did; `force` compacts below the trigger, too. */
  readonly compactSession = (
    tenantId: string,
    sessionId: string,
    summarizeFn: Summarize,
    options: CompactionOptions & { force?: boolean } = {},
  ): Promise<CompactedSession | null> => {
    return this.#compactions.run({ tenantId, sessionId }, summarizeFn, options);
  };

  /** Every message there ever was: archives in place of their placeholders. */
  readonly loadFullSessionMessages = (tenantId: string, sessionId: string): Promise<Message[]> => {
    return this.#compactions.whole({ tenantId, sessionId });
  };

  /** What a placeholder stands for; the first `count` of it, if that is not 0. */
  readonly loadCompactedMessages = async (
    tenantId: string,
    sessionId: string,
    count = 0,
    archiveId?: string,
  ): Promise<Message[]> => {
    if (archiveId === undefined) return [];
    const archived = await this.#compactions.archived({ tenantId, sessionId }, archiveId);
    return count > 0 ? archived.slice(0, count) : archived;
  };

  /** Newest first. */
  readonly listSessionsByUser = (tenantId: string, userId: string): Promise<SessionMeta[]> => {
    return this.#sessionsOf(tenantId, userId, USER_SESSIONS_MAX);
  };

  readonly listSessionIdsByUser = (
    tenantId: string,
    userId: string,
    limit = 10,
  ): Promise<SessionMeta[]> => {
    return this.#sessionsOf(tenantId, userId, limit);
  };

  /** With everything that belongs to it. */
  readonly deleteSession = async (tenantId: string, sessionId: string): Promise<void> => {
    await this.#sessions.delete({ kind: KIND, key: [tenantId, sessionId] });
  };

  /** Fails when the server is not ready. */
  readonly ping = (): Promise<void> => this.#calls.probe();

  readonly getSessionRef = (tenantId: string, sessionId: string): Ref => {
    return sessionRefOf({ tenantId, sessionId }) as Ref;
  };

  readonly resolveSessionRef = (sessionRef: string): SessionPlace => placeOf(sessionRef);

  readonly createTodoStorage = (sessionRef: Ref): TodoStorage => {
    const { tenantId, sessionId } = placeOf(sessionRef);
    const owner = { tenantId, ownerId: sessionId, scope: "session" } as const;
    return {
      read: () => this.#memory.read(owner, "TODO.md"),
      write: (content) => this.#memory.write(owner, "TODO.md", content),
    };
  };

  readonly persistSkillSubAgentLog = async (sessionRef: Ref, entry: SkillLog): Promise<void> => {
    const idempotencyKey = randomId();
    await this.#calls.send(sessionPath(placeOf(sessionRef), "skill-logs"), entry, {
      idempotencyKey,
    });
  };

  readonly readMemoryDocument = (
    tenantId: string,
    ownerId: string,
    scope: MemoryScope,
    name: string,
  ): Promise<string | null> => this.#memory.read({ tenantId, ownerId, scope }, name);

  readonly writeMemoryDocument = (
    tenantId: string,
    ownerId: string,
    scope: MemoryScope,
    name: string,
    content: string,
  ): Promise<void> => this.#memory.write({ tenantId, ownerId, scope }, name, content);

  readonly appendMemoryDocument = (
    tenantId: string,
    ownerId: string,
    scope: MemoryScope,
    name: string,
    content: string,
  ): Promise<void> => this.#memory.append({ tenantId, ownerId, scope }, name, content);

  /** NOTES.md and TODO.md of the session and USER.md of the user. */
  readonly buildMemoryIndex = (
    tenantId: string,
    userId: string,
    sessionId: string,
  ): Promise<MemoryIndex> => this.#memory.index(tenantId, userId, sessionId);

  readonly readToolResultArtifact = (
    sessionRef: string,
    toolCallId: string,
  ): Promise<string | null> => this.#memory.readArtifact(placeOf(sessionRef), toolCallId);

  readonly writeToolResultArtifact = (
    sessionRef: string,
    toolCallId: string,
    content: string,
  ): Promise<void> => this.#memory.writeArtifact(placeOf(sessionRef), toolCallId, content);

  readonly listToolResultArtifactIds = (sessionRef: string): Promise<string[]> => {
    return this.#memory.artifactIds(placeOf(sessionRef));
  };

  async #sessionsOf(tenantId: string, userId: string, limit: number): Promise<SessionMeta[]> {
    const path = tenantPath(tenantId, "users", segmentOf(userId, "userId"), "sessions");
    const answer = await this.#calls.get(`${path}?limit=${limit}`);
    return entriesOf<SessionMeta>(answer, "sessions");
  }
}
