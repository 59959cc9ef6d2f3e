"""`client.subjects`: lists whom keys and tokens speak for, and erases one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode

from threadkeep import calls
from threadkeep.errors import ProtocolError
from threadkeep.http.transport import Request
from threadkeep.records import listed


@dataclass(frozen=True)
class Subject:
    """A subject and what it has. Counts end at 10,000 each; then `partial` is true.

    `size_bytes` is of threads, sessions and items, and `updated_at` (RFC 3339) of the newest change
    of one; both are of what was counted.
    """

    subject: str
    keys: int
    threads: int
    sessions: int
    snapshots: int
    items: int
    size_bytes: int
    partial: bool
    updated_at: str | None = None


@dataclass(frozen=True)
class SubjectPage:
    """A page of subjects. `next_cursor` is None on the last one."""

    subjects: list[Subject]
    next_cursor: str | None


@dataclass(frozen=True)
class ErasureReceipt:
    """What an erasure removed. Counts are of rows; `size_bytes` as threads and items have it.

    `packs` are objects that leave the object store in the next minutes.
    """

    keys: int
    threads: int
    items: int
    checkpoints: int
    writes: int
    values: int
    delta_bases: int
    chunks: int
    packs: int
    size_bytes: int
    retention_policies: int
    retention_reports: int
    tombstones: int
    answers: int


class Subjects:
    """Part of `Client`."""

    def __init__(self, call: Callable[[Request], dict[str, Any]]) -> None:
        self._call = call

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> SubjectPage:
        """One page of the owners of keys, threads, sessions and snapshots; at most 100.

        Pass `next_cursor` on as `cursor`. Needs a tenant's key, which may be one that only reads.
        """
        return _page(self._call(_list(limit, cursor)))

    def delete(self, subject: str) -> ErasureReceipt:
        """Erase a subject: its keys, and its threads with everything in them. Needs a tenant's key.

        Repeat it after a failure: it removes the rest. Revoke tokens of the subject first.
        """
        return _receipt(self._call(_erase(subject)))


class AsyncSubjects:
    """Part of `AsyncClient`."""

    def __init__(self, call: Callable[[Request], Awaitable[dict[str, Any]]]) -> None:
        self._call = call

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> SubjectPage:
        """See `Subjects.list`."""
        return _page(await self._call(_list(limit, cursor)))

    async def delete(self, subject: str) -> ErasureReceipt:
        """See `Subjects.delete`."""
        return _receipt(await self._call(_erase(subject)))


def _list(limit: int | None, cursor: str | None) -> Request:
    return calls.get("/v1/subjects", {"limit": limit, "cursor": cursor})


def _page(answer: Mapping[str, Any]) -> SubjectPage:
    return SubjectPage(listed(Subject, answer, "subjects"), answer.get("next_cursor"))


def _erase(subject: str) -> Request:
    query = urlencode({"subject": subject})
    return Request("DELETE", f"/v1/subjects?{query}")


def _receipt(answer: Mapping[str, Any]) -> ErasureReceipt:
    counts = {field.name: answer.get(field.name) for field in fields(ErasureReceipt)}
    missing = [name for name, count in counts.items() if not isinstance(count, int)]
    if missing:
        raise ProtocolError(f"the receipt lacks {', '.join(missing)}")
    return ErasureReceipt(**counts)  # type: ignore[arg-type]
