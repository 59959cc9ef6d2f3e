/** The native client, and the errors that everything in this package throws. LangGraph's part is `threadkeep/langgraph`. */

export type { ChangesOptions, ItemChange, ItemChanges } from "./client/changes.js";
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
} from "./client/checkpoint_records.js";
export type {
  CheckpointConditions,
  CheckpointOptions,
  Checkpoints,
  ListCheckpointsOptions,
  ScanCheckpointsOptions,
  ShownOptions,
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
  FileAddress,
  ListDriveOptions,
  ScanDriveOptions,
  UploadToDriveOptions,
} from "./client/drive.js";
export type {
  AppendedFile,
  DownloadedFile,
  EditedFile,
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
export type {
  AppendFileOptions,
  ChangeFileOptions,
  Dialect,
  EditFileOptions,
  FileOptions,
  Files,
  FileToUpload,
  GlobFilesOptions,
  GrepFilesOptions,
  LsOptions,
  MoveFilesOptions,
  PutContentOptions,
  ReadFileOptions,
} from "./client/files.js";
export type { PrunedThread, PruneOptions, PruneReport, Removed } from "./client/prune.js";
export type {
  AuditEvent,
  AuditPage,
  ChannelStorage,
  CreatedThread,
  ErasureReceipt,
  Grants,
  Identity,
  Lease,
  Metadata,
  Quota,
  RetentionPolicy,
  RetentionReport,
  RetentionReportPage,
  Thread,
  ThreadPage,
  ThreadPreview,
  ThreadStorage,
  TitleFrom,
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
  ItemValue,
  ItemVersion,
  ItemVersionPage,
  NamespaceSetting,
} from "./client/store_records.js";
export type {
  CreateThreadOptions,
  DeleteThreadOptions,
  ForkThreadOptions,
  ListThreadsOptions,
  SearchThreadsOptions,
  ThreadConditions,
  ThreadStatus,
  Threads,
  ThreadTtl,
  UpdateThreadOptions,
} from "./client/threads.js";
export type { TokenOptions, Tokens } from "./client/tokens.js";
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
