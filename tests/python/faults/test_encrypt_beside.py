"""A server without the master key beside `threadkeep encrypt`: it keeps the command from running, and one that the command
could not see stops, and leaves nothing plain.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support import settings
from support.front import Front, Network, PlaceBehind
from support.postgres import Postgres
from support.server import Server, clean_environment
from support.waiting import wait_until

# No compression shortens it, and no word is as long.
MARK = "q7Xw0ZkV3mRb9TnY"


class Beside(NamedTuple):
    """A server without the master key, behind a front that can hide it from the database."""

    front: Front
    place: PlaceBehind
    server: Server
    direct: str
    master_key: Path

    def encrypt(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """Not through the front."""
        places = ["--master-key-file", str(self.master_key), "--database-url", self.direct]
        return subprocess.run(
            [settings.BINARY, "encrypt", *options, *places],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=settings.PATIENCE_SECONDS,
        )

    def shows_mark(self) -> bool:
        """Whether a row has it as it is, or as digits."""
        digits = MARK.encode().hex()
        rows = self.place.query("select i::text from items i")
        return any(MARK in row or digits in row for (row,) in rows)


def put(server: Server, key: str) -> int:
    value = {"text": f"{MARK} {key}"}
    return server.post("/v1/store/put", {"namespace": ["n"], "key": key, "value": value}).status


@pytest.fixture
def beside(syncing_postgres: Postgres, tmp_path: Path) -> Iterator[Beside]:
    master_key = tmp_path / "master.key"
    created = [settings.BINARY, "master-key", "create", "--to", str(master_key)]
    subprocess.run(created, check=True, env=clean_environment(), capture_output=True)
    with Front(syncing_postgres) as front:
        place = PlaceBehind(front, "sslmode=disable")
        assert place.name is not None
        server = Server(place, allow_unsafe=False).start()
        try:
            direct = syncing_postgres.url(place.name)
            yield Beside(front, place, server, direct, master_key)
        finally:
            server.kill()
            place.remove()


def test_a_plain_server_stops_when_the_database_was_encrypted_without_it(beside: Beside) -> None:
    front, place, server, direct, master_key = beside
    assert put(server, "before") == 200
    refused = beside.encrypt()
    assert refused.returncode != 0
    assert "another server uses the database" in refused.stderr
    assert beside.shows_mark(), "nothing plain was there"

    # The database sees no connection of the server any more.
    front.become(Network.REFUSES)

    def encrypts() -> bool:
        front.cut()
        return beside.encrypt().returncode == 0

    wait_until(encrypts, "the database to be encrypted")
    assert not beside.shows_mark()

    front.become(Network.GOOD)
    acknowledged = []
    while server.running():
        key = f"late {len(acknowledged)}"
        try:
            if put(server, key) == 200:
                acknowledged.append(key)
        except OSError:
            break
    assert server.process is not None
    server.process.wait(settings.PATIENCE_SECONDS)
    assert "the database was encrypted meanwhile" in server.tail()

    # What slipped through before it noticed is sealed, and not lost.
    repaired = beside.encrypt("--repair")
    assert repaired.returncode == 0, repaired.stderr
    assert not beside.shows_mark()
    place.use(direct)
    options = ["--master-key-file", str(master_key)]
    sealing = Server(place, allow_unsafe=False, options=options).start()
    try:
        for key in ["before", *acknowledged]:
            found = sealing.post("/v1/store/get", {"namespace": ["n"], "key": key}).json()
            assert found["item"]["value"]["text"] == f"{MARK} {key}"
        assert put(sealing, "after") == 200
        assert not beside.shows_mark()
        doctor = sealing.command("doctor", *options)
        assert doctor.returncode == 0, doctor.stdout
    finally:
        sealing.kill()
