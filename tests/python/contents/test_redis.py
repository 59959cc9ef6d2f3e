"""Redis before the object store: it helps while it is there, and nothing else depends on it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.object_store import BUCKET, ObjectStore
from support.raw import MIB, pieces, send, take
from support.redis import Redis
from support.server import Place, Server
from support.waiting import wait_until

PLACE = "/v1/files/content?ns=ann&path=/large.bin"
SIZE = 20
# Nothing is remembered in the process: who reads again asks Redis or the store.
EAGER = ["--object-store-every-seconds=1", "--object-store-pack-bytes-min=1000"]


@pytest.fixture
def object_store(tmp_path: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(tmp_path)
    try:
        yield store.start()
    finally:
        store.kill()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    redis = Redis(tmp_path)
    try:
        yield redis.start()
    finally:
        redis.kill()


@pytest.fixture
def start(
    start_server: Callable[..., Server], object_store: ObjectStore, redis: Redis
) -> Callable[[], Server]:
    def begin() -> Server:
        options = [f"--object-store-url=s3://{BUCKET}/p", f"--redis-url={redis.url}", *EAGER]
        return start_server(options=options, environment=object_store.environment())

    return begin


def metric(server: Server, name: str) -> float:
    lines = server.get("/metrics").body.decode().splitlines()
    found = [line.split()[-1] for line in lines if line.startswith(name)]
    return float(found[0]) if found else 0.0


def packed(place: Place) -> bool:
    text = "select count(*) from chunks where length(body) <> 25"
    return int(place.query(text)[0][0]) == 0


def test_another_server_reads_from_redis_what_one_has_read(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    server = start()
    key = server.new_key()
    expected = b"".join(pieces(SIZE))
    send(server, "PUT", PLACE, key, pieces(SIZE))
    wait_until(lambda: packed(own_place), "the file to be moved to the object store")
    assert b"".join(take(server, PLACE, key)) == expected
    assert metric(server, "threadkeep_pack_bytes_read_total") > 0
    wait_until(lambda: int(redis.ask("dbsize")) > 50, "what was read to be in Redis")
    server.stop()
    other = start()
    assert b"".join(take(other, PLACE, key)) == expected
    # Where Redis is slow for a moment, the store is asked.
    assert metric(other, "threadkeep_pack_bytes_read_total") < SIZE * MIB / 2
    assert metric(other, "threadkeep_redis_hits_total") > 50
    redis.ask("flushall")
    other.stop()
    third = start()
    assert b"".join(take(third, PLACE, key)) == expected
    assert metric(third, "threadkeep_pack_bytes_read_total") > SIZE * MIB / 2


def test_wrong_bytes_in_redis_are_not_taken(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    server = start()
    key = server.new_key()
    send(server, "PUT", PLACE, key, pieces(SIZE))
    wait_until(lambda: packed(own_place), "the file to be moved to the object store")
    list(take(server, PLACE, key))
    wait_until(lambda: int(redis.ask("dbsize")) > 50, "what was read to be in Redis")
    script = (
        "for _, k in ipairs(redis.call('keys', '*')) do redis.call('setrange', k, 40, 'damage') end"
    )
    redis.ask("eval", script, "0")
    server.stop()
    other = start()
    assert b"".join(take(other, PLACE, key)) == b"".join(pieces(SIZE))


def test_redis_may_die_stall_and_come_back_under_load(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    server = start()
    key = server.new_key()
    expected = b"".join(pieces(SIZE))
    send(server, "PUT", PLACE, key, pieces(SIZE))
    wait_until(lambda: packed(own_place), "the file to be moved to the object store")
    wrong: list[str] = []
    ended = threading.Event()
    rounds = [0, 0]

    def read(at: int) -> None:
        while not ended.is_set():
            try:
                if b"".join(take(server, PLACE, key)) != expected:
                    wrong.append("other bytes")
            except (AssertionError, OSError) as error:
                wrong.append(repr(error))
            rounds[at] += 1

    def reads_more() -> None:
        before = sum(rounds)
        wait_until(lambda: sum(rounds) >= before + 3, "reads to go on")

    readers = [threading.Thread(target=read, args=(at,), daemon=True) for at in range(2)]
    for reader in readers:
        reader.start()
    try:
        reads_more()
        redis.pause()
        reads_more()
        redis.go_on()
        redis.ask("flushall")
        reads_more()
        redis.kill()
        reads_more()
        redis.start()
        reads_more()
    finally:
        ended.set()
        for reader in readers:
            reader.join(60)
    assert wrong == []
