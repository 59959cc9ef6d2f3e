"""Two servers, one of each engine."""

from collections.abc import Iterator

import pytest

from support.postgres import Databases
from support.server import Place, Server


@pytest.fixture(params=["sqlite to postgres", "postgres to sqlite"])
def servers(
    request: pytest.FixtureRequest, databases: Databases
) -> Iterator[tuple[Server, Server]]:
    """A server, and one of the other engine with nothing in it."""
    places = [Place(), Place(databases)]
    if request.param.startswith("postgres"):
        places.reverse()
    first, second = (Server(place).start() for place in places)
    try:
        yield first, second
    finally:
        for server in (first, second):
            server.kill()
        for place in places:
            place.remove()
