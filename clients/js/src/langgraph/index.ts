/** For LangGraph.js: the checkpointer. */

export type { PrunedThread, PruneOptions, PruneReport, Removed } from "./prune.js";
export { ThreadkeepSaver, type ThreadkeepSaverOptions } from "./saver.js";
