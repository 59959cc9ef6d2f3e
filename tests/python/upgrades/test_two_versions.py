"""Runs an earlier version of the program and this one on one database, while clients work through both.

Made only where `THREADKEEP_TEST_EARLIER_BIN` names a binary of the earlier version; `make soak` builds one.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from support import settings
from support.committers import Crowd, Patient
from support.http import Answer, post_json
from support.postgres import Databases
from support.server import Ended, Place, Server
from support.turns import Turns
from support.waiting import wait_until

MIGRATIONS = settings.ROOT / "migrations" / "postgres"


def earlier(place: Place) -> Server:
    assert settings.EARLIER_BINARY
    return Server(place, binary=settings.EARLIER_BINARY)


@pytest.fixture
def on_postgresql(databases: Databases) -> Iterator[Place]:
    place = Place(databases)
    yield place
    place.remove()


@pytest.fixture
def on_sqlite() -> Iterator[Place]:
    place = Place()
    yield place
    place.remove()


@contextmanager
def running(server: Server) -> Iterator[None]:
    try:
        server.start()
        yield
    finally:
        server.kill()


def note(server: Server, key: str) -> Answer:
    """An item that the agents of `Turns` write."""
    item = {"namespace": ["agent-0", "notes"], "key": "note"}
    return post_json(server.url, "/v1/store/get", item, key=key)


def schema(place: Place) -> int:
    return int(place.query("select max(version) from schema_version")[0][0])


def test_both_serve_one_database_and_nothing_is_lost(on_postgresql: Place) -> None:
    """The new one joins and migrates, the old one goes, and comes back to the newer schema."""
    old, new = earlier(on_postgresql), Server(on_postgresql)
    with ExitStack() as stack:
        stack.callback(old.kill)
        old.start()
        key, agents_of_old, agents_of_new = old.make_keys(["crowd", "old", "new"])
        crowd = stack.enter_context(Crowd(old, key))
        with Turns(old, agents_of_old) as turns_of_old:
            crowd.wait_for_more()
            stack.callback(new.kill)
            new.start()
            crowd.also_through(new)
            with Turns(new, agents_of_new) as turns_of_new:
                crowd.wait_for_more()
                wait_until(lambda: len(turns_of_new.seconds) >= 6, "turns through the new one")
        crowd.wait_for_more()
        assert (turns_of_old.failures, turns_of_new.failures) == ([], [])
        assert schema(on_postgresql) == len(list(MIGRATIONS.glob("*.sql")))
        # What one wrote the other reads, and both the same.
        for tenant in (agents_of_old, agents_of_new):
            seen = {note(server, tenant).body for server in (old, new)}
            assert len(seen) == 1 and b'"turn"' in seen.pop()
        assert old.stop() == 0
        crowd.wait_for_more()
        # The way back.
        old.start()
        crowd.wait_for_more()
        assert new.stop() == 0
        crowd.wait_for_more()
        new.start()
        crowd.wait_for_more()
    with running(new):
        crowd.check_stored(Patient(new.url, key))
    with running(old):
        crowd.check_stored(Patient(old.url, key))
    for server in (old, new):
        examined = server.command("doctor")
        assert examined.returncode == 0, (server.binary, examined.stdout, examined.stderr)


def test_an_embedded_database_goes_to_the_new_one_and_back(on_sqlite: Place) -> None:
    old, new = earlier(on_sqlite), Server(on_sqlite)
    with running(old):
        (key,) = old.make_keys(["crowd"])
        with Crowd(old, key) as first:
            first.wait_for_more()
        assert old.stop() == 0
    with running(new):
        first.check_stored(Patient(new.url, key))
        with Crowd(new, key) as second:
            second.wait_for_more()
        assert new.stop() == 0
    with running(old):
        first.check_stored(Patient(old.url, key))
        second.check_stored(Patient(old.url, key))
        assert old.stop() == 0
    for server in (old, new):
        examined = server.command("doctor")
        assert examined.returncode == 0, (server.binary, examined.stdout, examined.stderr)


def test_a_schema_that_needs_the_new_one_is_refused_by_the_earlier(on_sqlite: Place) -> None:
    new = Server(on_sqlite)
    with running(new):
        assert new.stop() == 0
    on_sqlite.query(
        "update schema_version set min_binary_version = version"
        " where version = (select max(version) from schema_version)"
    )
    with pytest.raises(Ended, match="needs a newer threadkeep"):
        earlier(on_sqlite).start()
    with running(new):
        assert new.stop() == 0
