/**
 * Everything that this package throws on purpose, one class per thing a caller can do about it. An answer of the server
 * that is a problem document becomes the class of its `code` (`problems.ts`). Nothing here knows how a request is sent.
 */

/** Details of an error besides its text. */
export interface ErrorDetails {
  code?: string | undefined;
  status?: number | undefined;
  field?: string | undefined;
  limit?: number | undefined;
  currentVersion?: number | undefined;
  currentHead?: number | undefined;
  requestId?: string | undefined;
  cause?: unknown;
}

/**
 * Base class. `detail` is for people, `code` is stable and for programs. `status` is the HTTP status, undefined when no
 * answer of the server is behind the error. `field` and `limit` name what was refused, `requestId` finds the request in
 * the server's log.
 */
export class ThreadkeepError extends Error {
  static readonly code: string = "error";
  readonly detail: string;
  readonly code: string;
  readonly status: number | undefined;
  readonly field: string | undefined;
  readonly limit: number | undefined;
  readonly requestId: string | undefined;

  constructor(detail: string, details: ErrorDetails = {}) {
    const code = details.code ?? new.target.code;
    const known = [
      ["status", details.status],
      ["field", details.field],
      ["limit", details.limit],
      ["request_id", details.requestId],
    ].filter(([, value]) => value !== undefined);
    const named = [code, ...known.map(([name, value]) => `${name} ${value}`)].join(", ");
    super(
      `${detail} [${named}]`,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = new.target.name;
    this.detail = detail;
    this.code = code;
    this.status = details.status;
    this.field = details.field;
    this.limit = details.limit;
    this.requestId = details.requestId;
  }
}

/** An argument is of the wrong kind, missing or out of range. Sending it again is no use. */
export class InvalidError extends ThreadkeepError {
  static override readonly code: string = "invalid";
}

/** Values are encrypted at rest, and the search would have to open more of them than `limit`. */
export class SearchNeedsPlaintextError extends InvalidError {
  static override readonly code = "search_needs_plaintext";
}

/** No byte of the range of a file that was asked for is there. */
export class RangeNotSatisfiableError extends InvalidError {
  static override readonly code = "range_not_satisfiable";
}

/** A value or a request is over the declared `limit`. */
export class TooLargeError extends InvalidError {
  static override readonly code = "too_large";
}

/** No API key was sent, or the server does not know it. */
export class UnauthorizedError extends ThreadkeepError {
  static override readonly code: string = "unauthorized";
}

/** The key is past its time: somebody with another key makes a new one. */
export class KeyExpiredError extends UnauthorizedError {
  static override readonly code = "key_expired";
}

/** The token is past its time: get a new one. */
export class TokenExpiredError extends UnauthorizedError {
  static override readonly code = "token_expired";
}

/** The token, or one that it was made from, was revoked. */
export class TokenRevokedError extends UnauthorizedError {
  static override readonly code = "token_revoked";
}

/** The key does not grant this, or the server refuses the host or origin. */
export class NotGrantedError extends ThreadkeepError {
  static override readonly code = "not_granted";
}

/** The route or the named thing does not exist. A checkpoint that does not exist is undefined. */
export class NotFoundError extends ThreadkeepError {
  static override readonly code: string = "not_found";
}

/** There is no file, and no folder, at the path. */
export class NoSuchFileError extends NotFoundError {
  static override readonly code = "file_not_found";
}

/** The session, or the stream of it that is asked for, was never written. */
export class SessionNotFoundError extends NotFoundError {
  static override readonly code = "session_not_found";
}

/** The session has no document of this name. */
export class DocumentNotFoundError extends NotFoundError {
  static override readonly code = "document_not_found";
}

/** There is no such thread to take or to fork, or it is not the caller's. */
export class ThreadNotFoundError extends NotFoundError {
  static override readonly code = "thread_not_found";
}

/** There is no snapshot of this id, or none of the caller's, or it has expired. */
export class SnapshotNotFoundError extends NotFoundError {
  static override readonly code = "snapshot_not_found";
}

/** There is no staged archive of this id, or it is not the caller's; or a snapshot has none. */
export class ArchiveNotFoundError extends NotFoundError {
  static override readonly code = "archive_not_found";
}

/** The state on the server is not the one the request was made for. */
export class ConflictError extends ThreadkeepError {
  static override readonly code: string = "conflict";
}

/** The thread was restored in place since it was last read: read it again, then go on. */
export class ThreadRestoredError extends ConflictError {
  static override readonly code = "thread_restored";
}

/** The target of a copy already has checkpoints or writes. */
export class ThreadExistsError extends ConflictError {
  static override readonly code = "thread_exists";
}

/** The file does not hold what the append was made for: read it again. */
export class BaseMismatchError extends ConflictError {
  static override readonly code = "base_mismatch";
}

/** Something is at the target of a move or a copy, which `overwrite` would replace. */
export class PathTakenError extends ConflictError {
  static override readonly code = "file_exists";
}

/** The item is at another version than the condition says: `currentVersion`, 0 where there is none. */
export class VersionConflictError extends ConflictError {
  static override readonly code = "version_conflict";
  readonly currentVersion: number | undefined;

  constructor(detail: string, details: ErrorDetails = {}) {
    super(detail, details);
    this.currentVersion = details.currentVersion;
  }
}

/** The session belongs to another subject, and the token is for one's own sessions. */
export class SessionTakenError extends ConflictError {
  static override readonly code = "session_taken";
}

/** Something is there already, and not as in the file of an import: `overwrite` replaces it. */
export class ImportConflictError extends ConflictError {
  static override readonly code = "import_conflict";
}

/** A file of an export is damaged, cut off, of a later format or not signed with the key: see `code`. */
export class ExportFileError extends InvalidError {
  static override readonly code = "export_damaged";
}

/** The log of a session has moved since it was read: `currentHead` is its last sequence number now. */
export class HeadMovedError extends ConflictError {
  static override readonly code = "head_moved";
  readonly currentHead: number | undefined;

  constructor(detail: string, details: ErrorDetails = {}) {
    super(detail, details);
    this.currentHead = details.currentHead;
  }
}

/** A position of the change feed is too old: list the items, and follow without one. */
export class PositionGoneError extends ThreadkeepError {
  static override readonly code = "position_gone";
}

/** The content was encrypted with a key that has been destroyed. Nobody can read it again. */
export class KeyDestroyedError extends ThreadkeepError {
  static override readonly code = "key_destroyed";
}

/** The namespace into which something is to be restored has items. */
export class NamespaceExistsError extends ConflictError {
  static override readonly code = "namespace_exists";
}

/** The session into which another one is to be restored is there. */
export class SessionExistsError extends ConflictError {
  static override readonly code = "session_exists";
}

/** The thread belongs to another subject, and the token is for one's own threads. */
export class ThreadTakenError extends ConflictError {
  static override readonly code = "thread_taken";
}

/** The server cannot resolve a difference. The saver then sends the value whole by itself. */
export class ResendWholeError extends ConflictError {
  static override readonly code = "resend_whole";
}

/**
 * Parts of a value are gone: the thread was pruned or deleted meanwhile, again and again. A saver puts parts again, and reads a
 * checkpoint again, by itself before it throws this.
 */
export class PartsMissingError extends ConflictError {
  static override readonly code = "parts_missing";
}

/** Somebody else holds the lease of the thread. */
export class LeaseHeldError extends ConflictError {
  static override readonly code = "lease_held";
}

/** The fence sent is not the current one: the lease was lost to another holder. */
export class FenceStaleError extends ConflictError {
  static override readonly code = "fence_stale";
}

/**
 * A saver held the lease of the thread, and another holder has had it since. Nothing of the write was stored; reading the
 * thread's state lets the saver write again.
 */
export class LeaseLostError extends FenceStaleError {}

/** The tenant is at a quota: `limit` is the quota, `field` what it counts. */
export class QuotaExceededError extends ThreadkeepError {
  static override readonly code = "quota_exceeded";
}

/** The server could not do it now, and all attempts are used up. May be tried again later. */
export class UnavailableError extends ThreadkeepError {
  static override readonly code = "unavailable";
}

/** A defect of the server; `requestId` finds it in the log. */
export class InternalError extends ThreadkeepError {
  static override readonly code = "internal";
}

/** No connection, a lost one, or no answer in time, in every attempt. */
export class TransportError extends ThreadkeepError {
  static override readonly code = "transport";
}

/**
 * An answer came that is not one of ours: truncated, wrong media type, missing fields. Most often something else answers
 * at this address, or a proxy stands in between.
 */
export class ProtocolError extends ThreadkeepError {
  static override readonly code = "protocol";
}

/** A client of another language, or with another serializer, wrote the stored value. */
export class CodecError extends ThreadkeepError {
  static override readonly code = "unknown_codec";
}
