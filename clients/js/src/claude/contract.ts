/** The Claude Agent SDK's contract for stores of sessions, restated, so that the package does not need the SDK. */

/** Which transcript. `subpath` names one below the session, of a subagent for example; "" is none. */
export interface SessionKey {
  projectKey: string;
  sessionId: string;
  subpath?: string;
}

/** One line of a transcript. Opaque but for `uuid`, which tells lines that were sent before. */
export type SessionStoreEntry = {
  type: string;
  uuid?: string;
  timestamp?: string;
  [name: string]: unknown;
};

/** What the SDK keeps of a session for its lists. `data` is its own. */
export interface SessionSummaryEntry {
  sessionId: string;
  mtime: number;
  data: Record<string, unknown>;
}

/** The SDK's `foldSessionSummary`: a summary and the entries behind it make the next one. */
export type FoldSessionSummary = (
  previous: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;

/** A store of transcripts, as the SDK calls it. */
export interface SessionStore {
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
  listSessions?(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSessionSummaries?(projectKey: string): Promise<SessionSummaryEntry[]>;
  delete?(key: SessionKey): Promise<void>;
  listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>;
}
