"""What a ThreadkeepStore can do beyond LangGraph's store: edit, scan, count, follow changes.

All but `count` and `changes` goes through `batch` and `abatch`, so that a subclass sees it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal

from langgraph.store.base import NOT_PROVIDED, BaseStore, NotProvided, SearchItem

from threadkeep.errors import InvalidError, VersionConflictError
from threadkeep.http.connection import Connection
from threadkeep.langgraph.changes import PATIENCE_SECONDS, AsyncChanges, Changes
from threadkeep.langgraph.store_ops import (
    Change,
    count_of,
    count_request,
    edit_op,
    fields_of,
    get_op,
    page_of,
    page_op,
)

EDIT_ATTEMPTS = 64
PAGE_ITEMS = 200
PAUSE_SECONDS_FIRST = 0.002
PAUSE_SECONDS_MAX = 0.25


class StoreExtras(BaseStore):
    """See the module. `ThreadkeepStore` is this and the base store's own methods."""

    # Python 3.10 refuses to combine two bases that both add a __dict__ to the base store.
    __slots__ = ()
    _connection: Connection

    def edit(
        self,
        namespace: tuple[str, ...],
        key: str,
        change: Change,
        *,
        attempts: int = EDIT_ATTEMPTS,
        index: Literal[False] | list[str] | None = None,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> dict[str, Any] | None:
        """Read an item, change its value, put it back if nobody else did meanwhile, else again.

        `change` gets the value (a copy; None when there is no item) and returns the new one, or
        None to delete. It may run several times. Returns what was stored. Raises
        VersionConflictError after so many `attempts`.
        """
        read = get_op(self, namespace, key)
        for attempt in range(attempts):
            found = self.batch([read])[0]
            op, value = edit_op(self, read, found, change, index, ttl)
            if op is None:
                return value
            try:
                self.batch([op])
            except VersionConflictError:
                if attempt + 1 == attempts:
                    raise
                time.sleep(pause(attempt))
            else:
                return value
        raise InvalidError("attempts must be 1 or more", field="attempts")

    async def aedit(
        self,
        namespace: tuple[str, ...],
        key: str,
        change: Change,
        *,
        attempts: int = EDIT_ATTEMPTS,
        index: Literal[False] | list[str] | None = None,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> dict[str, Any] | None:
        """See `edit`."""
        read = get_op(self, namespace, key)
        for attempt in range(attempts):
            found = (await self.abatch([read]))[0]
            op, value = edit_op(self, read, found, change, index, ttl)
            if op is None:
                return value
            try:
                await self.abatch([op])
            except VersionConflictError:
                if attempt + 1 == attempts:
                    raise
                await asyncio.sleep(pause(attempt))
            else:
                return value
        raise InvalidError("attempts must be 1 or more", field="attempts")

    def scan(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        filter: dict[str, Any] | None = None,
        exact: bool | None = None,
        sort: Literal["created", "key"] = "key",
        select: Sequence[str] | None = None,
        values: bool | None = None,
        refresh_ttl: bool | None = None,
        page_items: int = PAGE_ITEMS,
    ) -> Iterator[SearchItem]:
        """Every item below a prefix, each once, whatever others write meanwhile.

        Items that are created or deleted while the scan runs may or may not be in it.
        """
        more = {"exact": exact, "sort": sort, "select": fields_of(select), "values": values}
        cursor: str | None = None
        while True:
            asked = more | {"cursor": cursor}
            op = page_op(self, namespace_prefix, filter, page_items, refresh_ttl, asked)
            page = page_of(self.batch([op])[0])
            yield from page
            if (cursor := page.next_cursor) is None:
                return

    async def ascan(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        filter: dict[str, Any] | None = None,
        exact: bool | None = None,
        sort: Literal["created", "key"] = "key",
        select: Sequence[str] | None = None,
        values: bool | None = None,
        refresh_ttl: bool | None = None,
        page_items: int = PAGE_ITEMS,
    ) -> AsyncIterator[SearchItem]:
        """See `scan`."""
        more = {"exact": exact, "sort": sort, "select": fields_of(select), "values": values}
        cursor: str | None = None
        while True:
            asked = more | {"cursor": cursor}
            op = page_op(self, namespace_prefix, filter, page_items, refresh_ttl, asked)
            page = page_of((await self.abatch([op]))[0])
            for item in page:
                yield item
            if (cursor := page.next_cursor) is None:
                return

    def count(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        filter: dict[str, Any] | None = None,
        exact: bool | None = None,
    ) -> int:
        """How many items there are below a prefix."""
        request = count_request(namespace_prefix, filter, exact)
        return count_of(self._connection.call(request, is_write=False))

    async def acount(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        filter: dict[str, Any] | None = None,
        exact: bool | None = None,
    ) -> int:
        """See `count`."""
        request = count_request(namespace_prefix, filter, exact)
        return count_of(await self._connection.acall(request, is_write=False))

    def changes(
        self,
        namespace: tuple[str, ...] = (),
        /,
        *,
        exact: bool = False,
        after: str | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> Changes:
        """Follow what happens to items below a prefix, or in exactly this namespace.

        Yields ItemChange and Resync, for ever, and comes back by itself when the stream ends. With
        `after`, the `position` of a change or of an earlier follower, from there on. Inside `with`
        the stream is open: what is listed there misses no change.
        """
        return Changes(
            self._connection.settings,
            namespace,
            exact=exact,
            after=after,
            patience_seconds=patience_seconds,
        )

    def achanges(
        self,
        namespace: tuple[str, ...] = (),
        /,
        *,
        exact: bool = False,
        after: str | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> AsyncChanges:
        """See `changes`."""
        return AsyncChanges(
            self.changes(namespace, exact=exact, after=after, patience_seconds=patience_seconds)
        )


def pause(attempt: int) -> float:
    """Seconds to wait after a conflict: at random, so that editors do not meet again."""
    longest: float = min(PAUSE_SECONDS_MAX, PAUSE_SECONDS_FIRST * 2.0**attempt)
    return random.uniform(0.0, longest)
