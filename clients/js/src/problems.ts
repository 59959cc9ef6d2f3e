/** Turns an answer of the server that is an error into the error of its code, or of its status. */

import {
  ArchiveNotFoundError,
  BaseMismatchError,
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
  type ThreadkeepError,
  ThreadNotFoundError,
  ThreadRestoredError,
  ThreadTakenError,
  TokenExpiredError,
  TokenRevokedError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
  VersionConflictError,
} from "./errors.js";
import type { Schemas } from "./wire/schemas.js";

type Json = Record<string, unknown>;
type Kind = new (detail: string, details?: ErrorDetails) => ThreadkeepError;

/** The compiler sees to it that every code of the server's document has its class. */
const BY_CODE: Record<Schemas["ProblemCode"] | "parts_missing", Kind> = {
  malformed_body: InvalidError,
  bad_request: InvalidError,
  invalid: InvalidError,
  needs_graph: InvalidError,
  idempotency_mismatch: InvalidError,
  range_not_satisfiable: RangeNotSatisfiableError,
  search_too_wide: InvalidError,
  search_needs_plaintext: SearchNeedsPlaintextError,
  too_large: TooLargeError,
  head_too_large: TooLargeError,
  quota_exceeded: QuotaExceededError,
  unauthorized: UnauthorizedError,
  key_expired: KeyExpiredError,
  token_expired: TokenExpiredError,
  token_revoked: TokenRevokedError,
  not_granted: NotGrantedError,
  forbidden_host: NotGrantedError,
  forbidden_origin: NotGrantedError,
  forbidden_forwarding: NotGrantedError,
  not_found: NotFoundError,
  run_not_found: NotFoundError,
  assistant_not_found: NotFoundError,
  file_not_found: NoSuchFileError,
  invalid_path: InvalidError,
  offset_past_end: InvalidError,
  not_text: InvalidError,
  not_a_file: InvalidError,
  old_string_empty: InvalidError,
  string_not_found: InvalidError,
  string_not_unique: InvalidError,
  invalid_glob: InvalidError,
  base_mismatch: BaseMismatchError,
  file_exists: PathTakenError,
  value_too_large: TooLargeError,
  thread_restored: ThreadRestoredError,
  thread_exists: ThreadExistsError,
  thread_absent: ConflictError,
  namespace_exists: NamespaceExistsError,
  session_exists: SessionExistsError,
  thread_taken: ThreadTakenError,
  version_conflict: VersionConflictError,
  session_not_found: SessionNotFoundError,
  document_not_found: DocumentNotFoundError,
  thread_not_found: ThreadNotFoundError,
  snapshot_not_found: SnapshotNotFoundError,
  archive_not_found: ArchiveNotFoundError,
  head_moved: HeadMovedError,
  session_taken: SessionTakenError,
  import_conflict: ImportConflictError,
  export_damaged: ExportFileError,
  export_truncated: ExportFileError,
  export_version_unsupported: ExportFileError,
  export_signature_wrong: ExportFileError,
  key_destroyed: KeyDestroyedError,
  position_gone: PositionGoneError,
  resend_whole: ResendWholeError,
  parts_missing: PartsMissingError,
  lease_held: LeaseHeldError,
  fence_stale: FenceStaleError,
  internal: InternalError,
  method_not_allowed: ProtocolError,
  not_acceptable: ProtocolError,
  unsupported_media_type: ProtocolError,
  too_many_requests: UnavailableError,
  unavailable: UnavailableError,
  deadline_exceeded: UnavailableError,
  overloaded: UnavailableError,
  threads_indexing: UnavailableError,
  commit_unknown: UnavailableError,
};
const BY_STATUS = new Map<number, Kind>([
  [400, InvalidError],
  [401, UnauthorizedError],
  [403, NotGrantedError],
  [404, NotFoundError],
  [409, ConflictError],
  [413, TooLargeError],
  [422, InvalidError],
  [429, UnavailableError],
  [500, InternalError],
  [502, UnavailableError],
  [503, UnavailableError],
  [504, UnavailableError],
]);
/** Statuses that count without a problem document: a proxy answers them by itself. */
const TRUSTED_WITHOUT_PROBLEM = new Set([401, 403, 429, 502, 503, 504]);

/** The typed error of a problem document. An unknown code falls back to its status. The end of a stream has a code and no status. */
export function errorOfProblem(status: number | undefined, problem: Json): ThreadkeepError {
  const code = text(problem["code"]);
  const known: Partial<Record<string, Kind>> = BY_CODE;
  const byCode = code !== undefined && Object.hasOwn(known, code) ? known[code] : undefined;
  const kind = byCode ?? BY_STATUS.get(status ?? 0) ?? ProtocolError;
  const { limit, current_version: currentVersion, current_head: currentHead } = problem;
  return new kind(text(problem["detail"]) ?? text(problem["title"]) ?? `HTTP ${status}`, {
    code,
    status,
    field: text(problem["field"]),
    limit: typeof limit === "number" ? limit : undefined,
    currentVersion: typeof currentVersion === "number" ? currentVersion : undefined,
    currentHead: typeof currentHead === "number" ? currentHead : undefined,
    requestId: text(problem["request_id"]),
  });
}

/** The typed error of an answer that is no problem document, such as a proxy's page. */
export function errorOfStatus(status: number, detail: string): ThreadkeepError {
  const kind = TRUSTED_WITHOUT_PROBLEM.has(status) ? BY_STATUS.get(status) : undefined;
  return new (kind ?? ProtocolError)(detail, { status });
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
