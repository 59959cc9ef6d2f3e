"""Files: what they look like in the answers of the server.

A file is an item of the store that has the shape of deepagents' files. A namespace is exact: its
files are never those of a namespace below it. The calls themselves are `client.files`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadkeep import records
from threadkeep.errors import InvalidError, ProtocolError
from threadkeep.records import Record
from threadkeep.wide_text import text_of

Namespace = Sequence[str]
_TEXTS = frozenset({"path", "text", "content", "created_at", "modified_at"})
"""Fields that may hold any text."""


@dataclass(frozen=True)
class FileEntry:
    """A file, or a folder, in a listing. `size` is in bytes of UTF-8, or of base64 text."""

    path: str
    is_dir: bool = False
    size: int = 0
    modified_at: str = ""
    created_at: str | None = None
    media_type: str | None = None
    version: int | None = None
    etag: str | None = None
    sha256: str | None = None
    """Of the raw bytes, where it is known."""


@dataclass(frozen=True)
class FilePage:
    """A page of a listing. `next_cursor` is None on the last one."""

    entries: list[FileEntry]
    next_cursor: str | None


@dataclass(frozen=True)
class FileWindow:
    """Lines of a file. `content` is None where the file is binary: then `data` has all of it.

    Lines count from 1, `next_offset` from 0; the fields are None where there is no window.
    """

    encoding: str
    version: int | None = None
    content: str | None = None
    data: bytes | None = None
    size: int | None = None
    created_at: str | None = None
    modified_at: str | None = None
    media_type: str | None = None
    total_lines: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    next_offset: int | None = None
    no_lines_requested: bool = False


@dataclass(frozen=True)
class FileMatch:
    """A line that holds the pattern. `line` counts from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class FileMatches:
    """What a grep found. `truncated`: there is more."""

    matches: list[FileMatch]
    truncated: bool = False


@dataclass(frozen=True)
class FoundFiles:
    """What a glob found. `truncated`: there is more, for `truncation_reason`."""

    matches: list[FileEntry]
    truncated: bool = False
    truncation_reason: str | None = None


@dataclass(frozen=True)
class EditedFile:
    """How often the text was replaced, and the file's version now."""

    path: str
    occurrences: int
    version: int


@dataclass(frozen=True)
class MovedFile:
    """Where it is now. `files` is more than one for a folder."""

    path: str
    files: int
    version: int | None = None


@dataclass(frozen=True)
class Uploaded:
    """What became of one file. `error` is a code such as `invalid_path`, or a text."""

    path: str
    error: str | None = None
    version: int | None = None


@dataclass(frozen=True)
class Downloaded:
    """One file whole, or why not: `file_not_found`, `permission_denied`, …"""

    path: str
    data: bytes | None = None
    error: str | None = None
    media_type: str | None = None
    version: int | None = None
    sha256: str | None = None


def record(kind: type[Record], answer: object) -> Record:
    """A record of an answer; texts that came as bytes are texts in it."""
    if isinstance(answer, dict):
        answer = {name: _text(name, value) for name, value in answer.items()}
    return records.record(kind, answer)


def _text(name: str, value: object) -> object:
    return text_of(value) if isinstance(value, bytes) and name in _TEXTS else value


def listed(kind: type[Record], answer: Mapping[str, Any], field: str) -> list[Record]:
    """The records of an answer's list."""
    return [record(kind, one) for one in records.rows(answer, field)]


def results_of(answer: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """One result for each of what was sent."""
    results = answer.get("results")
    if not isinstance(results, list) or len(results) != count:
        raise ProtocolError("the answer does not hold a result for each file")
    return results


def labels_of(namespace: Namespace, field: str = "namespace") -> list[str]:
    """A namespace as it travels. One text is most likely a mistake, and refused."""
    if isinstance(namespace, str) or not all(isinstance(label, str) for label in namespace):
        raise InvalidError(f"{field} must be a sequence of labels", field=field)
    return list(namespace)
