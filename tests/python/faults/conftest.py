"""Starts what fault tests stand on: databases that really sync, a bad network before them, and servers."""

from collections.abc import Iterator

import pytest

from support import settings
from support.front import Front, PlaceBehind
from support.postgres import Databases, Postgres
from support.server import Place, Server


@pytest.fixture
def syncing_postgres() -> Iterator[Postgres]:
    """A PostgreSQL with fsync on, for one test, which may crash it."""
    assert settings.PG_BIN, "THREADKEEP_TEST_PG_BIN must name a folder with initdb and postgres"
    postgres = Postgres(settings.PG_BIN, fsync=True)
    try:
        postgres.start()
        yield postgres
    finally:
        postgres.remove()


@pytest.fixture
def durable_server(engine: str, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of the test's own whose database syncs, on each engine."""
    postgres = request.getfixturevalue("syncing_postgres") if engine == "postgres" else None
    yield from _serve(Place(postgres))


@pytest.fixture
def durable_server_on_postgres(syncing_postgres: Postgres) -> Iterator[Server]:
    yield from _serve(Place(syncing_postgres))


@pytest.fixture
def server_on_postgres(databases: Databases) -> Iterator[Server]:
    """A server of the test's own on the PostgreSQL of the session, which need not sync."""
    yield from _serve(Place(databases), allow_unsafe=True)


@pytest.fixture
def front(syncing_postgres: Postgres) -> Iterator[Front]:
    """Stands before the test's PostgreSQL."""
    with Front(syncing_postgres) as front:
        yield front


@pytest.fixture
def server_behind(front: Front) -> Iterator[Server]:
    """A server that reaches its database through the front."""
    yield from _serve(PlaceBehind(front))


def _serve(place: Place, *, allow_unsafe: bool = False) -> Iterator[Server]:
    server = Server(place, allow_unsafe=allow_unsafe)
    try:
        yield server.start()
    finally:
        server.kill()
        place.remove()
