"""The power fails again and again while clients commit to the embedded database.

Whatever the server did not sync is gone then. PostgreSQL syncs by itself: tests of the connections
hold that `synchronous_commit` is on.
"""

from collections.abc import Iterator

import pytest

from support import settings
from support.committers import Crowd
from support.native import Native
from support.power import Disk
from support.server import Place, Server


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.remove()


def test_what_was_acknowledged_survives_a_loss_of_power(place: Place) -> None:
    disk = Disk(place)
    server = Server(place, environment=disk.environment, allow_unsafe=False).start()
    try:
        key = server.new_key()

        with Crowd(server, key) as crowd:
            for _ in range(settings.KILLS):
                crowd.wait_for_more()
                assert "threadkeep.db" in disk.lose_power(server)
                server.start()
            crowd.wait_for_more()

        assert crowd.retries >= settings.KILLS, "the losses hit nobody, so nothing was shown"
        disk.lose_power(server)
        server.start()
        crowd.check_stored(Native(server.url, key))
    finally:
        server.kill()
