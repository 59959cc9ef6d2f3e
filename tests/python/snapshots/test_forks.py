"""Forks of threads, how many there are, and leases that are broken."""

from typing import Any

import pytest
from threadkeep import AsyncClient, Client
from threadkeep.errors import (
    FenceStaleError,
    LeaseHeldError,
    NotFoundError,
    NotGrantedError,
    ThreadExistsError,
    ThreadNotFoundError,
)

from snapshots.world import World, config, shown
from support.server import Server


def test_a_fork_is_the_thread_up_to_a_checkpoint(world: World) -> None:
    for step in ("one", "two", "three"):
        world.move(step)
    states = [one.config["configurable"]["checkpoint_id"] for one in _history(world, "t")]
    whole = world.thread("t")
    client = world.client
    for at, checkpoint_id in enumerate(states[:6]):
        client.fork_thread("t", f"fork {at}", checkpoint_id)
        assert _history_ids(world, f"fork {at}") == states[at:]
        assert (
            shown(world.graph(), f"fork {at}")[1:][: len(states) - at]
            == whole[1 + at :][: len(states) - at]
        )
    world.graph().invoke({"log": ["elsewhere"]}, config("fork 3"))
    assert world.thread("t") == whole
    with pytest.raises(ThreadExistsError):
        client.fork_thread("t", "fork 0", states[1])
    with pytest.raises(ThreadNotFoundError):
        client.fork_thread("absent", "x", states[0])
    with pytest.raises(NotFoundError):
        client.fork_thread("t", "x", "1f000000-0000-6000-8000-000000000000")
    assert client.get_thread("x") is None


def test_a_thread_goes_back_to_a_checkpoint_and_the_graph_goes_on(world: World) -> None:
    for step in ("one", "two", "three"):
        world.move(step)
    history = _history(world, "t")
    states = [one.config["configurable"]["checkpoint_id"] for one in history]
    at = next(i for i, one in enumerate(history) if not one.next and i > 0)
    client, whole = world.client, world.thread("t")
    client.fork_thread("t", "fork", states[at])
    dry = client.rewind_thread("t", states[at], dry_run=True)
    assert world.thread("t") == whole
    done = client.rewind_thread("t", states[at])
    assert (done.checkpoints, done.checkpoints_removed) == (len(states) - at, at)
    removed = (dry.checkpoints, dry.checkpoints_removed, dry.writes_removed)
    assert removed == (done.checkpoints, done.checkpoints_removed, done.writes_removed)
    assert world.thread("t") == world.thread("fork")
    ends = [world.graph().invoke({"log": ["elsewhere"]}, config(it)) for it in ("t", "fork")]
    assert ends[0] == ends[1]
    assert world.graph().get_state(config("t")).values == ends[0]
    assert done.safety_snapshot_id is not None
    client.snapshots.restore(done.safety_snapshot_id)
    assert world.thread("t") == whole
    with pytest.raises(NotFoundError):
        client.rewind_thread("t", "1f000000-0000-6000-8000-000000000000")
    with pytest.raises(ThreadNotFoundError):
        client.rewind_thread("absent", states[0])


def test_a_thread_says_where_it_branches(world: World) -> None:
    world.move("one")
    assert _forks(world) == 0
    graph = world.graph()
    earlier = [one.config for one in graph.get_state_history(config("t")) if one.next]
    graph.update_state(earlier[0], {"log": ["another"]})
    assert _forks(world) == 1
    graph.update_state(earlier[0], {"log": ["a third"]})
    assert _forks(world) == 1
    graph.update_state(earlier[1], {"log": ["elsewhere"]})
    assert _forks(world) == 2


def test_a_lease_is_broken_by_a_key_of_the_tenant(server: Server, world: World) -> None:
    world.move("one")
    lease = world.client.acquire_lease("t", "holder", ttl_seconds=600)
    grants: Any = {"threads": [{"id": "t", "actions": ["read", "write"]}]}
    token = world.client.tokens.mint(grants=grants)
    with pytest.raises(NotGrantedError):
        Client(server.url, api_key=token.token).break_lease("t")
    with pytest.raises(LeaseHeldError):
        world.client.acquire_lease("t", "other", ttl_seconds=600)
    world.client.break_lease("t")
    other = world.client.acquire_lease("t", "other", ttl_seconds=600)
    assert other.fence > lease.fence
    with pytest.raises(FenceStaleError):
        world.client.renew_lease("t", "holder", fence=lease.fence, ttl_seconds=600)
    assert any("lease" in event.act for event in world.client.audit(limit=20).events)


async def test_the_asynchronous_client_does_the_same(
    server: Server, api_key: str, world: World
) -> None:
    world.move("one")
    head = world.saver().get_tuple(config("t"))
    assert head is not None
    async with AsyncClient(server.url, api_key=api_key) as client:
        await client.fork_thread("t", "fork", head.checkpoint["id"])
        assert world.thread("fork") == world.thread("t")
        rewound = await client.rewind_thread("fork", head.checkpoint["id"], safety=False)
        assert (rewound.checkpoints_removed, rewound.safety_snapshot_id) == (0, None)
        lease = await client.acquire_lease("t", "holder", ttl_seconds=600)
        await client.break_lease("t")
        with pytest.raises(FenceStaleError):
            await client.renew_lease("t", "holder", fence=lease.fence, ttl_seconds=600)


def _history(world: World, thread: str) -> list[Any]:
    return list(world.graph().get_state_history(config(thread)))


def _history_ids(world: World, thread: str) -> list[str]:
    return [one.config["configurable"]["checkpoint_id"] for one in _history(world, thread)]


def _forks(world: World) -> int:
    found = world.client.get_thread("t")
    assert found is not None
    return found.forks
