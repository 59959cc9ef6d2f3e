"""A server whose embedded database is taken from under it acknowledges nothing more, says why, and leaves the log alone."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.server import Place, Server
from support.waiting import wait_until

Happening = Callable[[Path], object]


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    copy.replace(path)


def cut(path: Path) -> None:
    os.truncate(path, 0)


HAPPENINGS: dict[str, Happening] = {
    "was removed": removed,
    "was replaced by another file": replaced,
    "was cut to 0 bytes": cut,
}


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    try:
        yield place
    finally:
        place.remove()


def put(server: Server, number: int) -> int:
    body = {"namespace": ["n"], "key": str(number), "value": {"n": number}}
    return server.post("/v1/store/put", body).status


@pytest.mark.parametrize("said", HAPPENINGS)
def test_nothing_is_acknowledged_without_the_file_that_was_opened(place: Place, said: str) -> None:
    server = Server(place).start()
    try:
        assert put(server, 0) == 200
        path = place.folder / "data" / "threadkeep.db"
        log = path.with_name("threadkeep.db-wal")
        HAPPENINGS[said](path)
        wait_until(lambda: put(server, 1) == 503, "puts to be refused")
        assert put(server, 2) == 503
        assert server.get("/readyz").status == 503
        assert f"{path} {said} while the server ran" in server.tail()
        kept = log.read_bytes()
        assert kept
        server.stop()
        assert log.read_bytes() == kept, "it may be all that is left"
    finally:
        server.kill()


def cut_log(log: Path) -> None:
    os.truncate(log, log.stat().st_size - 100)


def empty_log(log: Path) -> None:
    os.truncate(log, 0)


def remove_log(log: Path) -> None:
    log.unlink()


@pytest.mark.parametrize("happening", [cut_log, empty_log, remove_log])
def test_a_log_without_what_was_acknowledged_is_noticed(place: Place, happening: Happening) -> None:
    server = Server(place).start()
    try:
        for number in range(10):
            assert put(server, number) == 200
        happening(place.folder / "data" / "threadkeep.db-wal")
        # What is written behind a cut hides it from whoever asks for the size alone.
        wait_until(lambda: put(server, 10) == 503, "puts to be refused")
        assert server.get("/readyz").status == 503
        assert "lacks a part of its log (-wal)" in server.tail()
    finally:
        server.kill()


def test_a_log_that_is_brought_into_the_database_is_no_cut_log(place: Place) -> None:
    server = Server(place).start()
    try:
        for number in range(5):
            assert put(server, number) == 200
            place.query("pragma wal_checkpoint(truncate)")
            assert server.get("/readyz").status == 200
        assert put(server, 5) == 200
    finally:
        server.kill()


def test_a_file_that_comes_back_is_served_again(place: Place) -> None:
    server = Server(place).start()
    try:
        assert put(server, 0) == 200
        path = place.folder / "data" / "threadkeep.db"
        path.rename(path.with_name("aside"))
        wait_until(lambda: put(server, 1) == 503, "puts to be refused")
        path.with_name("aside").rename(path)
        wait_until(lambda: put(server, 1) == 200, "puts to be accepted")
        assert server.get("/readyz").status == 200
    finally:
        server.kill()


def test_a_new_database_is_said_once(place: Place) -> None:
    server = Server(place)
    try:
        server.start()
        server.stop()
        server.start()
        said = f"made a new database {place.folder / 'data' / 'threadkeep.db'}"
        assert server.tail().count(said) == 1
    finally:
        server.kill()
