"""The server is killed in the middle of what changes much at once: afterwards it happened as a whole, or not at all."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any

import pytest

from support import settings
from support.http import Answer
from support.limits import Asked, World
from support.limits.rows import post
from support.native import Native, checkpoint
from support.server import Server

LENGTH = 120
ITEMS = 400
SOURCE = "source"
BATCH: list[dict[str, Any]] = [
    {"put": {"namespace": ["many"], "key": f"{it:04}", "value": {"text": "x" * 500}}}
    for it in range(ITEMS)
]
# Each of another name, so that it can be asked for again and again.
ACTS: dict[str, Callable[[str], Asked]] = {
    "copy": lambda name: post("/v1/threads/copy", source_thread_id=SOURCE, target_thread_id=name),
    "snapshot": lambda name: post(
        "/v1/snapshots/take",
        snapshot_id=name,
        threads=[{"thread_id": SOURCE}],
        namespaces=[["kept"]],
    ),
    "restore": lambda name: post(
        "/v1/snapshots/restore", snapshot_id="first", threads=[{"thread_id": SOURCE}], safety=False
    ),
    "prune": lambda name: post("/v1/checkpoints/prune", thread_ids=[SOURCE], keep_last=1),
    "atomic batch": lambda name: post("/v1/store/batch", ops=BATCH, atomic=True),
}


def fill(world: World) -> None:
    """A thread of many checkpoints and a namespace of many items, and a snapshot of what they were before."""
    native, dice = Native(world.server.url, world.key), random.Random(7)
    ops = [
        checkpoint(f"{at:04}", {"a": dice.randbytes(20_000), "b": b"%d" % at}, step=at)
        for at in range(LENGTH)
    ]
    native.commit(SOURCE, *ops[: LENGTH // 2])
    world.must(post("/v1/snapshots/take", snapshot_id="first", threads=[{"thread_id": SOURCE}]))
    native.commit(SOURCE, *ops[LENGTH // 2 :])
    kept = [{"put": it["put"] | {"namespace": ["kept"]}} for it in BATCH]
    world.must(post("/v1/store/batch", ops=kept))


def seen(world: World, name: str) -> list[Any]:
    """All that an act could have changed in part."""
    native = Native(world.server.url, world.key)
    threads = [native.list(thread_id=it) for it in (SOURCE, name)]
    for views in threads:
        for view in views:
            view["thread_id"] = ""
    counts = [world.must(post("/v1/store/count", prefix=[it]))["count"] for it in ("many", "kept")]
    snapshot = world.ask(post("/v1/snapshots/get", snapshot_id=name))
    parts: list[Any] = []
    if snapshot.status == 200:
        taken = snapshot.json()
        parts += [it["checkpoints"] for it in taken["threads"]]
        parts += [it["items"] for it in taken["namespaces"]]
    return [threads, counts, parts]


def kill_within(server: Server, asked: Callable[[], Answer], seconds: float) -> bool:
    """Whether the server died before it answered."""
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asked)
        time.sleep(random.uniform(0, seconds))
        server.kill()
        died_first = isinstance(answer.exception(), OSError | HTTPException)
    server.start()
    return died_first


@pytest.mark.parametrize("name", ACTS)
def test_what_was_killed_in_the_middle_happened_as_a_whole_or_not_at_all(
    durable_server: Server, name: str
) -> None:
    def filled() -> tuple[World, list[Any]]:
        world = World(durable_server, durable_server.new_key())
        fill(world)
        return world, seen(world, name)

    control, before = filled()
    begun = time.monotonic()
    control.must(ACTS[name](name))
    seconds, after = time.monotonic() - begun, seen(control, name)
    assert before != after

    hits = 0
    for _ in range(10 * settings.KILLS):
        world, found = filled()
        assert found == before
        hits += kill_within(durable_server, lambda it=world: it.ask(ACTS[name](name)), seconds)
        found = seen(world, name)
        assert found in (before, after)
        if found == before:
            world.must(ACTS[name](name))
            assert seen(world, name) == after
        if hits == settings.KILLS:
            break
    assert hits == settings.KILLS, "the server answered before it died: nothing was shown"
    examined = durable_server.command("doctor")
    assert examined.returncode == 0, examined.stdout + examined.stderr
