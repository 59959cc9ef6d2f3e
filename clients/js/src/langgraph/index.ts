/** For LangGraph.js: the checkpointer and the store. */

export type { PrunedThread, PruneOptions, PruneReport, Removed } from "../client/prune.js";
export type {
  FilterCondition,
  FilterOperators,
  FilterValue,
  StoreFilter,
} from "../client/store_filter.js";
export type {
  StoreCountOperation,
  StoreGetOperation,
  StoreItem,
  StoreOperation,
  StorePage,
  StorePutOperation,
  StoreSearchItem,
  StoreSearchOperation,
} from "./operations.js";
export { ThreadkeepSaver, type ThreadkeepSaverOptions } from "./saver.js";
export {
  type PutOptions,
  type ScanOptions,
  type SearchOptions,
  type StoreValue,
  ThreadkeepStore,
} from "./store.js";
export type { HistoryOptions, StoreItemVersion } from "./store_history.js";
export {
  type ClientIndexConfig,
  EMBED_ON_SERVER,
  type ServerIndexConfig,
  type StoreIndexConfig,
  type TextEmbeddings,
  type VectorMetric,
} from "./store_index.js";
export type { StoreTtlOptions, ThreadkeepStoreOptions } from "./store_settings.js";
