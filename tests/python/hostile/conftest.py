"""Large things that are stored once in a run, for the tests of memory."""

import fcntl
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.large_things import Stored, put_large_things, put_many_things
from support.measured import Measured, copy_of
from support.server import Place, Server


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Stored]:
    """The server that stored it is gone, and with it the memory that storing took. All workers of a run copy what the first one made."""
    shared = tmp_path_factory.getbasetemp()
    shared = (shared if worker_id == "master" else shared.parent) / "large-things"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "keys").exists():
            store(shared)
    place = copy_of(shared)
    large, many = json.loads((shared / "keys").read_text())
    try:
        yield Stored(place, large, many)
    finally:
        place.remove()


def store(folder: Path) -> None:
    place = Place()
    server = Server(place).start()
    large, many = server.make_keys(["large", "many"])
    server.stop()
    it = Measured(place, large)
    try:
        it.start()
        put_large_things(it)
        it.key = many
        put_many_things(it)
        it.stop()
        shutil.move(place.folder / "data", folder / "data")
        (folder / "keys").write_text(json.dumps([large, many]))
    finally:
        it.end()
