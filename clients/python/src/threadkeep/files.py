"""Files: what they look like, and the plans of the calls about them.

A file is an item of the store that has the shape of deepagents' files. A namespace is exact: its
files are never those of a namespace below it. The calls themselves are `client.files`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from threadkeep import calls
from threadkeep.errors import InvalidError, NoSuchFileError, ProtocolError
from threadkeep.plans import Plan, Step

BATCH_FILES_MAX = 1_000
BATCH_BYTES_MAX = 8 << 20
"""Of contents in one upload. A larger file travels alone."""

Namespace = Sequence[str]
Record = TypeVar("Record", bound="FileEntry | FileWindow | FileMatch | EditedFile | MovedFile")


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


def read_step(call: str, namespace: Namespace, body: Mapping[str, Any]) -> Step:
    """A call that changes nothing."""
    return Step(calls.post(f"/v1/files/{call}", _addressed(namespace, body)), False)


def write_step(call: str, namespace: Namespace, body: Mapping[str, Any]) -> Step:
    """A call that changes something, once."""
    return Step(calls.once(f"/v1/files/{call}", _addressed(namespace, body)), True)


def ls(
    namespace: Namespace, path: str, recursive: bool, limit: int | None, cursor: str | None
) -> Plan[FilePage]:
    """One page of what is in a folder."""
    body = {"path": path, "recursive": recursive or None, "limit": limit, "cursor": cursor}
    answer = yield read_step("ls", namespace, body)
    return FilePage(listed(FileEntry, answer, "entries"), answer.get("next_cursor"))


def ls_all(namespace: Namespace, path: str, recursive: bool) -> Plan[list[FileEntry]]:
    """Everything in a folder, page by page."""
    entries: list[FileEntry] = []
    cursor: str | None = None
    while True:
        page = yield from ls(namespace, path, recursive, None, cursor)
        entries += page.entries
        cursor = page.next_cursor
        if cursor is None:
            return entries


def read(namespace: Namespace, path: str, offset: int, limit: int | None) -> Plan[FileWindow]:
    """Some lines of a file."""
    answer = yield read_step("read", namespace, {"path": path, "offset": offset, "limit": limit})
    return window(answer)


def window(answer: Mapping[str, Any]) -> FileWindow:
    """The lines of an answer; bytes where the file is binary."""
    data = answer.get("bytes")
    if data is None and not isinstance(answer.get("content"), str):
        raise ProtocolError("the answer holds no content of a file")
    return record(FileWindow, {**answer, "data": data})


def write(namespace: Namespace, path: str, content: str, if_version: int | None) -> Plan[int]:
    """Create or replace a file of text."""
    body = {"path": path, "content": content, "if_version": if_version}
    return _version((yield write_step("write", namespace, body)))


def append(
    namespace: Namespace,
    path: str,
    content: str,
    base_sha256: str | None,
    if_version: int | None,
) -> Plan[int]:
    """Add to the end of a file."""
    body = {
        "path": path,
        "content": content,
        "base_sha256": base_sha256,
        "if_version": if_version,
    }
    return _version((yield write_step("append", namespace, body)))


def edit(
    namespace: Namespace,
    path: str,
    old_string: str,
    new_string: str,
    replace_all: bool,
    if_version: int | None,
) -> Plan[EditedFile]:
    """Replace text in a file."""
    body = {
        "path": path,
        "old_string": old_string,
        "new_string": new_string,
        "replace_all": replace_all or None,
        "if_version": if_version,
    }
    return record(EditedFile, (yield write_step("edit", namespace, body)))


def glob(
    namespace: Namespace, pattern: str, path: str | None, limit: int | None
) -> Plan[FoundFiles]:
    """Files by their names."""
    answer = yield read_step("glob", namespace, {"pattern": pattern, "path": path, "limit": limit})
    matches = listed(FileEntry, answer, "matches")
    return FoundFiles(matches, answer.get("truncated") is True, answer.get("truncation_reason"))


def grep(
    namespace: Namespace,
    pattern: str,
    path: str | None,
    include: str | None,
    max_count: int | None,
) -> Plan[FileMatches]:
    """Lines that hold a text."""
    body = {"pattern": pattern, "path": path, "glob": include, "max_count": max_count}
    answer = yield read_step("grep", namespace, body)
    return FileMatches(listed(FileMatch, answer, "matches"), answer.get("truncated") is True)


def delete(namespace: Namespace, path: str, if_version: int | None) -> Plan[int]:
    """Remove a file, or a folder with everything in it; how many files went."""
    answer = yield write_step("delete", namespace, {"path": path, "if_version": if_version})
    deleted = answer.get("deleted")
    if not isinstance(deleted, int):
        raise ProtocolError("the answer does not say how many files were deleted")
    return deleted


def upload(namespace: Namespace, files: Sequence[tuple[str, bytes]]) -> Plan[list[Uploaded]]:
    """Put files whole, as many in one request as its limits allow."""
    results: list[Uploaded] = []
    for batch in upload_batches(files):
        wires = [{"path": path, "bytes": bytes(data)} for path, data in batch]
        answer = yield write_step("upload", namespace, {"files": wires})
        results += [
            Uploaded(path, found.get("error"), found.get("version"))
            for (path, _), found in zip(batch, results_of(answer, len(batch)), strict=True)
        ]
    return results


def upload_batches(files: Sequence[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """The files in the order given, cut where a request would be too large."""
    batch: list[tuple[str, bytes]] = []
    size = 0
    for path, data in files:
        if batch and (size + len(data) > BATCH_BYTES_MAX or len(batch) >= BATCH_FILES_MAX):
            yield batch
            batch, size = [], 0
        batch.append((path, data))
        size += len(data)
    if batch:
        yield batch


def download(namespace: Namespace, paths: Sequence[str]) -> Plan[list[Downloaded]]:
    """Get files whole."""
    results: list[Downloaded] = []
    for start in range(0, len(paths), BATCH_FILES_MAX):
        batch = list(paths[start : start + BATCH_FILES_MAX])
        answer = yield read_step("download", namespace, {"paths": batch})
        results += [
            _downloaded(path, found)
            for path, found in zip(batch, results_of(answer, len(batch)), strict=True)
        ]
    return results


def _downloaded(path: str, found: Mapping[str, Any]) -> Downloaded:
    data, error = found.get("bytes"), found.get("error")
    if data is None and error is None:
        raise ProtocolError("the answer holds neither a file nor an error")
    return Downloaded(
        path, data, error, found.get("media_type"), found.get("version"), found.get("sha256")
    )


def stat(namespace: Namespace, path: str) -> Plan[FileEntry | None]:
    """One entry; None when there is no such file."""
    try:
        answer = yield read_step("stat", namespace, {"path": path})
    except NoSuchFileError:
        return None
    return record(FileEntry, answer.get("entry"))


def relocate(
    call: str,
    namespace: Namespace,
    source: str,
    target: str,
    to_namespace: Namespace | None,
    overwrite: bool,
    if_version: int | None,
) -> Plan[MovedFile]:
    """Move or copy a file or a folder."""
    body = {
        "from": source,
        "to": target,
        "to_namespace": None if to_namespace is None else labels_of(to_namespace, "to_namespace"),
        "overwrite": overwrite or None,
        "if_version": if_version,
    }
    return record(MovedFile, (yield write_step(call, namespace, body)))


def record(kind: type[Record], answer: object) -> Record:
    """A record of an answer. Fields of later servers are ignored, missing ones are an error."""
    if not isinstance(answer, dict):
        raise ProtocolError(f"the answer holds no {kind.__name__}")
    known = {field.name for field in fields(kind)}
    try:
        return kind(**{name: value for name, value in answer.items() if name in known})
    except TypeError as error:
        raise ProtocolError(f"the answer is no {kind.__name__}: {error}") from error


def listed(kind: type[Record], answer: Mapping[str, Any], field: str) -> list[Record]:
    """The records of an answer's list."""
    found = answer.get(field)
    if not isinstance(found, list):
        raise ProtocolError(f"the answer holds no {field}")
    return [record(kind, one) for one in found]


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


def _addressed(namespace: Namespace, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"namespace": labels_of(namespace), **body}


def _version(answer: Mapping[str, Any]) -> int:
    version = answer.get("version")
    if not isinstance(version, int):
        raise ProtocolError("the answer does not name the file's version")
    return version
