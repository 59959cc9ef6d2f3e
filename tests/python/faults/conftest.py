"""What fault tests stand on: databases that really sync, and a server that insists on it."""

from collections.abc import Iterator

import pytest

from support import settings
from support.postgres import Postgres
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


def _serve(place: Place) -> Iterator[Server]:
    server = Server(place, allow_unsafe=False)
    try:
        yield server.start()
    finally:
        server.kill()
        place.remove()
