"""The calls of `client.threads`: what people set of threads, search and count, in pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from threadkeep import calls
from threadkeep.calls import Order, Sort, Thread, ThreadPage, ThreadPart, ThreadStatus, ThreadTtl
from threadkeep.errors import ProtocolError
from threadkeep.http.connection import Connection
from threadkeep.sessions import json_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

CREATE = "/v1/threads/create"
UPDATE = "/v1/threads/update"
SEARCH = "/v1/threads/search"
COUNT = "/v1/threads/count"


class _Unchanged(Enum):
    """The type of `UNCHANGED`."""

    UNCHANGED = "UNCHANGED"


UNCHANGED: Final = _Unchanged.UNCHANGED
"""The default of `title` and `ttl` in an update: the thread keeps it. None removes it."""


class Conditions(TypedDict, total=False):
    """Conditions of a search. A thread must meet all of them.

    `metadata` has to be contained: objects field by field, lists and all else as a whole. `values`
    has to be contained so in the values of the newest state; the server opens each thread that
    meets the other conditions for it, at most 10,000. `q` is a part of the title, in small or large
    letters, or the beginning of the id. `status` is one that they stand as, or several. Times are
    RFC 3339, "after" from then on, "before" without it.
    """

    ids: Sequence[str]
    prefix: str
    metadata: Mapping[str, Any]
    values: Mapping[str, Any]
    q: str
    graph_id: str
    assistant_id: str
    user_id: str
    owner: str
    created_after: str
    created_before: str
    updated_after: str
    updated_before: str
    status: ThreadStatus | Sequence[ThreadStatus]


@dataclass(frozen=True)
class CreatedThread:
    """A thread, and whether it was made now: `created` is False where it was there."""

    thread: Thread
    created: bool


def create_body(
    thread_id: str | None,
    title: str | None,
    metadata: Mapping[str, Any] | None,
    ttl: ThreadTtl | None,
) -> dict[str, Any]:
    """The body of a creation."""
    return {
        "thread_id": thread_id,
        "title": title,
        "metadata": _json(metadata),
        "ttl": _ttl_body(ttl),
    }


def update_body(
    thread_id: str,
    title: str | Literal[_Unchanged.UNCHANGED] | None,
    metadata: Mapping[str, Any] | None,
    replace_metadata: bool,
    ttl: ThreadTtl | Literal[_Unchanged.UNCHANGED] | None,
    if_version: int | None,
) -> dict[str, Any]:
    """The body of a change. A title or a ttl of None is sent: it takes it away."""
    body: dict[str, Any] = {
        "thread_id": thread_id,
        "metadata": _json(metadata),
        "replace_metadata": replace_metadata or None,
        "if_version": if_version,
    }
    if title is not UNCHANGED:
        body["title"] = title
    if ttl is not UNCHANGED:
        body["ttl"] = _ttl_body(ttl)
    return body


def conditions_body(conditions: Conditions) -> dict[str, Any]:
    """The conditions of a search or a count as they travel."""
    body: dict[str, Any] = dict(conditions)
    lists = {name: _listed(body[name]) for name in ("ids", "status") if body.get(name) is not None}
    objects = {name: _json(body.get(name)) for name in ("metadata", "values")}
    return {**body, **lists, **objects}


def page_body(
    sort: Sort | None,
    order: Order | None,
    limit: int | None,
    cursor: str | None,
    include: Sequence[ThreadPart] | None,
) -> dict[str, Any]:
    """Which page of a search, and what comes with its threads, as it travels."""
    parts = None if include is None else _listed(include)
    return {"sort": sort, "order": order, "limit": limit, "cursor": cursor, "include": parts}


def _listed(given: str | Sequence[str]) -> list[str]:
    """A text alone is one entry, not one for each letter."""
    return [given] if isinstance(given, str) else list(given)


def created_of(answer: dict[str, Any]) -> CreatedThread:
    """The answer of a creation."""
    created = answer.get("created")
    if not isinstance(created, bool):
        raise ProtocolError("the answer does not say whether the thread was made")
    return CreatedThread(calls.thread_of(answer.get("thread")), created)


def count_of(answer: dict[str, Any]) -> int:
    """The answer of a count."""
    count = answer.get("count")
    if not isinstance(count, int):
        raise ProtocolError("the answer holds no count")
    return count


def _ttl_body(ttl: ThreadTtl | None) -> dict[str, Any] | None:
    return None if ttl is None else {"minutes": ttl.minutes, "strategy": ttl.strategy}


def _json(metadata: Mapping[str, Any] | None) -> bytes | None:
    return None if metadata is None else json_of(dict(metadata))


class Threads:
    """Part of `Client`. What people set of threads, and searches by it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(
        self,
        thread_id: str | None = None,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        ttl: ThreadTtl | None = None,
    ) -> CreatedThread:
        """Make a thread without checkpoints; its first commit keeps id, title and metadata.

        Where it is there, it is answered as it is. Without an id the server makes one. Raises
        ThreadTakenError where the thread is another subject's.
        """
        body = create_body(thread_id, title, metadata, ttl)
        return created_of(self._write(CREATE, body))

    def update(
        self,
        thread_id: str,
        *,
        title: str | Literal[_Unchanged.UNCHANGED] | None = UNCHANGED,
        metadata: Mapping[str, Any] | None = None,
        replace_metadata: bool = False,
        ttl: ThreadTtl | Literal[_Unchanged.UNCHANGED] | None = UNCHANGED,
        if_version: int | None = None,
    ) -> Thread:
        """Change title, metadata and ttl; the thread as it is then.

        Fields of `metadata` take the place of those of the same names, the others stay; with
        `replace_metadata` none stays. A title of None goes, and the derived one shows; a ttl of
        None goes. Who sets or removes a ttl has to be able to delete the thread. Raises
        NotFoundError, and VersionConflictError where the thread's `version` is not `if_version`.
        """
        body = update_body(thread_id, title, metadata, replace_metadata, ttl, if_version)
        return calls.thread_of(self._write(UPDATE, body).get("thread"))

    def search(
        self,
        *,
        sort: Sort | None = None,
        order: Order | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        include: Sequence[ThreadPart] | None = None,
        **conditions: Unpack[Conditions],
    ) -> ThreadPage:
        """One page of the threads that meet all conditions, the newest first.

        Pass `next_cursor` on as `cursor` with the same arguments. What is in `include` comes with
        each thread that has checkpoints: "preview" says what it is about, "values" and "interrupts"
        are those of its newest state. A page with them ends early at 8 MiB, and `next_cursor` goes
        on.
        """
        page = page_body(sort, order, limit, cursor, include)
        request = calls.post(SEARCH, {**conditions_body(conditions), **page})
        return calls.thread_page(self._connection.call(request, is_write=False))

    def count(self, **conditions: Unpack[Conditions]) -> int:
        """How many threads meet all conditions."""
        request = calls.post(COUNT, conditions_body(conditions))
        return count_of(self._connection.call(request, is_write=False))

    def _write(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = calls.once(path, body, nullable=("title", "ttl") if path == UPDATE else ())
        return self._connection.call(request, is_write=True)


class AsyncThreads:
    """Part of `AsyncClient`. What people set of threads, and searches by it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(
        self,
        thread_id: str | None = None,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        ttl: ThreadTtl | None = None,
    ) -> CreatedThread:
        """See `Threads.create`."""
        body = create_body(thread_id, title, metadata, ttl)
        return created_of(await self._write(CREATE, body))

    async def update(
        self,
        thread_id: str,
        *,
        title: str | Literal[_Unchanged.UNCHANGED] | None = UNCHANGED,
        metadata: Mapping[str, Any] | None = None,
        replace_metadata: bool = False,
        ttl: ThreadTtl | Literal[_Unchanged.UNCHANGED] | None = UNCHANGED,
        if_version: int | None = None,
    ) -> Thread:
        """See `Threads.update`."""
        body = update_body(thread_id, title, metadata, replace_metadata, ttl, if_version)
        return calls.thread_of((await self._write(UPDATE, body)).get("thread"))

    async def search(
        self,
        *,
        sort: Sort | None = None,
        order: Order | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        include: Sequence[ThreadPart] | None = None,
        **conditions: Unpack[Conditions],
    ) -> ThreadPage:
        """See `Threads.search`."""
        page = page_body(sort, order, limit, cursor, include)
        request = calls.post(SEARCH, {**conditions_body(conditions), **page})
        return calls.thread_page(await self._connection.acall(request, is_write=False))

    async def count(self, **conditions: Unpack[Conditions]) -> int:
        """See `Threads.count`."""
        request = calls.post(COUNT, conditions_body(conditions))
        return count_of(await self._connection.acall(request, is_write=False))

    async def _write(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = calls.once(path, body, nullable=("title", "ttl") if path == UPDATE else ())
        return await self._connection.acall(request, is_write=True)
