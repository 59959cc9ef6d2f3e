"""What a snapshot is to hold, and what of one is to come back: the callers' words for it.

Whatever a caller names becomes the body of a call here, checked; nothing is sent.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from threadkeep.errors import InvalidError
from threadkeep.sessions import json_of, parts_of
from threadkeep.snapshots import HeldLease, SessionName, StagedArchive, ThreadToTake

All = Literal["all"]
Labels = Sequence[str]
ThreadChoice = All | Sequence[str] | Mapping[str, str]
"""Threads of a snapshot: all, these in place, or each into the thread that a mapping names."""

NamespaceChoice = All | Sequence[Labels] | Mapping[tuple[str, ...], Labels]
"""Namespaces of a snapshot: all, these in place, or each into the one that a mapping names."""

SessionChoice = All | Sequence[SessionName] | Mapping[SessionName, Sequence[str]]
"""Sessions of a snapshot: all, these in place, or each into the key that a mapping names."""


def take_body(
    *,
    snapshot_id: str | None,
    threads: Sequence[str | ThreadToTake],
    namespaces: Sequence[Labels],
    sessions: Sequence[SessionName],
    labels: Mapping[str, str] | None,
    document: Any,
    expires_in_seconds: int | None,
    archive: str | StagedArchive | None = None,
) -> dict[str, Any]:
    """The body of a take. What is empty is left out.

    The id is made here where none is given, so that a take can be sent again.
    """
    named = [_thread(one) for one in several(threads, "threads")]
    return {
        "snapshot_id": snapshot_id if snapshot_id is not None else f"snap_{uuid.uuid4().hex}",
        "threads": named or None,
        "namespaces": [labels_of(one) for one in namespaces] or None,
        "sessions": [session_of(one) for one in sessions] or None,
        "labels": dict(labels) if labels else None,
        "document": None if document is None else json_of(document),
        "expires_in_seconds": expires_in_seconds,
        "archive": archive.archive_id if isinstance(archive, StagedArchive) else archive,
    }


def restore_body(
    snapshot_id: str,
    *,
    threads: ThreadChoice | None,
    namespaces: NamespaceChoice | None,
    sessions: SessionChoice | None,
    dry_run: bool,
    safety: bool,
    leases: Sequence[HeldLease],
    subjects: Mapping[str, str] | None,
) -> dict[str, Any]:
    """The body of a restore. Without any choice, the server takes everything in place."""
    return {
        "snapshot_id": snapshot_id,
        "threads": _threads(threads),
        "namespaces": _namespaces(namespaces),
        "sessions": _sessions(sessions),
        "subjects": dict(subjects) if subjects else None,
        "dry_run": dry_run or None,
        "safety": None if safety else False,
        "leases": [lease._asdict() for lease in leases] or None,
    }


def _threads(choice: ThreadChoice | None) -> Any:
    if choice is None or choice == "all":
        return choice
    if isinstance(choice, Mapping):
        return [{"thread_id": one, "into": into} for one, into in choice.items()]
    return [{"thread_id": one} for one in several(choice, "threads")]


def _namespaces(choice: NamespaceChoice | None) -> Any:
    if choice is None or choice == "all":
        return choice
    if isinstance(choice, Mapping):
        pairs = choice.items()
        return [{"namespace": labels_of(one), "into": labels_of(into)} for one, into in pairs]
    return [{"namespace": labels_of(one)} for one in several(choice, "namespaces")]


def _sessions(choice: SessionChoice | None) -> Any:
    if choice is None or choice == "all":
        return choice
    if isinstance(choice, Mapping):
        return [session_of(one) | {"into": parts_of(into)} for one, into in choice.items()]
    return [session_of(one) for one in several(choice, "sessions")]


def session_of(one: SessionName) -> dict[str, Any]:
    """A session as it travels."""
    kind, key = one
    return {"kind": kind, "key": parts_of(key)}


def _thread(one: str | ThreadToTake) -> dict[str, str]:
    return (ThreadToTake(one) if isinstance(one, str) else ThreadToTake(*one))._asdict()


def several(choice: Any, field: str) -> Any:
    """One text is most likely a mistake, and refused."""
    if isinstance(choice, str):
        raise InvalidError(f"{field} must be a sequence", field=field)
    return choice


def labels_of(found: Labels) -> list[str]:
    """A namespace as it travels."""
    if isinstance(found, str) or not all(isinstance(label, str) for label in found):
        raise InvalidError("a namespace is a sequence of labels", field="namespaces")
    return list(found)
