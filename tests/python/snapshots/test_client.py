"""`client.snapshots` on the real server: one moment, exact returns, typed refusals, lost replies."""

import random
from typing import Any

import pytest
from threadkeep import AsyncClient, Client
from threadkeep.errors import (
    FenceStaleError,
    InvalidError,
    LeaseHeldError,
    SnapshotNotFoundError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from threadkeep.snapshots import HeldLease

from snapshots.world import THREADS, WHAT, World
from support import settings
from support.proxy import Proxy
from support.server import Server

DOCUMENT = {"odd": "nul \0, lone \ud800", "big": 2**70, "list": [None, 1.0]}


def test_everything_comes_back_in_place_and_the_undo_is_undone(world: World) -> None:
    for seed in range(settings.SNAPSHOT_SEEDS):
        chance = random.Random(seed)
        for number in range(chance.randint(1, 3)):
            world.move(f"{seed} before {number}")
        taken, then = world.take(), world.shown()
        for number in range(chance.randint(1, 3)):
            world.move(f"{seed} after {number}")
        now = world.shown()
        assert now != then
        done = world.client.snapshots.restore(taken.snapshot_id)
        assert world.shown() == then
        assert done.safety_snapshot_id is not None
        world.client.snapshots.restore(done.safety_snapshot_id)
        assert world.shown() == now


def test_snapshots_are_listed_newest_first_and_by_labels(world: World) -> None:
    world.move("one")
    for number in range(5):
        world.take(f"s{number}", labels={"parity": str(number % 2), "all": "yes"})
    client, found = world.client, []
    cursor = None
    while True:
        page = client.snapshots.list(limit=2, cursor=cursor)
        found += [one.snapshot_id for one in page.snapshots]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == ["s4", "s3", "s2", "s1", "s0"]
    odd = client.snapshots.list(labels={"parity": "1", "all": "yes"}).snapshots
    assert [one.snapshot_id for one in odd] == ["s3", "s1"]
    assert odd[0] == client.snapshots.get("s3")
    client.snapshots.delete("s3")
    client.snapshots.delete("s3")
    odd = client.snapshots.list(labels={"parity": "1"}).snapshots
    assert [one.snapshot_id for one in odd] == ["s1"]
    with pytest.raises(SnapshotNotFoundError):
        client.snapshots.restore("s3")


def test_an_id_names_one_snapshot(world: World) -> None:
    world.move("one")
    first = world.take("s", labels={"a": "b"})
    world.move("two")
    assert world.take("s", labels={"a": "b"}) == first
    with pytest.raises(InvalidError) as caught:
        world.take("s", labels={"a": "c"})
    assert caught.value.code == "idempotency_mismatch"
    with pytest.raises(InvalidError):
        world.client.snapshots.take("s", threads=[THREADS[0]])
    assert world.client.snapshots.get("s") == first


def test_what_is_not_there_cannot_be_taken(world: World) -> None:
    world.move("one")
    snapshots = world.client.snapshots
    with pytest.raises(ThreadNotFoundError):
        snapshots.take("s", threads=["t", "absent"])
    for wrong in [{"threads": [""]}, {"threads": ["t"], "expires_in_seconds": 0}]:
        with pytest.raises(InvalidError):
            snapshots.take("s", **wrong)  # type: ignore[arg-type]
    assert snapshots.get("s") is None
    # One text where several are meant is refused before anything is sent.
    for wrong in [{"threads": "t"}, {"document": object()}]:
        with pytest.raises(InvalidError) as refused:
            snapshots.take("s", **wrong)  # type: ignore[arg-type]
        assert refused.value.status is None


def test_a_snapshot_outlives_what_it_was_taken_of(world: World) -> None:
    world.move("one")
    world.take("s")
    then = world.shown()
    world.empty()
    done = world.client.snapshots.restore("s")
    assert world.shown() == then
    assert all(one.created for one in done.threads)


def test_lost_replies_do_it_once(server: Server, proxy: Proxy, api_key: str, world: World) -> None:
    far = Client(proxy.url, api_key=api_key)
    world.move("one")
    proxy.lose(1)
    taken = far.snapshots.take(**WHAT)
    then = world.shown()
    world.move("two")
    proxy.lose(1)
    restored = far.snapshots.restore(taken.snapshot_id)
    assert proxy.lost == 2
    assert world.shown() == then
    # One that was taken, and one for safety.
    listed = world.client.snapshots.list().snapshots
    ids = {one.snapshot_id for one in listed}
    assert ids == {taken.snapshot_id, restored.safety_snapshot_id}


def test_a_leased_thread_is_restored_by_its_holder_only(world: World) -> None:
    world.move("one")
    world.take("s")
    then = world.shown()
    lease = world.client.acquire_lease("t", "holder", ttl_seconds=600)
    now = world.shown()
    with pytest.raises(LeaseHeldError):
        world.client.snapshots.restore("s")
    with pytest.raises(FenceStaleError):
        world.client.snapshots.restore("s", leases=[HeldLease("t", lease.fence + 1)])
    assert world.shown() == now
    assert len(world.client.snapshots.list().snapshots) == 1
    world.client.snapshots.restore("s", leases=[HeldLease("t", lease.fence)])
    assert world.shown() == then


async def test_the_asynchronous_client_does_the_same(
    server: Server, api_key: str, world: World
) -> None:
    world.move("one")
    then = world.shown()
    async with AsyncClient(server.url, api_key=api_key) as client:
        taken = await client.snapshots.take(**WHAT)
        assert await client.snapshots.get(taken.snapshot_id) == taken
        assert (await client.snapshots.list()).snapshots == [taken]
        world.move("two")
        await client.snapshots.restore(taken.snapshot_id)
        assert world.shown() == then
        await client.snapshots.delete(taken.snapshot_id)
        assert await client.snapshots.get(taken.snapshot_id) is None


def test_another_tenant_sees_nothing(server: Server, world: World) -> None:
    world.move("one")
    world.take("s")
    stranger = World(server.url, server.new_key())
    assert stranger.client.snapshots.get("s") is None
    assert stranger.client.snapshots.list().snapshots == []
    with pytest.raises(SnapshotNotFoundError):
        stranger.client.snapshots.restore("s")
    stranger.client.snapshots.delete("s")
    assert world.client.snapshots.get("s") is not None
    with pytest.raises(ThreadNotFoundError):
        stranger.client.snapshots.take(threads=["t"])


def test_a_snapshot_says_what_it_holds(world: World) -> None:
    world.move("one")
    world.move("two")
    labels = {"who": "ann ü", "empty": ""}
    taken = world.take("odd id ü/..", labels=labels, document=DOCUMENT)
    assert taken.snapshot_id == "odd id ü/.."
    assert taken.document == DOCUMENT
    assert taken.labels == labels
    assert (taken.expires_at, taken.owner) == (None, None)
    assert {one.thread_id for one in taken.threads} == set(THREADS)
    assert all(one.history == "all" and one.size_bytes > 0 for one in taken.threads)
    found = {one.thread_id: one for one in world.client.list_threads().threads}
    for one in taken.threads:
        thread = found[one.thread_id]
        assert (one.checkpoints, one.generation) == (thread.checkpoint_count, thread.generation)
    assert world.client.snapshots.get("odd id ü/..") == taken
    assert world.client.snapshots.get("absent") is None
    later = world.take(expires_in_seconds=3_600)
    assert later.snapshot_id.startswith("snap_")
    assert later.expires_at is not None and later.expires_at > later.taken_at


def test_threads_come_back_under_new_names(world: World) -> None:
    world.move("one")
    world.take("s")
    then = world.shown()
    world.move("two")
    now = world.shown()
    done = world.client.snapshots.restore("s", threads={"t": "copy", "..": "copy of .."})
    assert [(one.thread_id, one.into, one.created) for one in done.threads] == [
        ("t", "copy", True),
        ("..", "copy of ..", True),
    ]
    assert done.safety_snapshot_id is None
    assert world.thread("copy") == then["threads"]["t"]
    assert world.thread("copy of ..") == then["threads"][".."]
    assert world.shown() == now
    # Nothing of it where one of the targets is there already.
    with pytest.raises(ThreadExistsError):
        world.client.snapshots.restore("s", threads={"t": "fresh", "..": "copy"})
    assert world.client.get_thread("fresh") is None
    world.client.snapshots.restore("s", threads=["t"], safety=False)
    assert world.shown() == now | {"threads": now["threads"] | {"t": then["threads"]["t"]}}


def test_a_dry_run_says_what_the_restore_then_does(world: World) -> None:
    world.move("one")
    world.take("s")
    then = world.shown()
    world.move("two")
    now = world.shown()
    asked = world.client.snapshots.restore("s", dry_run=True)
    assert world.shown() == now
    assert asked.dry_run is True
    assert asked.safety_snapshot_id is None
    assert world.client.snapshots.list().snapshots == [world.client.snapshots.get("s")]
    done = world.client.snapshots.restore("s")
    assert done.dry_run is False
    assert world.shown() == then

    def told(restored: Any) -> Any:
        return [(t.into, t.checkpoints, t.replaced_checkpoints) for t in restored.threads]

    assert told(asked) == told(done)
    assert [one.replaced_checkpoints for one in done.threads] == [10] * len(THREADS)
