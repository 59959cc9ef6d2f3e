/** The native client, and the errors that everything in this package throws. LangGraph's part is `threadkeep/langgraph`. */

export {
  type AuditOptions,
  Client,
  type ListThreadsOptions,
  type RetentionPolicyOptions,
} from "./client/client.js";
export type { PrunedThread, PruneOptions, PruneReport, Removed } from "./client/prune.js";
export type {
  AuditEvent,
  AuditPage,
  ChannelStorage,
  ErasureReceipt,
  Grants,
  Identity,
  Lease,
  Quota,
  RetentionPolicy,
  RetentionReport,
  RetentionReportPage,
  Thread,
  ThreadPage,
  ThreadStorage,
  Token,
  Usage,
} from "./client/records.js";
export type { TokenOptions, Tokens } from "./client/tokens.js";

export {
  CodecError,
  ConflictError,
  type ErrorDetails,
  FenceStaleError,
  InternalError,
  InvalidError,
  KeyDestroyedError,
  LeaseHeldError,
  LeaseLostError,
  NotFoundError,
  NotGrantedError,
  PositionGoneError,
  ProtocolError,
  QuotaExceededError,
  ResendWholeError,
  SearchNeedsPlaintextError,
  ThreadExistsError,
  ThreadkeepError,
  ThreadRestoredError,
  ThreadTakenError,
  TokenExpiredError,
  TokenRevokedError,
  TooLargeError,
  TransportError,
  UnauthorizedError,
  UnavailableError,
  VersionConflictError,
} from "./errors.js";
export type { ConnectionOptions } from "./http/settings.js";
export { label } from "./labels.js";
