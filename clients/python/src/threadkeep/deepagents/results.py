"""What the file calls answer, as deepagents' results. A failure becomes a text, never an exception.

The texts of the server are those of deepagents' own backends, because models act on them.
"""

from __future__ import annotations

import base64
from typing import cast

from deepagents.backends.protocol import (
    FileData,
    FileInfo,
    GlobTruncationReason,
    GrepMatch,
    ReadResult,
)

from threadkeep.deepagents.scope import Scope
from threadkeep.errors import (
    InternalError,
    NotGrantedError,
    ProtocolError,
    ThreadkeepError,
    TransportError,
    UnauthorizedError,
    UnavailableError,
)
from threadkeep.files import FileEntry, FileMatch, FileWindow

_SAID_EXACTLY = frozenset(
    {
        "file_not_found",
        "offset_past_end",
        "not_text",
        "old_string_empty",
        "string_not_found",
        "string_not_unique",
        "invalid_glob",
        "not_a_file",
    }
)
_REASONS = frozenset({"budget", "unreadable", "transport"})


def text_of(error: ThreadkeepError) -> str:
    """For ls, read, glob and grep, whose errors deepagents puts a word before."""
    if isinstance(error, (TransportError, UnavailableError, ProtocolError, InternalError)):
        named = f", request {error.request_id}" if error.request_id else ""
        return f"the files cannot be reached now ({error.detail}{named}). Try again later."
    return error.detail


def sentence_of(error: ThreadkeepError) -> str:
    """For write, edit and delete, whose errors are shown as they are."""
    return error.detail if error.code in _SAID_EXACTLY else f"Error: {text_of(error)}"


def code_of(error: ThreadkeepError) -> str:
    """For one file of an upload or a download, when the whole call failed."""
    if isinstance(error, (NotGrantedError, UnauthorizedError)):
        return "permission_denied"
    return "invalid_path" if error.field == "path" else text_of(error)


def file_info(scope: Scope, entry: FileEntry) -> FileInfo:
    """An entry of a listing."""
    return FileInfo(
        path=scope.outer(entry.path),
        is_dir=entry.is_dir,
        size=entry.size,
        modified_at=entry.modified_at,
    )


def grep_match(scope: Scope, match: FileMatch) -> GrepMatch:
    """A line that was found."""
    found = {"path": scope.outer(match.path), "line": match.line, "text": match.text}
    return cast("GrepMatch", found)


def reason_of(reason: str | None) -> GlobTruncationReason | None:
    """Why a glob was cut short, if it is a reason that deepagents knows."""
    return cast("GlobTruncationReason", reason) if reason in _REASONS else None


def read_result(window: FileWindow) -> ReadResult:
    """The lines of a file; base64 text where it is binary."""
    binary = window.data is not None
    content = base64.standard_b64encode(window.data or b"").decode() if binary else window.content
    found = {
        "content": content or "",
        "encoding": "base64" if binary else window.encoding,
        "created_at": window.created_at,
        "modified_at": window.modified_at,
    }
    try:
        return ReadResult(
            file_data=cast("FileData", {name: it for name, it in found.items() if it is not None}),
            total_lines=window.total_lines,
            start_line=window.start_line,
            end_line=window.end_line,
            next_offset=window.next_offset,
            no_lines_requested=window.no_lines_requested,
        )
    except ValueError as error:
        raise ProtocolError(f"the answer holds no window of a file: {error}") from error
