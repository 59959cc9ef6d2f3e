"""Commits of one thread that queue behind one under way travel together."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from fake_server import FakeServer, Fault
from support import config
from threadkeep.errors import InvalidError, ThreadkeepError, TransportError, UnavailableError
from threadkeep.langgraph import ThreadkeepSaver, commits


def put_writes(saver: ThreadkeepSaver, number: int, channel: str = "a", thread: str = "t") -> None:
    saver.put_writes(config(thread, "c"), [(channel, number)], f"task-{number:03}")


def tasks(server: FakeServer) -> list[list[str]]:
    return [[op["writes"]["task_id"] for op in ops] for ops in server.commits()]


class Background:
    """Runs a call in a thread and keeps how it came out."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self.thread.start()

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except BaseException as error:
            self.error = error

    def join(self) -> BaseException | None:
        self.thread.join(10)
        assert not self.thread.is_alive(), "the caller hangs"
        return self.error


def queued_behind(
    saver: ThreadkeepSaver, server: FakeServer, works: list[Callable[[], Any]]
) -> list[Background]:
    """Start one commit that the server holds, then the works one by one behind it."""
    server.hold = threading.Event()
    first = Background(lambda: put_writes(saver, 0))
    server.wait_for(1)
    running = [first]
    for count, work in enumerate(works, 1):
        running.append(Background(work))
        until = time.monotonic() + 5
        while len(saver._link.commits._lanes["t"]) < count and time.monotonic() < until:
            time.sleep(0.001)
    return running


def test_callers_that_queue_are_merged_in_call_order(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    works = [lambda n=n: put_writes(saver, n) for n in range(1, 21)]
    running = queued_behind(saver, server, works)
    server.hold.set()
    assert [caller.join() for caller in running] == [None] * 21
    assert tasks(server) == [["task-000"], [f"task-{n:03}" for n in range(1, 21)]]
    assert saver._link.commits._lanes == {}


def test_an_idle_thread_is_never_waited_for(saver: ThreadkeepSaver, server: FakeServer) -> None:
    for number in range(5):
        put_writes(saver, number)
    assert [len(ops) for ops in server.commits()] == [1] * 5


def test_threads_do_not_wait_for_each_other(saver: ThreadkeepSaver, server: FakeServer) -> None:
    gate = threading.Event()
    server.faults, server.fault_path = [Fault(gate=gate)], "/commit"
    held = Background(lambda: put_writes(saver, 0))
    server.wait_for(1)
    put_writes(saver, 1, thread="other")
    assert held.thread.is_alive()
    gate.set()
    assert held.join() is None


def test_one_refused_operation_does_not_fail_the_others(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    works = [
        lambda: put_writes(saver, 1),
        lambda: put_writes(saver, 2, channel="refused"),
        lambda: put_writes(saver, 3),
    ]
    running = queued_behind(saver, server, works)
    server.hold.set()
    errors = [caller.join() for caller in running]
    assert [type(error) for error in errors] == [type(None), type(None), InvalidError, type(None)]
    assert isinstance(errors[2], InvalidError)
    assert (errors[2].field, errors[2].limit) == ("writes.channel", 7)
    assert [len(ops) for ops in tasks(server)] == [1, 3, 1, 1, 1]
    stored = server.store.threads["t"].writes
    assert sorted(key[2] for key in stored) == ["task-000", "task-001", "task-003"]


def test_a_failure_of_the_server_is_everybodys_with_an_error_each(
    server: FakeServer, transport: Any
) -> None:
    saver = ThreadkeepSaver(server.url, transport=transport)
    works = [lambda: put_writes(saver, 1), lambda: put_writes(saver, 2)]
    running = queued_behind(saver, server, works)
    server.faults, server.fault_path = [Fault(status=503, retry_after="60")], "/commit"
    server.hold.set()
    errors = [caller.join() for caller in running]
    assert [type(error) for error in errors] == [type(None), UnavailableError, UnavailableError]
    assert errors[1] is not errors[2]
    assert [len(ops) for ops in tasks(server)] == [1, 2]
    put_writes(saver, 9)


def test_a_batch_is_bounded_in_operations_and_bytes(
    saver: ThreadkeepSaver, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "OPS_MAX", 3)
    running = queued_behind(saver, server, [lambda n=n: put_writes(saver, n) for n in range(1, 8)])
    server.hold.set()
    assert [caller.join() for caller in running] == [None] * 8
    assert [len(ops) for ops in tasks(server)] == [1, 3, 3, 1]
    monkeypatch.setattr(commits, "BATCH_BYTES_MAX", 2 * 130)
    server.seen.clear()
    running = queued_behind(saver, server, [lambda n=n: put_writes(saver, n) for n in range(1, 8)])
    server.hold.set()
    assert [caller.join() for caller in running] == [None] * 8
    sizes = [len(ops) for ops in tasks(server)]
    assert sum(sizes) == 8
    assert max(sizes) == 2


def test_an_operation_that_cannot_be_encoded_fails_alone_and_at_once(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    with pytest.raises(InvalidError):
        put_writes(saver, 1, channel="\ud800")
    assert server.seen == []


def test_an_interrupted_leader_hands_on(saver: ThreadkeepSaver, server: FakeServer) -> None:
    works = [lambda: put_writes(saver, 1), lambda: put_writes(saver, 2)]
    send, calls = saver._link.commits._send, []

    def interrupted(thread_id: str, ops: Any, ends: float) -> None:
        calls.append(len(ops))
        if len(calls) == 1:
            raise KeyboardInterrupt
        send(thread_id, ops, ends)

    running = queued_behind(saver, server, works)
    saver._link.commits._send = interrupted
    server.hold.set()
    outcomes = [caller.join() for caller in running]
    assert outcomes[0] is None
    assert sorted(type(o).__name__ for o in outcomes[1:]) == ["KeyboardInterrupt", "NoneType"]
    assert calls == [2, 1]
    assert saver._link.commits._lanes == {}


def test_many_threads_at_once_lose_nothing(saver: ThreadkeepSaver, server: FakeServer) -> None:
    def work(start: int) -> None:
        for number in range(start, start + 10):
            put_writes(saver, number, thread=f"t{number % 3}")

    running = [Background(lambda n=n: work(n * 10)) for n in range(16)]
    assert [caller.join() for caller in running] == [None] * 16
    stored = [key[2] for thread in server.store.threads.values() for key in thread.writes]
    assert sorted(stored) == [f"task-{n:03}" for n in range(160)]
    assert saver._link.commits._lanes == {}


async def aput_writes(saver: ThreadkeepSaver, number: int, channel: str = "a") -> None:
    await saver.aput_writes(config("t", "c"), [(channel, number)], f"task-{number:03}")


async def start(saver: ThreadkeepSaver, server: FakeServer, *channels: str) -> list[Any]:
    """Tasks 0, 1, … of which the server holds the first."""
    server.hold = threading.Event()
    running = [asyncio.create_task(aput_writes(saver, 0))]
    await asyncio.to_thread(server.wait_for, 1)
    for number, channel in enumerate(channels, 1):
        running.append(asyncio.create_task(aput_writes(saver, number, channel)))
        await asyncio.sleep(0)
    return running


async def test_coroutines_that_queue_are_merged_in_call_order(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    running = await start(saver, server, *["a"] * 10)
    server.hold.set()
    await asyncio.gather(*running)
    assert tasks(server) == [["task-000"], [f"task-{n:03}" for n in range(1, 11)]]


async def test_one_refused_operation_of_a_coroutine_fails_alone(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    running = await start(saver, server, "a", "refused", "a")
    server.hold.set()
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    assert [type(o) for o in outcomes] == [type(None), type(None), InvalidError, type(None)]
    assert [len(ops) for ops in tasks(server)] == [1, 3, 1, 1, 1]


async def test_a_cancelled_waiter_takes_only_its_own_operation_with_it(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    running = await start(saver, server, "a", "a", "a")
    running[2].cancel()
    await asyncio.sleep(0)
    server.hold.set()
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    assert [type(o).__name__ for o in outcomes] == [
        *("NoneType", "NoneType", "CancelledError", "NoneType")
    ]
    assert tasks(server) == [["task-000"], ["task-001", "task-003"]]


async def test_an_operation_in_flight_goes_on_when_its_caller_is_cancelled(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    running = await start(saver, server, "a")
    running[0].cancel()
    await asyncio.sleep(0.01)
    assert running[0].cancelled()
    assert len(server.requests("/commit")) == 1, "the next one does not overtake it"
    server.hold.set()
    await running[1]
    assert tasks(server) == [["task-000"], ["task-001"]]
    assert len(server.store.threads["t"].writes) == 2


async def test_a_request_that_nobody_waits_for_is_cancelled(
    server: FakeServer, saver: ThreadkeepSaver
) -> None:
    (alone,) = await start(saver, server)
    alone.cancel()
    await asyncio.sleep(0.01)
    assert alone.cancelled()
    assert asyncio.get_running_loop() in saver._link.acommits._loops
    assert saver._link.acommits._loops[asyncio.get_running_loop()] == {}, "its turn is over"
    server.hold.set()
    await aput_writes(saver, 1)
    assert ("", "c", "task-001", 0) in server.store.threads["t"].writes


def test_who_waits_behind_another_waits_no_longer_than_its_time(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    hasty = saver.with_options(timeout=0.5)
    begun = time.monotonic()
    running = queued_behind(saver, server, [lambda: put_writes(hasty, 1)])
    assert isinstance(running[1].join(), TransportError)
    assert time.monotonic() - begun < 2
    server.hold.set()
    assert running[0].join() is None
    assert tasks(server) == [["task-000"]], "what was not sent is not sent later"


async def test_who_waits_behind_another_waits_no_longer_than_its_time_in_a_loop(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    (patient,) = await start(saver, server)
    with pytest.raises(TransportError, match="waited for an earlier commit"):
        await aput_writes(saver.with_options(timeout=0.3), 1)
    server.hold.set()
    await patient
    assert tasks(server) == [["task-000"]], "what was not sent is not sent later"


def test_one_with_less_time_does_not_end_the_request_of_another(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    hasty = saver.with_options(timeout=0.7)
    works = [lambda: put_writes(hasty, 1), lambda: put_writes(saver, 2)]
    running = queued_behind(saver, server, works)
    server.faults, server.fault_path = [Fault(seconds=1.0, apply=True)], "/commit"
    server.hold.set()
    outcomes = [caller.join() for caller in running]
    assert [type(outcome) for outcome in outcomes] == [type(None), TransportError, type(None)]
    assert ("", "c", "task-002", 0) in server.store.threads["t"].writes


def test_a_loop_that_is_shut_down_mid_commit_hangs_nobody(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    async def leave() -> None:
        await start(saver, server, "a", "a")

    asyncio.run(leave())
    server.hold.set()
    asyncio.run(aput_writes(saver, 7))
    assert ("", "c", "task-007", 0) in server.store.threads["t"].writes


def test_an_error_is_raised_once_per_caller_and_keeps_its_fields() -> None:
    original = UnavailableError("no", status=503, request_id="r", code="overloaded")
    first, second = commits._each(original, 2)
    assert first is not second
    assert isinstance(first, ThreadkeepError)
    assert (first.status, first.request_id, first.code) == (503, "r", "overloaded")


async def test_who_has_waited_has_the_whole_time_of_a_large_body(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    # Three megabytes add three seconds to a call, also to one that queued behind another.
    server.fault_path, server.faults = "/commit", [Fault(seconds=0.2), Fault(seconds=0.5)]
    short = saver.with_options(timeout=0.4)
    first = asyncio.ensure_future(aput_writes(saver, 0))
    await asyncio.to_thread(server.wait_for, 1)
    await short.aput_writes(config("t", "c"), [("a", "x" * 3_000_000)], "large")
    await first
    assert len(server.commits()) == 2
