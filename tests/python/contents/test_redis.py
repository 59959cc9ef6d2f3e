"""Redis before the object store: it helps while it is there, and nothing else depends on it."""

import threading
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from threading import Thread

import pytest

from support.object_store import BUCKET, ObjectStore
from support.raw import MIB, pieces, send, take
from support.redis import Redis
from support.server import Place, Server
from support.waiting import wait_until

PLACE = "/v1/files/content?ns=ann&path=/large.bin"
SIZE = 20
# More than the server keeps in its own memory (64 MiB), so that reading one after the other asks Redis or the store each time.
STAYS = [f"/v1/files/content?ns=ann&path=/stays-{number}.bin" for number in range(4)]
REPLACED = "/v1/files/content?ns=ann&path=/replaced.bin"
VERSION_SIZE = 2
MOVED_SECONDS = 1.5
NAME_BYTES = 32
# Moved as soon as they are written.
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
    wait_until(lambda: int(redis.ask("dbsize")) > 50, "what was moved to be in Redis")
    redis.ask("flushall")
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


def test_what_was_moved_is_in_redis_before_anybody_has_read_it(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    server = start()
    key = server.new_key()
    expected = b"".join(pieces(SIZE))
    send(server, "PUT", PLACE, key, pieces(SIZE))
    wait_until(lambda: packed(own_place), "the file to be moved to the object store")
    moved = int(own_place.query("select count(*) from chunks")[0][0])
    wait_until(lambda: int(redis.ask("dbsize")) >= moved, "all that was moved to be in Redis")
    server.stop()
    other = start()
    assert b"".join(take(other, PLACE, key)) == expected
    assert metric(other, "threadkeep_redis_hits_total") > 50
    # Where Redis is slow for a moment, the store is asked.
    assert metric(other, "threadkeep_pack_bytes_read_total") < SIZE * MIB / 2


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


def test_over_tls_only_a_known_certificate_is_spoken_to(
    start_server: Callable[..., Server],
    object_store: ObjectStore,
    own_place: Place,
    tmp_path: Path,
) -> None:
    redis = Redis(tmp_path, tls=True).start()
    options = [f"--object-store-url=s3://{BUCKET}/p", f"--redis-url={redis.url}", *EAGER]
    known = {**object_store.environment(), "SSL_CERT_FILE": str(redis.certificate)}
    expected = b"".join(pieces(SIZE))
    try:
        server = start_server(options=options, environment=object_store.environment())
        key = server.new_key()
        send(server, "PUT", PLACE, key, pieces(SIZE))
        wait_until(lambda: packed(own_place), "the file to be moved to the object store")
        assert b"".join(take(server, PLACE, key)) == expected
        wait_until(
            lambda: metric(server, "threadkeep_redis_failures_total") > 0,
            "an unknown certificate to be refused",
        )
        assert redis.ask("dbsize") == "0"
        server.stop()
        server = start_server(options=options, environment=known)
        assert b"".join(take(server, PLACE, key)) == expected
        wait_until(lambda: int(redis.ask("dbsize")) > 50, "what was read to be in Redis")
        server.stop()

        def hits() -> bool:
            """Who asks waits a moment only, in which on a busy machine there may be no connection."""
            other = start_server(options=options, environment=known)
            assert b"".join(take(other, PLACE, key)) == expected
            found = metric(other, "threadkeep_redis_hits_total") > 0
            other.stop()
            return found

        wait_until(hits, "reads from Redis over TLS")
    finally:
        redis.kill()


def test_a_server_that_dies_behind_a_commit_leaves_nothing_old_in_redis(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    first = start()
    key = first.new_key()
    send(first, "PUT", PLACE, key, pieces(SIZE))
    wait_until(lambda: packed(own_place), "the file to be moved to the object store")
    list(take(first, PLACE, key))
    wait_until(lambda: int(redis.ask("dbsize")) > 50, "what was read to be in Redis")
    # Acknowledged, and nothing of it in Redis yet: it gets there when somebody reads.
    newer = [bytes(reversed(piece)) for piece in pieces(SIZE)]
    send(first, "PUT", PLACE, key, newer)
    first.kill()
    other = start()
    assert b"".join(take(other, PLACE, key)) == b"".join(newer)
    wait_until(lambda: packed(own_place), "the new content to be moved")
    assert b"".join(take(other, PLACE, key)) == b"".join(newer)


class Load:
    """Files that stay and are read in turn, and one that is replaced again and again, of which a read may find nothing older than
    what was acknowledged before it.
    """

    def __init__(self, server: Server, key: str):
        self.server, self.key = server, key
        self.begun, self.acknowledged, self.read = 0, 0, {"stays": 0, "replaced": 0}
        self.wrong: list[str] = []
        self.ended = threading.Event()
        self.stays = [b"".join(pieces(SIZE, number)) for number in range(len(STAYS))]
        for place, data in zip(STAYS, self.stays, strict=True):
            send(server, "PUT", place, key, [data])

    def replace(self) -> None:
        self.begun += 1
        send(self.server, "PUT", REPLACED, self.key, pieces(VERSION_SIZE, self.begun))
        self.acknowledged = self.begun

    def keep_replacing(self) -> None:
        self.replace()
        if self.acknowledged % 3 == 0:
            # So that this one is moved to the object store, and read from there.
            self.ended.wait(MOVED_SECONDS)

    def read_what_stays(self) -> None:
        number = self.read["stays"] % len(STAYS)
        if b"".join(take(self.server, STAYS[number], self.key)) != self.stays[number]:
            self.wrong.append(f"other bytes of {number}")
        self.read["stays"] += 1

    def read_what_is_replaced(self) -> None:
        oldest = self.acknowledged
        found = b"".join(take(self.server, REPLACED, self.key))
        versions = range(oldest, self.begun + 1)
        if found not in [b"".join(pieces(VERSION_SIZE, it)) for it in versions]:
            older = [it for it in range(oldest) if found == b"".join(pieces(VERSION_SIZE, it))]
            self.wrong.append(f"none of {versions}, but {older}")
        self.read["replaced"] += 1

    def again_and_again(self, act: Callable[[], None]) -> None:
        while not self.ended.is_set() and not self.wrong:
            try:
                act()
            except (AssertionError, OSError, HTTPException) as error:
                self.wrong.append(repr(error))

    def goes_on(self) -> None:
        """Waits until all of them have done more."""
        done = {**self.read, "writes": self.acknowledged}

        def more() -> bool:
            now = {**self.read, "writes": self.acknowledged}
            return bool(self.wrong) or all(now[it] >= done[it] + 2 for it in now)

        wait_until(more, "the load to go on")

    def asks_redis(self) -> None:
        """Waits until it has answered reads, from now on."""
        before = metric(self.server, "threadkeep_redis_hits_total")

        def more() -> bool:
            return bool(self.wrong) or metric(self.server, "threadkeep_redis_hits_total") > before

        wait_until(more, "reads from Redis")


def test_redis_may_die_stall_and_come_back_under_load(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    server = start()
    load = Load(server, server.new_key())
    wait_until(lambda: packed(own_place), "the files to be moved to the object store")
    load.replace()
    acts = [load.keep_replacing, load.read_what_stays, load.read_what_is_replaced]
    threads = [Thread(target=load.again_and_again, args=(act,), daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    try:
        load.goes_on()
        load.asks_redis()
        redis.pause()
        load.goes_on()
        redis.go_on()
        redis.ask("flushall")
        load.goes_on()
        redis.kill()
        load.goes_on()
        redis.start()
        load.goes_on()
        load.asks_redis()
    finally:
        load.ended.set()
        for thread in threads:
            thread.join(60)
    assert load.wrong == []
