"""Leases of savers: who has a thread writes it alone, and who lost it is told."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from threadkeep import Client
from threadkeep.errors import InvalidError, LeaseHeldError, LeaseLostError
from threadkeep.langgraph import ThreadkeepSaver, leases

from support import settings
from support.server import Server
from support.waiting import wait_until

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
SHORT = 5
"""Seconds until a lease expires, in tests that wait for that. Heartbeats may be late by less."""
PAST_EXPIRY = 2.5 * SHORT


class Clock:
    """The time as leases of savers see it, which can be set ahead. The server's goes on as ever."""

    ahead_seconds = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_seconds

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def put(saver: ThreadkeepSaver, text: str) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"a": text}
    checkpoint["channel_versions"] = {"a": 1}
    saver.put(CONFIG, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {"a": 1})


async def aput(saver: ThreadkeepSaver, text: str) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"a": text}
    checkpoint["channel_versions"] = {"a": 1}
    await saver.aput(CONFIG, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {"a": 1})


def value(saver: ThreadkeepSaver) -> str:
    stored = saver.get_tuple(CONFIG)
    assert stored is not None
    return stored.checkpoint["channel_values"]["a"]


@pytest.fixture
def make(server: Server, api_key: str) -> Iterator[Callable[..., ThreadkeepSaver]]:
    """Savers of one tenant."""
    made: list[ThreadkeepSaver] = []

    def one(**arguments: object) -> ThreadkeepSaver:
        made.append(ThreadkeepSaver(server.url, api_key=api_key, **arguments))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for saver in made:
        saver.close()


def test_the_first_write_takes_the_lease_and_closing_gives_it_back(
    make: Callable[..., ThreadkeepSaver],
) -> None:
    first, second = make(exclusive=True), make(exclusive=True)
    assert first.get_tuple(CONFIG) is None
    put(second, "second")
    with pytest.raises(LeaseHeldError):
        put(first, "first")
    assert value(first) == "second"
    put(second, "second again")
    second.close()
    put(first, "first")
    assert value(second) == "first"
    with pytest.raises(LeaseHeldError):
        put(make(), "whoever asks for no lease")
    first.close()
    put(make(), "nobody has it")


def test_a_block_holds_the_thread_and_blocks_of_one_saver_share_it(
    make: Callable[..., ThreadkeepSaver],
) -> None:
    holder, other = make(), make()
    with holder.lease("t") as outer:
        put(holder, "held")
        with pytest.raises(LeaseHeldError):
            put(other, "other")
        with holder.lease("t") as inner:
            assert inner.fence == outer.fence is not None
        with pytest.raises(LeaseHeldError), other.lease("t"):
            pytest.fail("two savers have the lease")
        put(holder, "held still")
        first_fence = outer.fence
    put(other, "free")
    with other.lease("t") as block:
        assert block.fence is not None and block.fence > first_fence
    assert value(holder) == "free"


def test_a_thread_that_is_deleted_in_its_block_stays_the_saver_s(
    make: Callable[..., ThreadkeepSaver],
) -> None:
    holder, other = make(), make()
    with holder.lease("t"):
        put(holder, "old")
        with pytest.raises(LeaseHeldError):
            other.delete_thread("t")
        holder.delete_thread("t")
        assert holder.get_tuple(CONFIG) is None
        put(holder, "new")
        with pytest.raises(LeaseHeldError):
            put(other, "other")
    assert value(other) == "new"


async def test_a_tool_that_blocks_longer_than_the_expiry_loses_no_lease(
    make: Callable[..., ThreadkeepSaver],
) -> None:
    holder, other = make(lease_seconds=SHORT), make()
    async with holder.lease("t"):
        await aput(holder, "before")
        time.sleep(PAST_EXPIRY)  # the event loop stands still, as under a tool
        with pytest.raises(LeaseHeldError):
            await aput(other, "other")
        await aput(holder, "after")
    assert value(other) == "after"


def test_an_exclusive_saver_that_writes_nothing_longer_than_the_expiry_loses_no_lease(
    make: Callable[..., ThreadkeepSaver],
) -> None:
    holder, other = make(exclusive=True, lease_seconds=SHORT), make(exclusive=True)
    put(holder, "before")
    taken = holder._link.leases.fence("t")
    time.sleep(PAST_EXPIRY)
    with pytest.raises(LeaseHeldError):
        put(other, "other")
    put(holder, "after")
    assert holder._link.leases.fence("t") == taken
    assert value(other) == "after"


def test_an_exclusive_saver_keeps_a_thread_for_a_minute_after_its_last_write(
    make: Callable[..., ThreadkeepSaver], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(leases, "time", clock)
    holder, other = make(exclusive=True, lease_seconds=SHORT), make(exclusive=True)

    def is_free() -> bool:
        try:
            put(other, "other")
        except LeaseHeldError:
            return False
        return True

    # The second time more than a minute has passed since the first write, but not since the last.
    for text in ("first", "second"):
        put(holder, text)
        clock.ahead_seconds += 35
        time.sleep(PAST_EXPIRY)
        assert not is_free()
    put(holder, "last")
    clock.ahead_seconds += 61
    wait_until(is_free, "the other saver to get the lease")
    with pytest.raises(LeaseLostError):
        put(holder, "not read since")
    assert value(holder) == "other"


async def test_a_block_waits_for_another_s_end(make: Callable[..., ThreadkeepSaver]) -> None:
    first, second = make(), make()
    async with first.lease("t"):
        with pytest.raises(LeaseHeldError):
            async with second.lease("t", wait_seconds=0.3):
                pytest.fail("two savers have the lease")
    with second.lease("t", wait_seconds=5):
        await aput(second, "second")


def test_a_lease_that_is_taken_away_is_lost_until_the_thread_is_read(
    make: Callable[..., ThreadkeepSaver], server: Server, api_key: str
) -> None:
    saver = make(exclusive=True)
    put(saver, "before")
    # Given back in the saver's name, as if its heartbeats had not come through.
    client = Client(server.url, api_key=api_key)
    holder, fence = saver._link.writer, saver._link.leases.fence("t")
    assert fence is not None
    client.release_lease("t", holder, fence=fence)
    taken = client.acquire_lease("t", "somebody else", ttl_seconds=60)
    for text in ("once", "twice"):
        with pytest.raises(LeaseLostError):
            put(saver, text)
    client.release_lease("t", "somebody else", fence=taken.fence)
    with pytest.raises(LeaseLostError):
        put(saver, "free again, but not read since")
    assert value(saver) == "before"
    put(saver, "after")
    assert value(saver) == "after"


@pytest.mark.parametrize("seconds", [0, 3_601])
def test_the_time_until_a_lease_expires_has_limits(seconds: int) -> None:
    with pytest.raises(InvalidError) as caught:
        ThreadkeepSaver(lease_seconds=seconds)
    assert (caught.value.field, caught.value.limit) == ("lease_seconds", 3_600)


class Worker:
    """A process with an exclusive saver; see `lease_worker`."""

    def __init__(self, server: Server, api_key: str, name: str, seconds: int) -> None:
        script = Path(__file__).with_name("lease_worker.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), server.url, "t", name, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "THREADKEEP_API_KEY": api_key},
        )

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        self.send(line)
        return self.answer()


@pytest.fixture
def start_worker(server: Server, api_key: str) -> Iterator[Callable[..., Worker]]:
    started: list[Worker] = []

    def start(name: str, *, seconds: int) -> Worker:
        started.append(Worker(server, api_key, name, seconds))
        return started[-1]

    yield start
    for worker in started:
        worker.process.kill()
        worker.process.communicate()


def test_of_two_processes_exactly_one_writes_each_turn(
    start_worker: Callable[..., Worker], make: Callable[..., ThreadkeepSaver]
) -> None:
    workers = [start_worker("a", seconds=30), start_worker("b", seconds=30)]
    turns = 0
    for _ in range(5):
        for worker in workers:
            worker.send("turn")
        answers = [worker.answer() for worker in workers]
        turns += 1
        assert sorted(answers) == sorted(["LeaseHeldError", f"turn {turns}"])
        winner = workers[answers.index(f"turn {turns}")]
        assert winner.ask("close") == "closed"
    stored = make().get_tuple(CONFIG)
    assert stored is not None and stored.checkpoint["channel_values"]["turns"] == turns


def test_a_process_that_stood_still_past_the_expiry_cannot_write(
    start_worker: Callable[..., Worker], make: Callable[..., ThreadkeepSaver]
) -> None:
    stopped, other = start_worker("stopped", seconds=SHORT), start_worker("other", seconds=SHORT)
    assert stopped.ask("turn") == "turn 1"
    assert other.ask("turn") == "LeaseHeldError"
    stopped.process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + settings.PATIENCE_SECONDS
    while (answer := other.ask("turn")) == "LeaseHeldError":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert answer == "turn 2"
    stopped.process.send_signal(signal.SIGCONT)
    assert stopped.ask("write") == "LeaseLostError"
    assert other.ask("close") == "closed"
    # It stays lost, whoever has the thread now, until a turn begins with a read.
    assert stopped.ask("write") == "LeaseLostError"
    assert stopped.ask("turn") == "turn 3"
    stored = make().get_tuple(CONFIG)
    assert stored is not None and stored.checkpoint["channel_values"]["owner"] == "stopped"
