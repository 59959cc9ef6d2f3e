"""Checks the connection for `setup` of savers and stores, by one call."""

from __future__ import annotations

from collections.abc import Generator

from threadkeep import calls
from threadkeep.http.connection import Connection

WHOAMI = calls.get("/v1/whoami")


class Ready:
    """The outcome of `setup`. `await` is allowed and waits for nothing, as the check is done."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


def check(connection: Connection) -> Ready:
    """Raises what a call would raise: no server, no key, something else at this address."""
    connection.call(WHOAMI, is_write=False)
    return Ready()


async def acheck(connection: Connection) -> None:
    """The same without blocking."""
    await connection.acall(WHOAMI, is_write=False)
