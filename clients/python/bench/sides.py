"""The two sides: threadkeep over HTTP and the Postgres savers, on the same PostgreSQL.

Both have as many connections to the database as they want (20) and fsync is on for both.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from wire import Wire

from threadkeep.langgraph import ThreadkeepSaver

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from support.postgres import Postgres  # noqa: E402
from support.server import Place, Server  # noqa: E402

OURS = "threadkeep"
THEIRS = "reference"
SIDES = (OURS, THEIRS)
CONNECTIONS = 20
POOL: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


class Field:
    """A database for each side, and savers on them. Several fields share the PostgreSQL."""

    def __init__(self, databases: Postgres):
        self.databases = databases
        self.place = Place(databases)
        self.server = Server(self.place).start()
        self.key = self.server.new_key()
        self.reference = databases.create()
        with ConnectionPool(self.reference_url(), min_size=1, max_size=1, kwargs=POOL) as pool:
            PostgresSaver(pool).setup()

    def reference_url(self, wire: Wire | None = None) -> str:
        """Of the other side's database, if need be through a proxy that counts."""
        url = self.databases.url(self.reference)
        if wire is None:
            return url
        # The authentication is that of the unix socket behind it.
        return f"postgres://postgres@127.0.0.1:{wire.port}/{self.reference}?sslmode=disable"

    def wire(self, side: str) -> Wire:
        """A proxy that counts bytes, in front of a side."""
        if side == OURS:
            return Wire(self.server.url.removeprefix("http://"))
        return Wire(str(self.databases.folder / ".s.PGSQL.5432"))

    @asynccontextmanager
    async def savers(
        self, side: str, count: int = 1, *, serde: Any = None, wire: Wire | None = None
    ) -> AsyncIterator[list[Any]]:
        """`count` saver objects of a side, which share their connections as far as they can."""
        if side == OURS:
            url = f"http://127.0.0.1:{wire.port}" if wire else self.server.url
            savers = [ThreadkeepSaver(url, api_key=self.key, serde=serde) for _ in range(count)]
            try:
                yield savers
            finally:
                for saver in savers:
                    await saver.aclose()
            return
        pool = AsyncConnectionPool(
            self.reference_url(wire),
            min_size=CONNECTIONS,
            max_size=CONNECTIONS,
            kwargs=POOL,
            open=False,
        )
        async with pool:
            await pool.wait()
            yield [AsyncPostgresSaver(pool, serde=serde) for _ in range(count)]

    def sync_saver(self, side: str) -> tuple[Any, Any]:
        """A saver for blocking calls, and what to close afterwards."""
        if side == OURS:
            saver = ThreadkeepSaver(self.server.url, api_key=self.key)
            return saver, saver
        pool = ConnectionPool(self.reference_url(), min_size=2, max_size=CONNECTIONS, kwargs=POOL)
        pool.wait()
        return PostgresSaver(pool), pool

    def bytes_on_disk(self, side: str, *, full: bool = False) -> int:
        """Tables, indexes and TOAST of a side's database after a vacuum, or a VACUUM FULL."""
        assert self.place.name is not None
        database = self.place.name if side == OURS else self.reference
        self.databases.run("vacuum full" if full else "vacuum analyze", database)
        found = self.databases.run(
            "select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c"
            " join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = 'public' and c.relkind in ('r', 'p')",
            database,
        )
        return int(found[0][0])

    def close(self) -> None:
        self.server.kill()
        self.place.remove()
        self.databases.drop(self.reference)


__all__ = ["OURS", "SIDES", "THEIRS", "Field", "Postgres"]
