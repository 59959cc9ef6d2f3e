"""A tenant, or parts of it, as one file, streamed: neither side ever holds it whole. Blocking.

What travels, and what the server answers; the calls themselves are the clients'.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import urlencode

from threadkeep import calls
from threadkeep.errors import ImportConflictError, InvalidError, ProtocolError
from threadkeep.export_frames import Frames
from threadkeep.file_contents import BREAKS_MAX, answer_of, chunks_of, opened, send
from threadkeep.http.retry import Attempts
from threadkeep.http.settings import Settings
from threadkeep.http.transport import Answer, Request, SendFailedError
from threadkeep.local_files import File, replaced, source
from threadkeep.records import record
from threadkeep.snapshot_parts import Labels, labels_of, session_of, several
from threadkeep.snapshots import SessionName

MEDIA_TYPE = "application/vnd.threadkeep.export"
FOR_THE_USER_ONLY = 0o600
"""Permissions of a file that holds conversations in clear."""


KINDS = ("threads", "sessions", "items", "settings", "policies", "snapshots")


@dataclass(frozen=True)
class ImportTally:
    """What became of the nouns of one kind, or in a dry run would become of them."""

    created: int
    unchanged: int
    """Were there as in the file, or their life had ended."""
    replaced: int
    """Were there with other contents."""
    conflicts: int
    """Of a dry run: are there with other contents, and would end the import."""


@dataclass(frozen=True)
class Imported:
    """What an import did, or with `dry_run` would do.

    `is_signed`: the file says so; over HTTP nobody looks at its signatures.
    """

    dry_run: bool
    is_signed: bool
    threads: ImportTally
    sessions: ImportTally
    items: ImportTally
    settings: ImportTally
    policies: ImportTally
    snapshots: ImportTally


def export_request(
    *,
    threads: Sequence[str] | None,
    sessions: Sequence[SessionName] | None,
    namespaces: Sequence[Labels] | None,
    snapshots: Sequence[str] | None,
) -> Request:
    """What asks for an export. Without any part the server takes everything, so that is refused
    where parts were asked for."""
    given = {
        "threads": _all(threads, "threads"),
        "sessions": _all(sessions, "sessions", session_of),
        "namespaces": _all(namespaces, "namespaces", labels_of),
        "snapshots": _all(snapshots, "snapshots"),
    }
    parts = {name: part for name, part in given.items() if part is not None}
    if parts and not any(parts.values()):
        detail = "no part is named: leave the arguments out to export everything"
        raise InvalidError(detail, field=next(iter(parts)))
    return calls.post("/v1/export", parts)


def export(settings: Settings, file: File, request: Request) -> int:
    """Write what is asked for to a file; how many bytes it has."""
    attempts = Attempts(settings, is_write=False, breaks_max=BREAKS_MAX)
    with replaced(file, FOR_THE_USER_ONLY) as target:
        start = target.tell()
        while True:
            outcome = _received(settings, request, target)
            if isinstance(outcome, int):
                return outcome
            if target.tell() > start:
                # The time of a call is for silence, not for what takes long.
                attempts.extend()
            time.sleep(attempts.seconds_until_next(outcome))
            # The next file is another one: what was written since is in it.
            target.seek(start)
            target.truncate()


def import_(
    settings: Settings, file: File, *, overwrite: bool, dry_run: bool, check_first: bool
) -> Imported:
    """Send a file, if need be twice: first only to be looked at. What became of it."""
    with source(file) as opened_file:
        if check_first and not dry_run:
            start = opened_file.tell()
            would = _sent(settings, opened_file, overwrite=overwrite, dry_run=True)
            _require_no_conflict(would)
            opened_file.seek(start)
        return _sent(settings, opened_file, overwrite=overwrite, dry_run=dry_run)


def _sent(settings: Settings, file: BinaryIO, *, overwrite: bool, dry_run: bool) -> Imported:
    flags = {"overwrite": overwrite, "dry_run": dry_run}
    query = urlencode({name: "true" for name, is_set in flags.items() if is_set})
    target = f"/v1/import?{query}" if query else "/v1/import"
    answer = send(settings, target, file, MEDIA_TYPE, method="POST")
    return Imported(
        dry_run=_flag(answer, "dry_run"),
        is_signed=_flag(answer, "is_signed"),
        **{kind: _tally(answer, kind) for kind in KINDS},
    )


def _require_no_conflict(would: Imported) -> None:
    found = {kind: getattr(would, kind).conflicts for kind in KINDS}
    named = ", ".join(f"{kind} {count}" for kind, count in found.items() if count)
    if named:
        detail = f"there with other contents than in the file: {named}; nothing was imported"
        raise ImportConflictError(detail)


def _received(
    settings: Settings, request: Request, file: BinaryIO
) -> int | Answer | SendFailedError:
    """How many bytes were written, or what went wrong."""
    body = request.body or b""
    headers = {"accept": "*/*", "accept-encoding": "identity", "content-length": str(len(body))}
    frames, size, sent = Frames(), 0, io.BytesIO(body)
    try:
        with opened(settings, request.path, headers, method=request.method, body=sent) as response:
            if response.status != 200:
                return answer_of(response)
            for chunk in chunks_of(response):
                frames.take(chunk)
                file.write(chunk)
                size += len(chunk)
    except SendFailedError as error:
        return error
    if not frames.is_whole:
        return SendFailedError("the file ended too early")
    return size


def _all(
    parts: Sequence[Any] | None, field: str, wire: Callable[[Any], Any] | None = None
) -> list[Any] | None:
    if parts is None:
        return None
    return [wire(part) if wire else part for part in several(parts, field)]


def _flag(answer: Mapping[str, Any], name: str) -> bool:
    found = answer.get(name)
    if not isinstance(found, bool):
        raise ProtocolError(f"the answer does not say {name}")
    return found


def _tally(answer: Mapping[str, Any], kind: str) -> ImportTally:
    return record(ImportTally, answer.get(kind))
