"""`ThreadkeepStore`: LangGraph's long-term memory on a threadkeep server.

The methods are those of the base store, blocking and asynchronous; all of them go through `batch`
and `abatch`, as those of the base class do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Literal

from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    IndexConfig,
    NotProvided,
    Op,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from langgraph.store.base import _ensure_refresh as refresh_of

from threadkeep.http.connection import Connection
from threadkeep.http.settings import TIMEOUT_SECONDS, TransportName, settings_of
from threadkeep.langgraph.embedding import StoreIndexConfig, embedder_of
from threadkeep.langgraph.ready import Ready, acheck, check
from threadkeep.langgraph.store_calls import StoreCalls
from threadkeep.langgraph.store_extras import StoreExtras
from threadkeep.langgraph.store_history import StoreHistory
from threadkeep.langgraph.store_ops import (
    Mode,
    Sort,
    checked_mode,
    delete_op,
    fields_of,
    put_op,
    search_op,
    version_of,
)
from threadkeep.langgraph.store_settings import checked_index, checked_ttl
from threadkeep.langgraph.ticks import Ticks


class ThreadkeepStore(StoreExtras, StoreHistory, BaseStore):
    """Items on a threadkeep server, for sync and async code alike.

    `url` and `api_key` default to the variables THREADKEEP_URL and THREADKEEP_API_KEY, and `url`
    then to http://127.0.0.1:7070. Constructing does no I/O and needs no event loop. One object
    serves any number of threads and event loops.

    `index` and `ttl` are what PostgresStore takes. With `index`, values are embedded in this
    process before they are sent, all texts of a batch in one call, and `search(query=…)` puts the
    nearest items first, each with a `score`; without it a query is a plain listing, as in the base
    store. With `embed` set to EMBED_ON_SERVER the server embeds, in the background.
    Times to live are in minutes; the server keeps
    their fractions, hides what has expired at once and removes it by itself.
    `timeout` is how many seconds a call may take before it raises TransportError or
    UnavailableError (None: as long as it takes); lost connections and a server that restarts are
    ridden out in it.
    Failures raise the types of `threadkeep.errors`; None means that an item does not exist.

    A copy, also a deep one, shares connections. A pickle holds the settings: the key only where it
    was given.
    """

    supports_ttl = True

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        index: IndexConfig | StoreIndexConfig | None = None,
        ttl: TTLConfig | None = None,
        timeout: float | None = TIMEOUT_SECONDS,
        transport: TransportName = "auto",
    ) -> None:
        settings = settings_of(url, api_key, timeout, transport)
        self.index_config = checked_index(index)
        embedder = embedder_of(self.index_config)
        self.embeddings = embedder.embeddings if embedder else None
        self.ttl_config = checked_ttl(ttl)
        self._connection = Connection(settings)
        self._embedder = embedder
        self._calls = StoreCalls(self._connection, embedder)
        self._ticks = Ticks(self._calls.arun_each)

    @classmethod
    def from_conn_string(cls, url: str, **options: Any) -> ThreadkeepStore:
        """A store for `with` and for `async with`; `options` are those of the constructor."""
        return cls(url, **options)

    def setup(self) -> Ready:
        """Check that the server can be used: there are no tables to make. Blocks.

        Raises the types of `threadkeep.errors`. May be awaited, as AsyncPostgresStore's.
        """
        return check(self._connection)

    async def asetup(self) -> None:
        """The same without blocking."""
        await acheck(self._connection)

    def with_options(self, *, timeout: float | None) -> ThreadkeepStore:
        """This store, whose calls may take so many seconds. Connections are shared."""
        clone = self.__copy__()
        clone._connection = self._connection.with_timeout(timeout)
        clone._calls = StoreCalls(clone._connection, self._embedder)
        return clone

    # Everything goes through these two

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """All operations as one: reads see the state from before, changes happen all or none.

        Of several changes of one item the last one counts. Over 1,000 operations, or 16 MiB, they
        travel in several requests, reads first.
        """
        return self._calls.run(list(ops), atomic=True)  # type: ignore[return-value]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same. Single operations of one turn of the event loop travel together."""
        all_ops = list(ops)
        if len(all_ops) == 1:
            return [await self._ticks.run(all_ops[0], self._ends())]
        return await self._calls.arun(all_ops, atomic=True)  # type: ignore[return-value]

    def _ends(self) -> float:
        return time.monotonic() + self._connection.settings.seconds

    # The base store's methods, with more arguments

    def put(  # type: ignore[override]  # the base returns nothing
        self,
        namespace: tuple[str, ...],
        key: str,
        value: dict[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        if_version: int | None = None,
    ) -> int | None:
        """Put an item. With `if_version`, only if the item has that version (0: there is none).

        Raises VersionConflictError otherwise, and returns the new version.
        """
        op = put_op(self, namespace, key, value, index, ttl, if_version)
        return version_of(self.batch([op])[0])

    async def aput(  # type: ignore[override]  # the base returns nothing
        self,
        namespace: tuple[str, ...],
        key: str,
        value: dict[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
        if_version: int | None = None,
    ) -> int | None:
        """See `put`."""
        op = put_op(self, namespace, key, value, index, ttl, if_version)
        return version_of((await self.abatch([op]))[0])

    def delete(
        self, namespace: tuple[str, ...], key: str, *, if_version: int | None = None
    ) -> None:
        """Delete an item, with `if_version` only if it has that version."""
        self.batch([delete_op(namespace, key, if_version)])

    async def adelete(
        self, namespace: tuple[str, ...], key: str, *, if_version: int | None = None
    ) -> None:
        """See `delete`."""
        await self.abatch([delete_op(namespace, key, if_version)])

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        exact: bool | None = None,
        sort: Sort | None = None,
        mode: Mode | None = None,
        select: Sequence[str] | None = None,
        values: bool | None = None,
    ) -> list[SearchItem]:
        """Search below a prefix, newest first; puts do not move an item.

        With `query` and an `index` setting the nearest come first, then what has no vectors.
        `mode="vector"` says so, and raises InvalidError where that cannot be. `mode="text"` finds
        what has words of the query, the best first, in namespaces that declare `text_fields`
        (`put_setting`); `mode="hybrid"` puts both orders together. All three set `score`.

        With `exact`, only in the namespace itself. `sort` may be "updated" or "key". `select`
        names top-level fields, `values=False` leaves the values out.
        """
        more = {
            "exact": exact,
            "sort": sort,
            "mode": checked_mode(self.index_config, mode, query),
            "select": fields_of(select),
            "values": values,
        }
        plain = SearchOp(
            namespace_prefix, filter, limit, offset, query, refresh_of(self.ttl_config, refresh_ttl)
        )
        op = search_op(plain, more)
        return self.batch([op])[0]  # type: ignore[return-value]

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        exact: bool | None = None,
        sort: Sort | None = None,
        mode: Mode | None = None,
        select: Sequence[str] | None = None,
        values: bool | None = None,
    ) -> list[SearchItem]:
        """See `search`."""
        more = {
            "exact": exact,
            "sort": sort,
            "mode": checked_mode(self.index_config, mode, query),
            "select": fields_of(select),
            "values": values,
        }
        plain = SearchOp(
            namespace_prefix, filter, limit, offset, query, refresh_of(self.ttl_config, refresh_ttl)
        )
        op = search_op(plain, more)
        return (await self.abatch([op]))[0]  # type: ignore[return-value]

    # Closing

    @property
    def transport(self) -> str:
        """The HTTP core in use: "asyncio", "pyreqwest" or "stdlib"."""
        return self._connection.transport_name

    def close(self) -> None:
        """Close idle connections. Optional and repeatable."""
        self._connection.close()

    async def aclose(self) -> None:
        """The same; closing does not wait for anything."""
        self._connection.close()

    def __enter__(self) -> ThreadkeepStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> ThreadkeepStore:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    # Copies

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.described})"

    def __copy__(self) -> ThreadkeepStore:
        clone = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__)
        return clone

    def __deepcopy__(self, memo: dict[int, Any]) -> ThreadkeepStore:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        own = ("_calls", "_ticks")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._calls = StoreCalls(self._connection, self._embedder)
        self._ticks = Ticks(self._calls.arun_each)
