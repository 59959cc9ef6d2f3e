"""The calls about files as plans, for blocking and asynchronous callers alike."""

from __future__ import annotations

import mimetypes
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from threadkeep import calls
from threadkeep.errors import InvalidError, NoSuchFileError, NotFoundError, ProtocolError
from threadkeep.files import (
    Downloaded,
    EditedFile,
    FileEntry,
    FileMatch,
    FileMatches,
    FilePage,
    FileWindow,
    FoundFiles,
    MovedFile,
    Namespace,
    Uploaded,
    labels_of,
    listed,
    record,
    results_of,
)
from threadkeep.http.transport import Request
from threadkeep.plans import Plan, Step
from threadkeep.wide_text import text_of, wire_text, wire_text_or_none

BATCH_FILES_MAX = 1_000
BATCH_BYTES_MAX = 8 << 20
"""Of contents in one upload. A larger file travels alone."""
FILE_BYTES_MAX = 16 << 20
"""Of a file that is an item of the store too. A larger one is known to the file calls only."""
TOO_LARGE = "value_too_large"
NEXT_TIME = "too_large_for_batch"
UNKNOWN_TYPE = "application/octet-stream"


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
    body = {
        "path": wire_text(path),
        "recursive": recursive or None,
        "limit": limit,
        "cursor": cursor,
    }
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
    answer = yield read_step(
        "read", namespace, {"path": wire_text(path), "offset": offset, "limit": limit}
    )
    return window(answer)


def window(answer: Mapping[str, Any]) -> FileWindow:
    """The lines of an answer; bytes where the file is binary."""
    data = answer.get("bytes")
    content = text_of(answer.get("content")) if data is None else None
    return record(FileWindow, {**answer, "data": data, "content": content})


def write(namespace: Namespace, path: str, content: str, if_version: int | None) -> Plan[int]:
    """Create or replace a file of text."""
    body = {"path": wire_text(path), "content": wire_text(content), "if_version": if_version}
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
        "path": wire_text(path),
        "content": wire_text(content),
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
        "path": wire_text(path),
        "old_string": wire_text(old_string),
        "new_string": wire_text(new_string),
        "replace_all": replace_all or None,
        "if_version": if_version,
    }
    return record(EditedFile, (yield write_step("edit", namespace, body)))


def glob(
    namespace: Namespace, pattern: str, path: str | None, limit: int | None
) -> Plan[FoundFiles]:
    """Files by their names."""
    answer = yield read_step(
        "glob",
        namespace,
        {
            "pattern": wire_text(pattern),
            "path": wire_text_or_none(path),
            "limit": limit,
        },
    )
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
    body = {
        "pattern": wire_text(pattern),
        "path": wire_text_or_none(path),
        "glob": wire_text_or_none(include),
        "max_count": max_count,
    }
    answer = yield read_step("grep", namespace, body)
    return FileMatches(listed(FileMatch, answer, "matches"), answer.get("truncated") is True)


def delete(namespace: Namespace, path: str, if_version: int | None) -> Plan[int]:
    """Remove a file, or a folder with everything in it; how many files went."""
    answer = yield write_step(
        "delete", namespace, {"path": wire_text(path), "if_version": if_version}
    )
    deleted = answer.get("deleted")
    if not isinstance(deleted, int):
        raise ProtocolError("the answer does not say how many files were deleted")
    return deleted


def upload(namespace: Namespace, files: Sequence[tuple[str, bytes]]) -> Plan[list[Uploaded]]:
    """Put files whole, as many in one request as its limits allow; a large one as a stream is."""
    results: list[Uploaded] = []
    for batch in upload_batches(files):
        if len(batch) == 1 and len(batch[0][1]) > FILE_BYTES_MAX:
            results.append((yield from _put_large(namespace, *batch[0])))
            continue
        wires = [{"path": wire_text(path), "bytes": bytes(data)} for path, data in batch]
        answer = yield write_step("upload", namespace, {"files": wires})
        results += [
            Uploaded(path, found.get("error"), found.get("version"))
            for (path, _), found in zip(batch, results_of(answer, len(batch)), strict=True)
        ]
    return results


def _put_large(namespace: Namespace, path: str, data: bytes) -> Plan[Uploaded]:
    kind = mimetypes.guess_type(path)[0] or UNKNOWN_TYPE
    target = content_target(namespace, path)
    request = Request("PUT", target, bytes(data), content_type=kind)
    answer = yield Step(request._replace(idempotency_key=uuid.uuid4().hex), True)
    return Uploaded(path, version=answer.get("version"))


def content_target(namespace: Namespace, path: str, if_version: int | None = None) -> str:
    """Where the bytes of one file are."""
    query = [*(("ns", label) for label in labels_of(namespace)), ("path", path)]
    if if_version is not None:
        query.append(("if_version", str(if_version)))
    try:
        return f"/v1/files/content?{urlencode(query)}"
    except UnicodeEncodeError as error:
        raise InvalidError(f"the path is not Unicode text: {error}", field="path") from error


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
    """Get files whole, in as many requests as the server's answers take. Large ones come alone."""
    results: dict[int, Downloaded] = {}
    rest = list(range(len(paths)))
    while rest:
        batch, rest = rest[:BATCH_FILES_MAX], rest[BATCH_FILES_MAX:]
        wires = [wire_text(paths[at]) for at in batch]
        answer = yield read_step("download", namespace, {"paths": wires})
        left: list[int] = []
        for at, found in zip(batch, results_of(answer, len(batch)), strict=True):
            error = found.get("error")
            # The first file of an answer is always there.
            if error == NEXT_TIME and at != batch[0]:
                left.append(at)
            elif error == TOO_LARGE:
                results[at] = yield from _get_large(namespace, paths[at])
            else:
                results[at] = _downloaded(paths[at], found)
        rest = left + rest
    return [results[at] for at in range(len(paths))]


def _get_large(namespace: Namespace, path: str) -> Plan[Downloaded]:
    try:
        request = Request("GET", content_target(namespace, path))
        answer = yield Step(request, False, raw=True)
    except NotFoundError:
        # It was there a moment ago.
        return Downloaded(path, error="file_not_found")
    return Downloaded(path, answer["body"])


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
        answer = yield read_step("stat", namespace, {"path": wire_text(path)})
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
        "from": wire_text(source),
        "to": wire_text(target),
        "to_namespace": None if to_namespace is None else labels_of(to_namespace, "to_namespace"),
        "overwrite": overwrite or None,
        "if_version": if_version,
    }
    return record(MovedFile, (yield write_step(call, namespace, body)))


def _addressed(namespace: Namespace, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"namespace": labels_of(namespace), **body}


def _version(answer: Mapping[str, Any]) -> int:
    version = answer.get("version")
    if not isinstance(version, int):
        raise ProtocolError("the answer does not name the file's version")
    return version
