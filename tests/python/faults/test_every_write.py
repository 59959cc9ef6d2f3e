"""Each kind of write is durable when it is answered: at once afterwards the power fails, or server and database are killed, and it is there."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support import settings
from support.limits import Asked, World
from support.limits.checkpoints import commit, with_writes
from support.limits.rows import post
from support.native import checkpoint
from support.postgres import Postgres
from support.power import Disk
from support.server import Place, Server

THREAD = "t"
SESSION: dict[str, Any] = {"kind": "chat", "key": ["a"]}
FILE: dict[str, Any] = {"namespace": ["files"], "path": "/a.md"}
ITEM: dict[str, Any] = {"namespace": ["items"], "key": "k"}


def raw(size: int) -> Asked:
    path = "/v1/files/content?ns=files&path=/large"
    return Asked("PUT", path, b"\x80" * size, "application/octet-stream")


# In an order in which each finds what it needs.
WRITES: dict[str, Asked] = {
    "create a thread": post("/v1/threads/create", thread_id="made", title="made"),
    "commit": commit(checkpoint("c1", {"a": b"1" * 9_000}), thread_id=THREAD),
    "commit more": commit(checkpoint("c2", {"a": b"2"}), with_writes(2), thread_id=THREAD),
    "update a thread": post("/v1/threads/update", thread_id=THREAD, metadata={"a": 1}),
    "copy": post("/v1/threads/copy", source_thread_id=THREAD, target_thread_id="copy"),
    "fork": post("/v1/threads/fork", source=THREAD, target="fork", checkpoint_id="c1"),
    "put an item": post("/v1/store/put", **ITEM, value={"a": 1}),
    "put an item again": post("/v1/store/put", **ITEM, value={"a": 2}),
    "batch": post("/v1/store/batch", ops=[{"put": ITEM | {"key": "b", "value": {}}}], atomic=True),
    "delete an item": post("/v1/store/delete", **ITEM),
    "declare": post("/v1/store/settings/put", namespace=["items"], history=5),
    "write a file": post("/v1/files/write", **FILE, content="text"),
    "edit a file": post("/v1/files/edit", **FILE, old_string="text", new_string="other"),
    "put bytes": raw(1_000),
    "put many bytes": raw((16 << 20) + 1),
    "delete a file": post("/v1/files/delete", **FILE),
    "append entries": post("/v1/sessions/append", **SESSION, entries=[{"data": {}}]),
    "put a document": post("/v1/sessions/documents/put", **SESSION, name="d", content="text"),
    "count": post("/v1/sessions/counters/add", **SESSION, counter="turns"),
    "snapshot": post("/v1/snapshots/take", snapshot_id="s", threads=[{"thread_id": "copy"}]),
    "prune": post("/v1/checkpoints/prune", thread_ids=["copy"], keep_last=1),
    "restore": post("/v1/snapshots/restore", snapshot_id="s", threads=[{"thread_id": "copy"}]),
    "delete a thread": post("/v1/threads/delete", thread_id="fork"),
    "lease": post("/v1/threads/lease/acquire", thread_id=THREAD, holder="h", ttl_seconds=600),
    "policy": post("/v1/retention/policies/put", thread_id=THREAD, keep_last=9),
    "key": post("/v1/keys", name="made"),
    "token": post("/v1/tokens", subject="ann"),
}
LOOKS = [
    post("/v1/sessions/load", **SESSION),
    post("/v1/sessions/documents/list", **SESSION),
    post("/v1/sessions/list", kind=SESSION["kind"]),
    post("/v1/store/history", **ITEM),
    post("/v1/checkpoints/list", limit=100),
]


def seen(world: World) -> list[bytes]:
    return world.has() + [
        answer.body if (answer := world.ask(it)).status == 200 else b"" for it in LOOKS
    ]


def lost_after_each(server: Server, lose: Callable[[], object]) -> None:
    """Nothing is asked between the answer and the loss: that could be the time in which it becomes durable."""
    world = World(server, server.new_key())
    before = seen(world)
    for name, asked in WRITES.items():
        world.must(asked)
        lose()
        server.start()
        after = seen(world)
        assert after != before, f"{name}: it is lost"
        before = after


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.remove()


def test_each_write_survives_a_loss_of_power(place: Place) -> None:
    disk = Disk(place)
    server = Server(place, environment=disk.environment, allow_unsafe=False).start()
    try:
        lost_after_each(server, lambda: disk.lose_power(server))
    finally:
        server.kill()


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    """One with fsync, which looks for what is not synced after a crash in one step: it crashes often."""
    assert settings.PG_BIN
    postgres = Postgres(
        settings.PG_BIN, fsync=True, settings={"recovery_init_sync_method": "syncfs"}
    )
    try:
        postgres.start()
        yield postgres
    finally:
        postgres.remove()


def test_each_write_survives_a_crash_of_server_and_database(postgres: Postgres) -> None:
    place = Place(postgres)
    server = Server(place, allow_unsafe=False).start()

    def lose() -> None:
        server.kill()
        postgres.shut_down_immediately()
        postgres.start()

    try:
        lost_after_each(server, lose)
    finally:
        server.kill()
        place.remove()
