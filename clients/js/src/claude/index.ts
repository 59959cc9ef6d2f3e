/** For the Claude Agent SDK: its sessions on a threadkeep server. */

export type {
  FoldSessionSummary,
  SessionKey,
  SessionStore,
  SessionStoreEntry,
  SessionSummaryEntry,
} from "./contract.js";
export { ThreadkeepSessionStore, type ThreadkeepSessionStoreOptions } from "./session_store.js";
