"""`client.subjects`: whom keys and tokens speak for, and erasing one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode

from threadkeep.errors import ProtocolError
from threadkeep.http.transport import Request


@dataclass(frozen=True)
class ErasureReceipt:
    """What an erasure removed. Counts are of rows; `size_bytes` as threads count themselves.

    `packs` are objects that leave the object store in the next minutes.
    """

    keys: int
    threads: int
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

    def delete(self, subject: str) -> ErasureReceipt:
        """Erase a subject: its keys, and its threads with everything in them. Needs a tenant's key.

        Repeat it after a failure: it removes the rest. Revoke tokens of the subject first.
        """
        return _receipt(self._call(_erase(subject)))


class AsyncSubjects:
    """Part of `AsyncClient`."""

    def __init__(self, call: Callable[[Request], Awaitable[dict[str, Any]]]) -> None:
        self._call = call

    async def delete(self, subject: str) -> ErasureReceipt:
        """See `Subjects.delete`."""
        return _receipt(await self._call(_erase(subject)))


def _erase(subject: str) -> Request:
    query = urlencode({"subject": subject})
    return Request("DELETE", f"/v1/subjects?{query}")


def _receipt(answer: Mapping[str, Any]) -> ErasureReceipt:
    counts = {field.name: answer.get(field.name) for field in fields(ErasureReceipt)}
    missing = [name for name, count in counts.items() if not isinstance(count, int)]
    if missing:
        raise ProtocolError(f"the receipt lacks {', '.join(missing)}")
    return ErasureReceipt(**counts)  # type: ignore[arg-type]
