"""A large take, and a large restore, hold nobody out: commits on other threads complete meanwhile."""

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from threadkeep import Client
from threadkeep.deepagents import ThreadkeepBackend

from support import settings
from support.committers import Committer, Crowd, Span
from support.native import Native, checkpoint
from support.server import Server
from support.waiting import wait_until

FILES = ("ann", "filesystem")
FILE_BYTES = 2_000
# On SQLite the items of a restore are one write transaction (docs/internals/sessions-and-snapshots.md).
RESTORED_FILES_ON_SQLITE = 200
AT_ONCE = 100
# Of one thread, whose commits follow each other. Of a hold there might be one before it begins, the one that is held, and one
# after it.
COMMITS_WITHIN_MIN = 4
SLOWEST_SHARE_MAX = 0.5


class Large:
    """A thread of many checkpoints and a namespace of many files."""

    def __init__(self, server: Server, key: str, files: int):
        self.files = files
        self.native = Native(server.url, key)
        self.client = Client(server.url, api_key=key)
        self.backend = ThreadkeepBackend(server.url, api_key=key, namespace=FILES)
        self.checkpoints = 0
        self.go_on(settings.SNAPSHOT_SIZE)
        self.change()

    def go_on(self, count: int) -> None:
        for start in range(self.checkpoints, self.checkpoints + count, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, self.checkpoints + count))
            ops = [
                checkpoint(
                    f"{at:08d}",
                    {"log": f"{at} said {uuid.uuid4()} ".encode() * 20},
                    parent=f"{at - 1:08d}" if at else None,
                    step=at,
                )
                for at in numbers
            ]
            self.native.commit("long", *ops)
        self.checkpoints += count

    def change(self) -> None:
        """Every file."""
        for start in range(0, self.files, AT_ONCE):
            files = [
                (f"/{at}.md", f"{at} {uuid.uuid4()} ".ljust(FILE_BYTES, "x").encode())
                for at in range(start, min(start + AT_ONCE, self.files))
            ]
            assert {one.error for one in self.backend.upload_files(files)} == {None}

    def take(self) -> str:
        what: dict[str, Any] = {"threads": [("long", "head")], "namespaces": [FILES]}
        return self.client.snapshots.take(**what).snapshot_id

    def newest(self) -> str:
        return self.native.get("long")["checkpoint"]["checkpoint_id"]

    def close(self) -> None:
        self.native.close()
        self.client.close()
        self.backend.close()


def held_nobody_out(whole: Span, commits: list[Span]) -> bool:
    """Whether enough commits began and ended within, and none that fell into it waited for most of it."""
    within = [it for it in commits if whole.begun < it.begun and it.ended < whole.ended]
    beside = [it for it in commits if it.begun < whole.ended and it.ended > whole.begun]
    slowest = max((it.ended - it.begun for it in beside), default=0.0)
    return (
        len(within) >= COMMITS_WITHIN_MIN
        and slowest <= (whole.ended - whole.begun) * SLOWEST_SHARE_MAX
    )


def test_who_was_held_out_is_seen() -> None:
    before = [Span(at, at + 1) for at in range(3)]
    after = [Span(at, at + 1) for at in range(98, 103)]
    edges = [Span(2, 2.1), Span(2.2, 98), Span(98.1, 98.2)]
    steady = [Span(at, at + 1) for at in range(103)]
    assert held_nobody_out(Span(1.5, 100.5), steady)
    assert not held_nobody_out(Span(1.5, 100.5), [*before, Span(3, 98), *after])
    assert not held_nobody_out(Span(1.5, 100.5), [*before, *after])
    assert not held_nobody_out(Span(1.5, 100.5), edges)


@pytest.mark.parametrize("act", ["take", "restore"])
def test_commits_on_other_threads_complete_meanwhile(
    server: Server, api_key: str, engine: str, act: str
) -> None:
    is_one_write = (engine, act) == ("sqlite", "restore")
    files = RESTORED_FILES_ON_SQLITE if is_one_write else settings.SNAPSHOT_SIZE
    large = Large(server, api_key, files)
    snapshot_id = large.take()
    taken_at = large.newest()

    def restore() -> None:
        large.client.snapshots.restore(snapshot_id)

    crowd = Crowd(server, api_key, 2)
    first = crowd.members[0]

    def measured() -> bool:
        if act == "restore":
            large.change()
            large.go_on(1)
        whole = timed(large.take if act == "take" else restore)
        # Who was held out is heard of only when the commit is done.
        wait_until(lambda: ended_after(first, whole), "the commits to go on")
        return held_nobody_out(whole, list(first.spans))

    try:
        with crowd:
            wait_until(lambda: crowd.acknowledged > 10, "the commits to begin")
            wait_until(measured, f"a {act} that holds nobody out")
        assert crowd.retries == 0
        crowd.check_stored(large.native)
        if act == "restore":
            assert large.newest() == taken_at
    finally:
        large.close()


def ended_after(committer: Committer, whole: Span) -> bool:
    if committer.error:
        raise committer.error
    return committer.spans[-1].ended > whole.ended


def timed(act: Callable[[], object]) -> Span:
    begun = time.monotonic()
    act()
    return Span(begun, time.monotonic())
