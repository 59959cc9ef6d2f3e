"""Idle threads lie in an object store: they read back exactly, whatever dies, and nothing is left behind."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.native import Native, Refused, checkpoint
from support.object_store import BUCKET, SECRET, ObjectStore
from support.server import Place, Server
from support.waiting import wait_until

# Moves everything that was idle for a second, every second.
EAGER = [
    "--object-store-after-seconds=1",
    "--object-store-every-seconds=1",
    "--object-store-pack-bytes-min=1000",
]
KILLS_MAX = 40


@pytest.fixture
def object_store(tmp_path: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(tmp_path)
    try:
        yield store.start()
    finally:
        store.kill()


@pytest.fixture
def start_with(
    start_server: Callable[..., Server], object_store: ObjectStore
) -> Callable[[], Server]:
    """Starts a server that moves content into the bucket."""

    def start() -> Server:
        options = [f"--object-store-url=s3://{BUCKET}/some/prefix", *EAGER]
        return start_server(options=options, environment=object_store.environment())

    return start


def fill(native: Native, thread: str, seed: int) -> dict[str, bytes]:
    """Commits a checkpoint that no compression makes small, and returns its values."""
    values = {"noise": random.Random(seed).randbytes(200_000), "text": b"some text " * 3_000}
    native.commit(thread, checkpoint("1", values))
    return values


def stored(native: Native, thread: str) -> dict[str, bytes]:
    view = native.get(thread)["checkpoint"]
    return {value["channel"]: bytes(value["data"]) for value in view["values"]}


def count(place: Place, table: str) -> int:
    return int(place.query(f"select count(*) from {table}")[0][0])


def long_ago(place: Place) -> None:
    """Makes what waits in the outbox due, and uploads that were not finished old."""
    place.query("update object_deletions set dropped_at = 0")
    place.query("update uploads set created_at = 0")


def test_idle_threads_move_to_the_bucket_and_come_back_exactly(
    start_with: Callable[[], Server], object_store: ObjectStore
) -> None:
    server = start_with()
    native = Native(server.url, server.new_key())
    sent = {f"t{seed}": fill(native, f"t{seed}", seed) for seed in range(3)}

    wait_until(lambda: len(object_store.stored()) >= 3, "packs in the bucket")
    wait_until(lambda: count(server.place, "packs") >= 3, "rows of packs")

    assert all(key.startswith("some/prefix/") for key in object_store.stored())
    server.kill()
    server.start()
    native.close()
    for thread, values in sent.items():
        assert stored(native, thread) == values
    metrics = server.metrics()
    assert "threadkeep_pack_bytes_read_total" in metrics
    native.call("/v1/threads/copy", {"source_thread_id": "t0", "target_thread_id": "copy"})
    native.call("/v1/threads/delete", {"thread_id": "t0"})
    assert stored(native, "copy") == sent["t0"]
    for thread in ("copy", "t1", "t2"):
        native.call("/v1/threads/delete", {"thread_id": thread})
    assert count(server.place, "packs") == 0
    long_ago(server.place)
    wait_until(lambda: not object_store.stored(), "the bucket to be empty")
    assert SECRET not in server.all_output()


def test_a_store_that_hangs_stops_only_reads_of_what_lies_in_it(
    start_with: Callable[[], Server], object_store: ObjectStore
) -> None:
    server = start_with()
    native = Native(server.url, server.new_key())
    sent = fill(native, "t", 1)
    wait_until(lambda: count(server.place, "packs") == 1, "a pack")
    object_store.pause()

    with pytest.raises(Refused) as refused:
        stored(native, "t")

    assert (refused.value.status, refused.value.code) == (503, "unavailable")
    assert server.get("/readyz").status == 200
    other = fill(native, "other", 2)
    assert stored(native, "other") == other
    object_store.go_on()
    assert wait_until(lambda: answer(native, "t"), "the store") == sent


def answer(native: Native, thread: str) -> dict[str, bytes] | None:
    try:
        return stored(native, thread)
    except Refused:
        return None


def test_a_server_that_dies_between_upload_and_rows_loses_nothing_and_forgets_no_object(
    start_server: Callable[..., Server], own_place: Place, tmp_path: Path
) -> None:
    """Killed as soon as an object appears, until once the database has not heard of it."""
    folder = tmp_path / "packs"
    options = [f"--object-store-url=file://{folder}", *EAGER]
    server = start_server(options=options)
    native = Native(server.url, server.new_key())
    sent: dict[str, dict[str, bytes]] = {}
    for kill in range(KILLS_MAX):
        before = objects(folder)
        sent[f"t{kill}"] = fill(native, f"t{kill}", kill)
        wait_until(lambda before=before: objects(folder) - before, "an object")
        server.kill()
        orphans = objects(folder) - known(own_place, "packs")
        if orphans:
            break
        server.start()
        native.close()

    assert orphans, "no kill came between upload and rows"
    assert orphans <= known(own_place, "uploads")
    server.start()
    native.close()
    for thread, values in sent.items():
        assert stored(native, thread) == values
    long_ago(own_place)
    wait_until(lambda: not count(own_place, "uploads"), "the intents to expire")
    long_ago(own_place)
    wait_until(lambda: not orphans & objects(folder), "the orphans to be deleted")
    # Packs that were let go since wait an hour.
    assert objects(folder) <= known(own_place, "packs") | known(own_place, "object_deletions")
    for thread, values in sent.items():
        assert stored(native, thread) == values


def objects(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.pack")} if folder.exists() else set()


def known(place: Place, table: str) -> set[str]:
    return {bytes(row[0]).hex() for row in place.query(f"select pack_id from {table}")}
