/** For Agentrail: its storage contracts on a threadkeep server. */

export type { CompactedSession } from "./compaction.js";
export type * from "./contract.js";
export { ThreadkeepInspectorDataSource } from "./inspector.js";
export {
  createOrchestrationPersistence,
  createOrchestrationPersistenceFactory,
} from "./orchestration.js";
export type * from "./orchestration_contract.js";
export { emptySnapshot, recoveredState } from "./recovery.js";
export type { SessionPlace } from "./session_ref.js";
export { ThreadkeepAgentrailStore } from "./store.js";
export { createTraceStoreFactory } from "./trace.js";
