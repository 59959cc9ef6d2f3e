/** For ComputerAgent: its sessions, and the checkpoints of its deepagents engine, on a threadkeep server. */

export {
  type HttpStoreHost,
  type HttpStoreOptions,
  httpCheckpointer,
  httpSessionStore,
} from "./builders.js";
export { SessionStoreSaver, sessionStoreCheckpointer } from "./session_saver.js";
export {
  type HttpStateStore,
  httpStateStore,
  type ListedSnapshot,
  type ListStatesFilter,
  type SandboxRecord,
  type SandboxSnapshot,
} from "./state_store.js";
