"""Everything that this package raises on purpose, one class per thing a caller can do about it.

An answer of the server that is a problem document becomes the class of its `code`. Nothing here
knows how a request is sent.
"""

from __future__ import annotations

from typing import Any


class ThreadkeepError(Exception):
    """Base class. `detail` is for people, `code` is stable and for programs.

    `status` is the HTTP status, None when no answer of the server is behind the error. `field` and
    `limit` name what was refused, `request_id` finds the request in the server's log.
    """

    code = "error"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        status: int | None = None,
        field: str | None = None,
        limit: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.status = status
        self.field = field
        self.limit = limit
        self.request_id = request_id

    def __str__(self) -> str:
        named = (
            ("status", self.status),
            ("field", self.field),
            ("limit", self.limit),
            ("request_id", self.request_id),
        )
        known = "".join(f", {name} {value}" for name, value in named if value is not None)
        return f"{self.detail} [{self.code}{known}]"


class InvalidError(ThreadkeepError, ValueError):
    """An argument is of the wrong kind, missing or out of range. Sending it again is no use."""

    code = "invalid"


class TooLargeError(InvalidError):
    """A value or a request is over the declared `limit`."""

    code = "too_large"


class SearchNeedsPlaintextError(InvalidError):
    """Values are encrypted at rest, and the search would have to open more of them than `limit`."""

    code = "search_needs_plaintext"


class RangeNotSatisfiableError(InvalidError):
    """No byte of the range of a file that was asked for is there."""

    code = "range_not_satisfiable"


class UnauthorizedError(ThreadkeepError):
    """No key or token was sent, or the server does not know it."""

    code = "unauthorized"


class KeyExpiredError(UnauthorizedError):
    """The key has ended. `detail` says when; somebody with another key makes a new one."""

    code = "key_expired"


class TokenExpiredError(UnauthorizedError):
    """The token has ended. `detail` says when; whoever made it makes a new one."""

    code = "token_expired"


class TokenRevokedError(UnauthorizedError):
    """The token, one that it was narrowed from, or the key that made it was revoked."""

    code = "token_revoked"


class NotGrantedError(ThreadkeepError):
    """The key or token does not grant this, or the server refuses the host or origin."""

    code = "not_granted"


class NotFoundError(ThreadkeepError):
    """The route or the named thing does not exist. A checkpoint that does not exist is None."""

    code = "not_found"


class NoSuchFileError(NotFoundError):
    """There is no file, and no folder, at the path."""

    code = "file_not_found"


class ThreadNotFoundError(NotFoundError):
    """There is no such thread to take or to fork, or it is not the caller's."""

    code = "thread_not_found"


class SnapshotNotFoundError(NotFoundError):
    """There is no snapshot of this id, or none of the caller's, or it has expired."""

    code = "snapshot_not_found"


class ArchiveNotFoundError(NotFoundError):
    """There is no staged archive of this id, or it is not the caller's; or a snapshot has none."""

    code = "archive_not_found"


class SessionNotFoundError(NotFoundError):
    """There is no such session for the key."""

    code = "session_not_found"


class DocumentNotFoundError(NotFoundError):
    """The session has no such document."""

    code = "document_not_found"


class KeyDestroyedError(ThreadkeepError):
    """What is asked for was encrypted with a key that was destroyed: nobody can read it again."""

    code = "key_destroyed"


class ConflictError(ThreadkeepError):
    """The state on the server is not the one the request was made for."""

    code = "conflict"


class ThreadRestoredError(ConflictError):
    """The thread was restored in place since it was last read: read it again, then go on."""

    code = "thread_restored"


class ThreadExistsError(ConflictError):
    """The target of a copy already has checkpoints or writes."""

    code = "thread_exists"


class NamespaceExistsError(ConflictError):
    """The namespace into which something is to be restored has items."""

    code = "namespace_exists"


class SessionExistsError(ConflictError):
    """The session into which another one is to be restored is there."""

    code = "session_exists"


class ThreadTakenError(ConflictError):
    """The thread belongs to another subject than that of the key: choose another thread id."""

    code = "thread_taken"


class ResendWholeError(ConflictError):
    """The server cannot resolve a difference. The saver then sends the value whole by itself."""

    code = "resend_whole"


class PartsMissingError(ConflictError):
    """Parts of a value are gone: the thread was pruned or deleted meanwhile, again and again.

    A saver puts parts again, and reads a checkpoint again, by itself before it raises this.
    """

    code = "parts_missing"


class LeaseHeldError(ConflictError):
    """Somebody else holds the lease of the thread."""

    code = "lease_held"


class FenceStaleError(ConflictError):
    """The fence sent is not the current one: the lease was lost to another holder."""

    code = "fence_stale"


class LeaseLostError(FenceStaleError):
    """A saver held the lease of the thread, and another holder has had it since.

    Nothing of the write was stored. Reading the thread's state lets the saver write again.
    """


class VersionConflictError(ConflictError):
    """The item has another version than `if_version`: `current_version`, 0 when there is none."""

    code = "version_conflict"
    current_version: int | None = None


class BaseMismatchError(ConflictError):
    """The file does not hold what the append was made for: read it again."""

    code = "base_mismatch"


class PathTakenError(ConflictError):
    """Something is at the target of a move or a copy, which `overwrite` would replace."""

    code = "file_exists"


class SessionTakenError(ConflictError):
    """The session belongs to another subject than that of the key: choose another key for it."""

    code = "session_taken"


class ImportConflictError(ConflictError):
    """Something is there already, and not as in the file: import with `overwrite` to replace it."""

    code = "import_conflict"


class HeadMovedError(ConflictError):
    """The stream of a session has other entries than `if_head`: its last is `current_head`."""

    code = "head_moved"
    current_head: int | None = None


class ExportFileError(InvalidError):
    """A file of an export is damaged, cut off, of a later format or signed with another key."""

    code = "export_damaged"


class PositionGoneError(ThreadkeepError):
    """A position of the change feed is too old: list the items, and follow without one."""

    code = "position_gone"


class UnserializableError(InvalidError, TypeError):
    """A value for the store is not JSON: a datetime, a set, NaN, a cycle. Nothing was stored."""

    code = "unserializable"


class QuotaExceededError(ThreadkeepError):
    """The tenant has used up a quota, which `field` and `limit` name. Deleting makes room."""

    code = "quota_exceeded"


class UnavailableError(ThreadkeepError):
    """The server could not do it now, and all attempts are used up. May be tried again later."""

    code = "unavailable"


class InternalError(ThreadkeepError):
    """A defect of the server; `request_id` finds it in the log."""

    code = "internal"


class TransportError(ThreadkeepError):
    """No connection, a lost one, or no answer in time, in every attempt."""

    code = "transport"


class ProtocolError(ThreadkeepError):
    """An answer came that is not one of ours: truncated, wrong media type, missing fields.

    Most often something else answers at this address, or a proxy stands in between.
    """

    code = "protocol"


class CodecError(ThreadkeepError):
    """A stored value is damaged, or carries a codec tag that the serializer cannot read."""

    code = "unknown_codec"


_BY_CODE: dict[str, type[ThreadkeepError]] = {
    "malformed_body": InvalidError,
    "invalid": InvalidError,
    "idempotency_mismatch": InvalidError,
    "range_not_satisfiable": RangeNotSatisfiableError,
    "search_needs_plaintext": SearchNeedsPlaintextError,
    "too_large": TooLargeError,
    "head_too_large": TooLargeError,
    "quota_exceeded": QuotaExceededError,
    "unauthorized": UnauthorizedError,
    "key_expired": KeyExpiredError,
    "token_expired": TokenExpiredError,
    "token_revoked": TokenRevokedError,
    "not_granted": NotGrantedError,
    "forbidden_host": NotGrantedError,
    "forbidden_origin": NotGrantedError,
    "forbidden_forwarding": NotGrantedError,
    "not_found": NotFoundError,
    "thread_not_found": ThreadNotFoundError,
    "snapshot_not_found": SnapshotNotFoundError,
    "archive_not_found": ArchiveNotFoundError,
    "session_not_found": SessionNotFoundError,
    "document_not_found": DocumentNotFoundError,
    "position_gone": PositionGoneError,
    "key_destroyed": KeyDestroyedError,
    "thread_restored": ThreadRestoredError,
    "thread_exists": ThreadExistsError,
    "namespace_exists": NamespaceExistsError,
    "session_exists": SessionExistsError,
    "version_conflict": VersionConflictError,
    "thread_taken": ThreadTakenError,
    "resend_whole": ResendWholeError,
    "parts_missing": PartsMissingError,
    "file_not_found": NoSuchFileError,
    "base_mismatch": BaseMismatchError,
    "file_exists": PathTakenError,
    "session_taken": SessionTakenError,
    "head_moved": HeadMovedError,
    "import_conflict": ImportConflictError,
    "export_damaged": ExportFileError,
    "export_truncated": ExportFileError,
    "export_version_unsupported": ExportFileError,
    "export_signature_wrong": ExportFileError,
    "lease_held": LeaseHeldError,
    "fence_stale": FenceStaleError,
    "internal": InternalError,
}
_BY_STATUS: dict[int, type[ThreadkeepError]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: NotGrantedError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    422: InvalidError,
    429: UnavailableError,
    500: InternalError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}


def error_of_problem(status: int, problem: dict[str, Any]) -> ThreadkeepError:
    """The typed error of a problem document. An unknown code falls back to its status."""
    code = _text(problem.get("code"))
    kind = _BY_CODE.get(code or "") or _BY_STATUS.get(status, ProtocolError)
    limit = problem.get("limit")
    error = kind(
        _text(problem.get("detail")) or _text(problem.get("title")) or f"HTTP {status}",
        code=code,
        status=status,
        field=_text(problem.get("field")),
        limit=limit if isinstance(limit, int) else None,
        request_id=_text(problem.get("request_id")),
    )
    current = problem.get("current_version")
    if isinstance(error, VersionConflictError) and isinstance(current, int):
        error.current_version = current
    head = problem.get("current_head")
    if isinstance(error, HeadMovedError) and isinstance(head, int):
        error.current_head = head
    return error


def error_of_status(status: int, detail: str) -> ThreadkeepError:
    """The typed error of an answer that is no problem document, such as a proxy's page."""
    trusted = status in (401, 403, 429, 502, 503, 504)
    kind = _BY_STATUS[status] if trusted else ProtocolError
    return kind(detail, status=status)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
