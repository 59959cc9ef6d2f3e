"""Fixtures of the Python suites: one server per engine and session, one unused tenant per test.

A test that asks for `server` (or anything made of it) runs twice, on SQLite and on PostgreSQL.
"""

import signal
from collections.abc import Callable, Generator, Iterator

import pytest
from hypothesis import settings as hypothesis_settings
from threadkeep.langgraph import ThreadkeepSaver

# So that an assertion there, too, says what it compared.
pytest.register_assert_rewrite("support")

from differential.settings import DERANDOMIZED
from support import settings
from support.native import Native
from support.postgres import Databases, Postgres
from support.server import Place, Server

# They are not made, rather than skipped, where there is no deepagents, no container engine, or no earlier version of the program.
collect_ignore = (
    [] if settings.EARLIER_BINARY else ["upgrades/test_threads.py", "upgrades/test_two_versions.py"]
)
if not settings.HAS_CONTAINERS:
    collect_ignore += ["deploy/test_engine.py"]
if not settings.HAS_DEEPAGENTS:
    collect_ignore += [
        "equivalence/test_removing_history.py",
        "store/test_deepagents.py",
        "store/test_reference_defects.py",
    ]

# What tests set beside it adds to it. A slow machine fails no example, and none is remembered.
hypothesis_settings.register_profile(
    "threadkeep", derandomize=DERANDOMIZED, deadline=None, database=None, print_blob=True
)
hypothesis_settings.load_profile("threadkeep")


def pytest_configure() -> None:
    # So that a plain kill stops the servers too, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure says what the servers said last: their folder is gone when somebody reads it."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        places = [
            item.funcargs.get("own_place"),
            getattr(item.funcargs.get("server"), "place", None),
        ]
        for place in filter(None, places):
            report.sections += [(f"end of {log.name}", said) for log, said in place.logs()]
    return report


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """The PostgreSQL of this session: the environment's, else one of our own without fsync."""
    if settings.DATABASE_URL:
        yield Databases(settings.DATABASE_URL)
        return
    assert settings.PG_BIN, "THREADKEEP_TEST_PG_BIN must name a folder with initdb and postgres"
    postgres = Postgres(settings.PG_BIN)
    try:
        postgres.start()
        yield postgres
    finally:
        postgres.remove()


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    """Name of the storage engine that the test runs on."""
    return request.param


@pytest.fixture(scope="session")
def engine_databases(engine: str, request: pytest.FixtureRequest) -> Databases | None:
    """The PostgreSQL when the engine is postgres, else none."""
    return request.getfixturevalue("databases") if engine == "postgres" else None


@pytest.fixture(scope="session")
def server(engine_databases: Databases | None) -> Iterator[Server]:
    """The session's server. Tests share it: none stops it or uses another test's tenant."""
    yield from _serve(engine_databases)


@pytest.fixture
def own_place(engine_databases: Databases | None) -> Iterator[Place]:
    """A place of the test's own, empty."""
    place = Place(engine_databases)
    try:
        yield place
    finally:
        place.remove()


@pytest.fixture
def start_server(own_place: Place) -> Iterator[Callable[..., Server]]:
    """Starts servers on `own_place` that the test may stop and kill; all are gone afterwards."""
    started: list[Server] = []

    def start(**arguments: object) -> Server:
        server = Server(own_place, **arguments)
        started.append(server)
        return server.start()

    try:
        yield start
    finally:
        for server in started:
            server.kill()


@pytest.fixture
def own_server(start_server: Callable[..., Server]) -> Server:
    """A server of the test's own, which it may stop and kill."""
    return start_server()


@pytest.fixture
def api_key(server: Server) -> str:
    """The key of a tenant that nothing has used."""
    return server.new_key()


@pytest.fixture
def native(server: Server, api_key: str) -> Iterator[Native]:
    """The protocol by hand, as an unused tenant."""
    caller = Native(server.url, api_key)
    yield caller
    caller.close()


@pytest.fixture
def saver(server: Server, api_key: str) -> ThreadkeepSaver:
    """The product's saver, as an unused tenant."""
    return ThreadkeepSaver(server.url, api_key=api_key)


def _serve(databases: Databases | None) -> Iterator[Server]:
    place = Place(databases)
    server = Server(place)
    try:
        yield server.start()
    finally:
        server.kill()
        place.remove()
