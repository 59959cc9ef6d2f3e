"""Redis before the object store: it helps while it is there, and nothing else depends on it."""

import itertools
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
from support.waiting import GaveUp, wait_until

PLACE = "/v1/files/content?ns=ann&path=/large.bin"
SIZE = 20
# More than the server keeps in its own memory (64 MiB), so that reading one after the other asks Redis or the store each time.
STAYS = [f"/v1/files/content?ns=ann&path=/stays-{number}.bin" for number in range(4)]
REPLACED = "/v1/files/content?ns=ann&path=/replaced.bin"
VERSION_SIZE = 2
MOVED_SECONDS = 1.5
# Longer than a server tries to store something in Redis.
STORED_SECONDS = 5
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
) -> Callable[..., Server]:
    def begin(moving: list[str] = EAGER) -> Server:
        options = [f"--object-store-url=s3://{BUCKET}/p", f"--redis-url={redis.url}", *moving]
        return start_server(options=options, environment=object_store.environment())

    return begin


def metric(server: Server, name: str) -> float:
    lines = server.metrics().splitlines()
    found = [line.split()[-1] for line in lines if line.startswith(name)]
    return float(found[0]) if found else 0.0


def packed(place: Place) -> bool:
    """Also that no server is at it: what one had claimed when it ended waits for a quarter hour."""
    left = "select count(*) from chunks where length(body) <> 25"
    claims = "select count(*) from scope_packing where claimed_until > 0"
    return int(place.query(f"select ({left}) + ({claims})")[0][0]) == 0


def chunks(place: Place) -> int:
    return int(place.query("select count(*) from chunks")[0][0])


def comes_to_have(redis: Redis, count: int) -> bool:
    """Whether so many things are in Redis before long. What it does not take in time is lost."""
    try:
        wait_until(lambda: int(redis.ask("dbsize")) >= count, "Redis to have it", STORED_SECONDS)
    except GaveUp:
        return False
    return True


def asked_redis(server: Server) -> bool:
    return metric(server, "threadkeep_redis_hits_total") > 0


def mostly_from_redis(server: Server) -> bool:
    hits = metric(server, "threadkeep_redis_hits_total")
    return hits > 50 and metric(server, "threadkeep_pack_bytes_read_total") < SIZE * MIB / 2


def reader(
    start: Callable[[], Server],
    key: str,
    expected: bytes,
    accepted: Callable[[Server], bool],
    what: str,
    place: str = PLACE,
) -> Server:
    """A server that was just started and has read the file: the first one that is accepted.

    Who asks Redis waits a moment only. On a busy machine that may be too short: then a server reads
    from the store, and soon offers Redis nothing either.
    """

    def begin() -> Server | None:
        server = start()
        assert b"".join(take(server, place, key)) == expected
        if accepted(server):
            return server
        server.stop()
        return None

    return wait_until(begin, what)


def test_another_server_reads_from_redis_what_one_has_read(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    server = start()
    key = server.new_key()
    expected = b"".join(pieces(SIZE))
    send(server, "PUT", PLACE, key, pieces(SIZE))
    wait_until(lambda: packed(own_place), "the file to be moved to the object store")
    server.stop()
    # Nothing is left to be moved: what is in Redis from now on was read.
    redis.ask("flushall")
    filled = reader(
        start, key, expected, lambda _: comes_to_have(redis, 51), "what was read to be in Redis"
    )
    assert metric(filled, "threadkeep_pack_bytes_read_total") > 0
    filled.stop()
    other = reader(start, key, expected, mostly_from_redis, "reads from Redis")
    other.stop()
    redis.ask("flushall")
    third = start()
    assert b"".join(take(third, PLACE, key)) == expected
    assert metric(third, "threadkeep_pack_bytes_read_total") > SIZE * MIB / 2


def test_what_was_moved_is_in_redis_before_anybody_has_read_it(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    server = start()
    key = server.new_key()
    server.stop()
    seeds = itertools.count(1)

    def write() -> tuple[int, int] | None:
        """A file of its own: what Redis does not take in time is not offered to it again."""
        seed = next(seeds)
        before = chunks(own_place)
        redis.ask("flushall")
        server = start()
        send(server, "PUT", f"{PLACE}-{seed}", key, pieces(SIZE, seed))
        wait_until(lambda: packed(own_place), "the file to be moved to the object store")
        moved = chunks(own_place) - before
        is_there = comes_to_have(redis, moved)
        server.stop()
        return (seed, moved) if is_there else None

    seed, moved = wait_until(write, "all that was moved to be in Redis")
    expected = b"".join(pieces(SIZE, seed))
    reader(start, key, expected, mostly_from_redis, "reads from Redis", f"{PLACE}-{seed}")
    # A name that the reader asked for and Redis did not have would be there now, too.
    assert int(redis.ask("dbsize")) == moved


def test_wrong_bytes_in_redis_are_not_taken(
    start: Callable[[], Server], own_place: Place, redis: Redis
) -> None:
    server = start()
    key = server.new_key()
    expected = b"".join(pieces(SIZE))
    send(server, "PUT", PLACE, key, pieces(SIZE))
    wait_until(lambda: packed(own_place), "the file to be moved to the object store")
    server.stop()
    reader(
        start, key, expected, lambda _: comes_to_have(redis, 51), "what was read to be in Redis"
    ).stop()
    script = (
        "for _, k in ipairs(redis.call('keys', '*')) do redis.call('setrange', k, 40, 'damage') end"
    )

    def start_with_damage() -> Server:
        redis.ask("eval", script, "0")
        return start()

    other = reader(start_with_damage, key, expected, asked_redis, "reads from Redis")
    # All of it came from the store, where nothing is damaged.
    assert metric(other, "threadkeep_pack_bytes_read_total") >= SIZE * MIB


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

        def start() -> Server:
            return start_server(options=options, environment=known)

        reader(
            start, key, expected, lambda _: comes_to_have(redis, 51), "what was read to be in Redis"
        ).stop()
        reader(start, key, expected, asked_redis, "reads from Redis over TLS")
    finally:
        redis.kill()


def test_a_server_that_dies_behind_a_commit_leaves_nothing_old_in_redis(
    start: Callable[..., Server], own_place: Place, redis: Redis
) -> None:
    first = start()
    key = first.new_key()
    send(first, "PUT", PLACE, key, pieces(SIZE))
    wait_until(lambda: packed(own_place), "the file to be moved to the object store")
    first.stop()
    older = b"".join(pieces(SIZE))
    # From here on it moves nothing, so that it dies with no claim on the file.
    first = reader(
        lambda: start(moving=[]),
        key,
        older,
        lambda _: comes_to_have(redis, 51),
        "what was read to be in Redis",
    )
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
