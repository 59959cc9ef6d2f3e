"""The operations of a backend as plans: requests out, results of deepagents back.

Each takes what its method takes. None raises for what the server or the network does.
"""

from __future__ import annotations

import hashlib

from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)

from threadkeep import file_plans as files
from threadkeep.deepagents import results
from threadkeep.deepagents.scope import Scope
from threadkeep.errors import ThreadkeepError
from threadkeep.files import Downloaded, Uploaded
from threadkeep.plans import Plan

APPEND_BYTES_MIN = 4_096
"""An edit of shorter text is not tried as an append: it saves less than a second try costs."""


def ls(scope: Scope, path: str) -> Plan[LsResult]:
    """What is in a folder, by path."""
    try:
        entries = yield from files.ls_all(scope.namespace, scope.inner(path), False)
    except ThreadkeepError as error:
        return LsResult(error=results.text_of(error))
    return LsResult(entries=[results.file_info(scope, entry) for entry in entries])


def read(scope: Scope, path: str, offset: int, limit: int) -> Plan[ReadResult]:
    """Lines of a file, or all of a binary one."""
    bounds = max(0, int(offset)), max(0, int(limit))
    try:
        window = yield from files.read(scope.namespace, scope.inner(path), *bounds)
        return results.read_result(window)
    except ThreadkeepError as error:
        return ReadResult(error=results.text_of(error))


def grep(
    scope: Scope, pattern: str, path: str | None, include: str | None, max_count: int | None
) -> Plan[GrepResult]:
    """Lines that hold a text."""
    where = scope.inner_or_none(path)
    try:
        found = yield from files.grep(scope.namespace, pattern, where, include, max_count)
    except ThreadkeepError as error:
        return GrepResult(error=results.text_of(error))
    matches = [results.grep_match(scope, match) for match in found.matches]
    return GrepResult(matches=matches, truncated=found.truncated)


def glob(scope: Scope, pattern: str, path: str | None) -> Plan[GlobResult]:
    """Files by their names."""
    where = scope.inner_or_none(path)
    try:
        found = yield from files.glob(scope.namespace, pattern, where, None)
    except ThreadkeepError as error:
        return GlobResult(error=results.text_of(error))
    return GlobResult(
        matches=[results.file_info(scope, entry) for entry in found.matches],
        truncated=found.truncated,
        truncation_reason=results.reason_of(found.truncation_reason),
    )


def write(scope: Scope, path: str, content: str) -> Plan[WriteResult]:
    """Create or replace a file."""
    try:
        yield from files.write(scope.namespace, scope.inner(path), content, None)
    except ThreadkeepError as error:
        return WriteResult(error=results.sentence_of(error))
    return WriteResult(path=path)


def edit(
    scope: Scope, path: str, old_string: str, new_string: str, replace_all: bool
) -> Plan[EditResult]:
    """Replace text, on the server, under the file's lock."""
    where = scope.inner(path)
    try:
        if _may_append(old_string, new_string):
            appended = yield from _append(scope, where, old_string, new_string)
            if appended:
                return EditResult(path=path, occurrences=1)
        edited = yield from files.edit(
            scope.namespace, where, old_string, new_string, replace_all, None
        )
    except ThreadkeepError as error:
        return EditResult(error=results.sentence_of(error))
    return EditResult(path=path, occurrences=edited.occurrences)


def _may_append(old_string: str, new_string: str) -> bool:
    """Whether the edit may be of a whole file that grows, as histories do: only that travels."""
    return APPEND_BYTES_MIN <= len(old_string) < len(new_string) and new_string.startswith(
        old_string
    )


def _append(scope: Scope, path: str, old_string: str, new_string: str) -> Plan[bool]:
    """Whether `old_string` was the whole file, so that adding to it was the edit."""
    try:
        base = hashlib.sha256(old_string.encode()).hexdigest()
        rest = new_string[len(old_string) :]
        yield from files.append(scope.namespace, path, rest, base, None)
    except UnicodeEncodeError:
        return False
    except ThreadkeepError as error:
        # Whatever else is wrong, the edit itself says it in its own words.
        if error.status is None or not 400 <= error.status < 500:
            raise
        return False
    return True


def delete(scope: Scope, path: str) -> Plan[DeleteResult]:
    """Remove a file, or a folder with everything in it."""
    try:
        yield from files.delete(scope.namespace, scope.inner(path), None)
    except ThreadkeepError as error:
        return DeleteResult(error=results.sentence_of(error))
    return DeleteResult(path=path)


def upload(scope: Scope, contents: list[tuple[str, bytes]]) -> Plan[list[FileUploadResponse]]:
    """Put files whole. A request that fails fails for its files only."""
    done: list[Uploaded] = []
    inner = [(scope.inner(path), data) for path, data in contents]
    for batch in files.upload_batches(inner):
        try:
            done += yield from files.upload(scope.namespace, batch)
        except ThreadkeepError as error:
            code = results.code_of(error)
            done += [Uploaded(path, code) for path, _ in batch]
    return [
        FileUploadResponse(path=path, error=one.error)
        for (path, _), one in zip(contents, done, strict=True)
    ]


def download(scope: Scope, paths: list[str]) -> Plan[list[FileDownloadResponse]]:
    """Get files whole."""
    found: list[Downloaded]
    try:
        found = yield from files.download(scope.namespace, [scope.inner(path) for path in paths])
    except ThreadkeepError as error:
        code = results.code_of(error)
        found = [Downloaded(path, error=code) for path in paths]
    return [
        FileDownloadResponse(path=path, content=one.data, error=one.error)
        for path, one in zip(paths, found, strict=True)
    ]
