"""Snapshots: frozen copies of threads, namespaces and sessions, at one moment.

What they look like in the answers of the server, and the calls as plans; the calls themselves are
`client.snapshots`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeVar

from threadkeep import calls
from threadkeep.errors import ProtocolError, SnapshotNotFoundError
from threadkeep.plans import Plan, Step

History = Literal["all", "head"]
Part = TypeVar(
    "Part",
    bound="TakenThread | TakenNamespace | TakenSession | TakenArchive | StagedArchive"
    " | RestoredThread | RestoredNamespace | RestoredSession",
)


@dataclass(frozen=True)
class TakenThread:
    """A thread in a snapshot. With `history` "head", only the newest state of each namespace."""

    thread_id: str
    history: History
    checkpoints: int
    size_bytes: int
    generation: str | None = None


@dataclass(frozen=True)
class TakenNamespace:
    """A namespace in a snapshot, with everything below it."""

    namespace: list[str]
    items: int
    size_bytes: int


@dataclass(frozen=True)
class TakenSession:
    """A session in a snapshot."""

    kind: str
    key: list[str]
    entries: int
    size_bytes: int


@dataclass(frozen=True)
class TakenArchive:
    """What a workspace had when it was staged: a tar, of which these are size and digest."""

    workspace: str
    size_bytes: int
    file_count: int
    sha256: str
    staged_at: str


@dataclass(frozen=True)
class StagedArchive:
    """An archive that waits for a snapshot, for a day: `take(archive=…)`."""

    archive_id: str
    workspace: str
    size_bytes: int
    file_count: int
    sha256: str
    staged_at: str


@dataclass(frozen=True)
class Snapshot:
    """A snapshot: everything in it is as it was at `taken_at`, but for its archive.

    That is as it was at its `staged_at`: both are one moment only if nobody wrote in between.
    `document` is what the caller gave with it; `expires_at` None: it stays until it is deleted.
    """

    snapshot_id: str
    created_at: str
    taken_at: str
    expires_at: str | None
    labels: dict[str, str]
    document: Any
    size_bytes: int
    threads: list[TakenThread]
    namespaces: list[TakenNamespace]
    sessions: list[TakenSession]
    archive: TakenArchive | None = None
    owner: str | None = None
    """The subject whose it is; None where a key of the whole tenant took it."""


@dataclass(frozen=True)
class SnapshotPage:
    """A page of snapshots, newest first. `next_cursor` is None on the last one."""

    snapshots: list[Snapshot]
    next_cursor: str | None


@dataclass(frozen=True)
class RestoredThread:
    """What became of a thread. Writers that know another `generation` are refused.

    `created`: there was no thread of that id, `into` is the same as `thread_id` in place.
    """

    thread_id: str
    into: str
    checkpoints: int
    replaced_checkpoints: int
    created: bool
    generation: str | None = None


@dataclass(frozen=True)
class RestoredNamespace:
    """What became of the items of a namespace and of all below it."""

    namespace: list[str]
    into: list[str]
    written: int
    unchanged: int
    removed: int


@dataclass(frozen=True)
class RestoredSession:
    """What became of a session. `created`: there was none of that key."""

    kind: str
    key: list[str]
    into: list[str]
    entries: int
    replaced_entries: int
    created: bool


@dataclass(frozen=True)
class Restored:
    """What a restore did, or with `dry_run` would do.

    `safety_snapshot_id` has what was there before, where something was restored in place.
    """

    snapshot_id: str
    dry_run: bool
    safety_snapshot_id: str | None
    restored_at: str | None
    threads: list[RestoredThread]
    namespaces: list[RestoredNamespace]
    sessions: list[RestoredSession]


class SessionName(NamedTuple):
    """A session of a snapshot: its kind and its key."""

    kind: str
    key: tuple[str, ...]


class ThreadToTake(NamedTuple):
    """A thread for a snapshot: its whole history, or the newest state of each namespace only."""

    thread_id: str
    history: History = "all"


class HeldLease(NamedTuple):
    """The caller's lease of a thread that is written to."""

    thread_id: str
    fence: int


def take(body: Mapping[str, Any]) -> Plan[Snapshot]:
    """Freeze what `snapshot_parts.take_body` names."""
    return snapshot_of((yield Step(calls.post("/v1/snapshots/take", body), True)))


def get(snapshot_id: str) -> Plan[Snapshot | None]:
    """One snapshot, None when there is none of that id."""
    try:
        answer = yield Step(calls.post("/v1/snapshots/get", {"snapshot_id": snapshot_id}), False)
    except SnapshotNotFoundError:
        return None
    return snapshot_of(answer)


def page(
    labels: Mapping[str, str] | None, limit: int | None, cursor: str | None
) -> Plan[SnapshotPage]:
    """One page of snapshots."""
    body = {"labels": labels and dict(labels), "limit": limit, "cursor": cursor}
    answer = yield Step(calls.post("/v1/snapshots/list", body), False)
    found = [snapshot_of(one) for one in _list_in(answer, "snapshots")]
    return SnapshotPage(found, answer.get("next_cursor"))


def delete(snapshot_id: str) -> Plan[None]:
    """Remove a snapshot; no error when there is none."""
    yield Step(calls.post("/v1/snapshots/delete", {"snapshot_id": snapshot_id}), True)


def restore(body: Mapping[str, Any]) -> Plan[Restored]:
    """Bring back what `snapshot_parts.restore_body` names."""
    return _restored((yield Step(calls.once("/v1/snapshots/restore", body), True)))


def snapshot_of(answer: Mapping[str, Any]) -> Snapshot:
    """The snapshot of an answer."""
    document = answer.get("document")
    try:
        return Snapshot(
            snapshot_id=answer["snapshot_id"],
            created_at=answer["created_at"],
            taken_at=answer["taken_at"],
            expires_at=answer.get("expires_at"),
            labels=dict(answer.get("labels") or {}),
            document=None if document is None else json.loads(document),
            size_bytes=answer["size_bytes"],
            threads=_parts(TakenThread, answer, "threads"),
            namespaces=_parts(TakenNamespace, answer, "namespaces"),
            sessions=_parts(TakenSession, answer, "sessions"),
            archive=part(TakenArchive, answer["archive"]) if answer.get("archive") else None,
            owner=answer.get("owner"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"the answer is no snapshot: {error!r}") from error


def part(kind: type[Part], answer: object) -> Part:
    """A record of an answer. Fields of later servers are ignored, missing ones are an error."""
    if not isinstance(answer, dict):
        raise ProtocolError(f"the answer holds no {kind.__name__}")
    known = {field.name for field in fields(kind)}
    try:
        return kind(**{name: value for name, value in answer.items() if name in known})
    except TypeError as error:
        raise ProtocolError(f"the answer is no {kind.__name__}: {error}") from error


def _restored(answer: Mapping[str, Any]) -> Restored:
    snapshot_id = answer.get("snapshot_id")
    if not isinstance(snapshot_id, str):
        raise ProtocolError("the answer does not name the snapshot")
    return Restored(
        snapshot_id=snapshot_id,
        dry_run=answer.get("dry_run") is True,
        safety_snapshot_id=answer.get("safety_snapshot_id"),
        restored_at=answer.get("restored_at"),
        threads=_parts(RestoredThread, answer, "threads"),
        namespaces=_parts(RestoredNamespace, answer, "namespaces"),
        sessions=_parts(RestoredSession, answer, "sessions"),
    )


def _parts(kind: type[Part], answer: Mapping[str, Any], field: str) -> list[Part]:
    return [part(kind, one) for one in _list_in(answer, field)]


def _list_in(answer: Mapping[str, Any], field: str) -> list[Any]:
    found = answer.get(field)
    if not isinstance(found, list):
        raise ProtocolError(f"the answer holds no {field}")
    return found
