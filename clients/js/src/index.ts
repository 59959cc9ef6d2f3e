/** The native client, and the errors that everything in this package throws. LangGraph's part is `threadkeep/langgraph`. */

export type { AuditEventText, AuditTextPage } from "./client/audit_text.js";
export type {
  ChangesOptions,
  ItemChange,
  ItemChanges,
  ThreadChange,
  ThreadChanges,
  ThreadChangesOptions,
} from "./client/changes.js";
export type {
  Checkpoint,
  CheckpointPage,
  CheckpointValues,
  RawChannel,
  RawValue,
  ShownChannel,
  State,
  StateInterrupt,
  StateTask,
  StateWrite,
  StoredValue,
  StoredWrite,
  TimelineNamespace,
  TimelineNode,
  TimelinePage,
} from "./client/checkpoint_records.js";
export type {
  CheckpointConditions,
  CheckpointOptions,
  Checkpoints,
  ListCheckpointsOptions,
  ScanCheckpointsOptions,
  ShownOptions,
  TimelineOptions,
  ValuesOptions,
} from "./client/checkpoints.js";
export {
  type AuditOptions,
  Client,
  type RetentionPolicyOptions,
} from "./client/client.js";
export type {
  Drive,
  DriveEntry,
  DriveOptions,
  DrivePage,
  DriveUrlOptions,
  ListDriveOptions,
  ScanDriveOptions,
  UploadToDriveOptions,
} from "./client/drive.js";
export type {
  AppendFileOptions,
  ChangeFileOptions,
  Dialect,
  EditFileOptions,
  FileOptions,
  FileToUpload,
  FileUrlOptions,
  GlobFilesOptions,
  GrepFilesOptions,
  LsOptions,
  MoveFilesOptions,
  PutContentOptions,
  ReadFileOptions,
} from "./client/file_options.js";
export type {
  AppendedFile,
  DownloadedFile,
  EditedFile,
  FileAddress,
  FileEntry,
  FileLine,
  FileLines,
  FileMatches,
  FilePage,
  FileWindow,
  MovedFiles,
  StoredFile,
  UploadedFile,
  WrittenFile,
} from "./client/file_records.js";
export type { Files } from "./client/files.js";
export type {
  CreateKeyOptions,
  Keys,
  ListKeysOptions,
  RevokeKeyOptions,
} from "./client/keys.js";
export type { ListTenantsOptions, Operator, WhoseKeys } from "./client/operator.js";
export type { PrunedThread, PruneOptions, PruneReport, Removed } from "./client/prune.js";
export type {
  AuditEvent,
  AuditPage,
  Capabilities,
  CreatedKey,
  ErasureReceipt,
  Grants,
  Identity,
  Key,
  KeyPage,
  LiveToken,
  Quota,
  RetentionPolicy,
  RetentionPolicyPage,
  RetentionReport,
  RetentionReportPage,
  ServerInfo,
  Subject,
  SubjectPage,
  Token,
  TokenPage,
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
  SessionKind,
  SessionKindPage,
  SessionList,
  SessionPage,
  SessionStream,
  StoredDocument,
} from "./client/session_records.js";
export type {
  AppendOptions,
  CompactOptions,
  ListSessionKindsOptions,
  ListSessionsOptions,
  LoadOptions,
  Repeatable,
  SessionOrigin,
  Sessions,
} from "./client/sessions.js";
export type {
  Restored,
  RestoredNamespace,
  RestoredSession,
  RestoredThread,
  Snapshot,
  SnapshotArchive,
  SnapshotNamespace,
  SnapshotPage,
  SnapshotSession,
  SnapshotThread,
  StagedArchive,
} from "./client/snapshot_records.js";
export type {
  ListSnapshotsOptions,
  Parts,
  PutArchiveOptions,
  RestoreOptions,
  Snapshots,
  TakeOptions,
} from "./client/snapshots.js";
export type {
  ItemHistoryOptions,
  NamespaceSettingOptions,
  ScanItemsOptions,
  Store,
} from "./client/store.js";
export type {
  ItemConditions,
  ListNamespacesOptions,
  NamespacesOptions,
  PutItemOptions,
  ReadItemOptions,
  SearchItemsOptions,
} from "./client/store_bodies.js";
export type {
  FilterCondition,
  FilterOperators,
  FilterValue,
  StoreFilter,
} from "./client/store_filter.js";
export type {
  GotNamespaceSetting,
  Item,
  ItemPage,
  ItemText,
  ItemValue,
  ItemVersion,
  ItemVersionPage,
  LargeNamespace,
  NamespacePage,
  NamespaceSetting,
} from "./client/store_records.js";
export type { ListSubjectsOptions, Subjects } from "./client/subjects.js";
export type {
  ChannelStorage,
  CreatedThread,
  Lease,
  Metadata,
  RewoundThread,
  Thread,
  ThreadInterrupt,
  ThreadPage,
  ThreadPreview,
  ThreadStorage,
  TitleFrom,
} from "./client/thread_records.js";
export type {
  CreateThreadOptions,
  DeleteThreadOptions,
  ForkThreadOptions,
  ListThreadsOptions,
  MetadataText,
  RewindThreadOptions,
  SearchThreadsOptions,
  ThreadConditions,
  ThreadStatus,
  Threads,
  ThreadTtl,
  UpdateThreadOptions,
} from "./client/threads.js";
export type { ListTokensOptions, MintTokenOptions, TokenOptions, Tokens } from "./client/tokens.js";
export type { ExportOptions, Imported, ImportOptions, ImportTally } from "./client/transfers.js";
export type { Upload, UploadPart } from "./client/upload_records.js";
export type {
  CompleteUploadOptions,
  SendUploadOptions,
  UploadProgress,
  Uploads,
} from "./client/uploads.js";

export {
  ArchiveNotFoundError,
  BaseMismatchError,
  CodecError,
  ConflictError,
  DocumentNotFoundError,
  type ErrorDetails,
  ExportFileError,
  FenceStaleError,
  HeadMovedError,
  ImportConflictError,
  InternalError,
  InvalidError,
  KeyDestroyedError,
  KeyExpiredError,
  LeaseHeldError,
  LeaseLostError,
  NamespaceExistsError,
  NoSuchFileError,
  NotFoundError,
  NotGrantedError,
  PartsMissingError,
  PathTakenError,
  PositionGoneError,
  ProtocolError,
  QuotaExceededError,
  RangeNotSatisfiableError,
  ResendWholeError,
  SearchNeedsPlaintextError,
  SessionExistsError,
  SessionNotFoundError,
  SessionTakenError,
  SnapshotNotFoundError,
  ThreadExistsError,
  ThreadkeepError,
  ThreadNotFoundError,
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
export type { CallOptions } from "./http/deadline.js";
export type { ConnectionOptions } from "./http/settings.js";
export { label, labelWithColons } from "./labels.js";
