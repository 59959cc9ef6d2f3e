"""A full disk is told as a full disk, readiness says so until a write succeeds, and deleting and bringing off go on."""

import base64
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from support.http import Answer, request
from support.native import Native, Refused, checkpoint
from support.postgres import NOBODY, Databases, Postgres
from support.server import Place, Server
from support.small_disk import DiskPlace, fill, small_disk
from support.waiting import wait_until

ITEM_BYTES = 200_000


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk(24) as disk:
        yield disk


@pytest.fixture
def server(disk: Path) -> Iterator[Server]:
    place = DiskPlace(disk)
    server = Server(place)
    try:
        yield server.start()
    finally:
        server.kill()
        place.remove()


def put(server: Server, number: int, size: int = ITEM_BYTES) -> Answer:
    value = {"n": base64.b64encode(os.urandom(size)).decode()}
    return server.post("/v1/store/put", {"namespace": ["n"], "key": str(number), "value": value})


def delete(server: Server, number: int) -> int:
    return server.post("/v1/store/delete", {"namespace": ["n"], "key": str(number)}).status


def commit(server: Server, number: int) -> None:
    state = {"a": os.urandom(ITEM_BYTES)}
    Native(server.url, None).commit(f"thread-{number}", checkpoint("1", state))


def is_ready(server: Server) -> bool:
    return server.get("/readyz").status == 200


def put_until_full(server: Server) -> int:
    """How many were acknowledged."""
    for number in range(1_000):
        answer = put(server, number)
        if answer.status != 200:
            assert answer.code == "unavailable"
            assert "retry-after" in answer.headers
            return number
    raise AssertionError("the disk is never full")


def test_what_is_acknowledged_is_there_and_writes_that_failed_make_it_unready(
    server: Server,
) -> None:
    acknowledged = put_until_full(server)
    assert not is_ready(server)
    assert "is full" in server.tail()
    assert put(server, acknowledged, size=10).code == "unavailable", "what is left is for deleting"
    for number in range(acknowledged):
        key = {"namespace": ["n"], "key": str(number)}
        assert server.post("/v1/store/get", key).status == 200


def test_deleting_on_a_full_disk_makes_room(server: Server, disk: Path) -> None:
    commit(server, 0)
    acknowledged = put_until_full(server)
    deleted = server.post("/v1/threads/delete", {"thread_id": "thread-0"})
    assert deleted.status == 200, deleted
    for number in range(acknowledged):
        assert delete(server, number) == 200
    wait_until(lambda: put(server, 0).status == 200, "a write to succeed")
    wait_until(lambda: is_ready(server), "readiness")
    server.stop()
    assert server.command("doctor").returncode == 0


def test_a_disk_that_others_fill_is_seen_and_left_without_a_client(
    server: Server, disk: Path, tmp_path: Path
) -> None:
    commit(server, 0)
    put(server, 0)
    filler = fill(disk)
    wait_until(lambda: not is_ready(server), "the full disk to be seen")
    to = tmp_path / "export"
    done = server.command("export", "--tenant", "default", "--to", str(to))
    assert done.returncode == 0, done.stderr
    assert to.stat().st_size > ITEM_BYTES
    assert delete(server, 0) == 200
    deleted = server.post("/v1/threads/delete", {"thread_id": "thread-0"})
    assert deleted.status == 200, deleted
    filler.unlink()
    wait_until(lambda: is_ready(server), "readiness without a client's write")
    assert put(server, 1).status == 200


def test_an_export_onto_the_full_disk_leaves_nothing_there(server: Server, disk: Path) -> None:
    for number in range(20):
        assert put(server, number).status == 200
    filler = fill(disk)
    wait_until(lambda: not is_ready(server), "the reserve to be given up")
    rest = fill(disk, "rest")
    to = disk / "export"
    done = server.command("export", "--tenant", "default", "--to", str(to))
    assert done.returncode == 6, done.stderr
    assert "internal error" not in done.stderr
    assert sorted(it.name for it in disk.iterdir()) == ["data", filler.name, rest.name]
    wrong = server.command("export", "--tenant", "default", "--thread", "none", "--to", str(to))
    assert wrong.returncode != 0
    assert not (disk / "export.part").exists()


@pytest.mark.parametrize("count", [1, 8])
def test_uploads_that_do_not_fit_leave_no_chunks(server: Server, disk: Path, count: int) -> None:
    """Also what was let in just before the disk was full takes no room that was given up for deleting."""
    content = os.urandom(40 << 20)
    headers = {"Content-Type": "video/mp4"}

    def upload(number: int) -> Answer:
        path = f"/v1/files/content?ns=n&path=/film-{number}"
        return request(server.url, "PUT", path, body=content, headers=headers)

    with ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(upload, range(count)))
    # Too many bytes wait at one time for some of them.
    codes = {it.code for it in answers}
    assert "unavailable" in codes <= {"unavailable", "overloaded"}, answers

    def chunks() -> int:
        with closing(sqlite3.connect(disk / "data" / "threadkeep.db")) as connection:
            (found,) = connection.execute("select count(*) from chunks").fetchone()
            return int(found)

    wait_until(lambda: chunks() == 0, "the chunks to go")
    wait_until(lambda: is_ready(server), "readiness, since there is room in the database")
    assert put(server, 0).status == 200


def test_what_is_refused_for_a_tenants_reason_leaves_the_server_ready(server: Server) -> None:
    commit(server, 0)
    server.command("quotas", "set", "--tenant", "default", "--threads-max", "1")

    def is_refused() -> bool:
        try:
            commit(server, 1)
        except Refused as refused:
            return refused.code == "quota_exceeded"
        server.post("/v1/threads/delete", {"thread_id": "thread-1"})
        return False

    wait_until(is_refused, "the quota to be seen")
    assert is_ready(server)


@pytest.fixture
def small_tablespace(databases: Databases) -> Iterator[tuple[Place, Path]]:
    assert isinstance(databases, Postgres), "its user must be able to write to the disk"
    with small_disk(40) as disk:
        folder = disk / "tablespace"
        folder.mkdir()
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        place = Place(databases)
        name = f"small_{place.name}"
        databases.run(f"create tablespace {name} location '{folder}'")
        databases.run(f'alter database "{place.name}" set tablespace {name}')
        try:
            yield place, disk
        finally:
            place.remove()
            databases.run(f"drop tablespace {name}")


def test_a_full_disk_of_postgres_is_told_as_one(small_tablespace: tuple[Place, Path]) -> None:
    place, disk = small_tablespace
    server = Server(place)
    try:
        server.start()
        filler = fill(disk)
        answer = wait_until(lambda: refused(server), "a put to be refused")
        assert answer.code == "unavailable", answer
        assert "retry-after" in answer.headers
        assert "the disk of the database server is full" in server.tail()
        assert "No space left on device" in server.tail()
        assert not is_ready(server)
        assert not is_ready(server), "until a write succeeds"
        filler.unlink()
        wait_until(lambda: is_ready(server), "readiness without a client's write")
        assert put(server, 0).status == 200
    finally:
        server.kill()


def refused(server: Server) -> Answer | None:
    answer = put(server, 0)
    return None if answer.status == 200 else answer
