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
export type {
  Appended,
  Compacted,
  CreatedSession,
  FoundDocument,
  NamedDocument,
  NewSessionEntry,
  Session,
  SessionAddress,
  SessionDocument,
  SessionEntry,
  SessionList,
  SessionPage,
  SessionStream,
  StoredDocument,
} from "./client/session_records.js";
export type {
  AppendOptions,
  CompactOptions,
  ListSessionsOptions,
  LoadOptions,
  Repeatable,
  SessionOrigin,
  Sessions,
} from "./client/sessions.js";
export type { TokenOptions, Tokens } from "./client/tokens.js";

export {
  CodecError,
  ConflictError,
  DocumentNotFoundError,
  type ErrorDetails,
  FenceStaleError,
  HeadMovedError,
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
  SessionNotFoundError,
  SessionTakenError,
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
