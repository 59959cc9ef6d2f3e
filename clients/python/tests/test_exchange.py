"""Values in their short forms, through a saver: what travels, and that nothing depends on it."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from typing import Any

import pytest

from fake_server import FakeServer, Fault
from support import checkpoint, config, metadata
from test_merging import queued_behind
from threadkeep.errors import ConflictError, ProtocolError
from threadkeep.langgraph import ThreadkeepSaver, exchange


def messages(count: int) -> list[str]:
    return [random.Random(seed).randbytes(150).hex() for seed in range(count)]


def put(saver: ThreadkeepSaver, number: int, value: Any, thread: str = "t", **others: Any) -> None:
    parent = f"{number - 1:03}" if number else None
    found = checkpoint(f"{number:03}", {"messages": value}, channel_versions={"messages": number})
    saver.put(config(thread, parent), found, metadata(**others), {"messages": number})


def latest(saver: ThreadkeepSaver, thread: str = "t", number: int | None = None) -> Any:
    name = None if number is None else f"{number:03}"
    found = saver.get_tuple(config(thread, name))
    assert found is not None
    return found.checkpoint["channel_values"]["messages"]


def came_as_differences(server: FakeServer) -> list[bool]:
    """For each value of 512 bytes or more that arrived; starts anew."""
    received, server.store.values.received = server.store.values.received, []
    return received


def data_of(server: FakeServer, path: str = "/get") -> list[Any]:
    """The `have_values` of each read."""
    return [seen.body.get("have_values") for seen in server.requests(path)]


def test_a_list_that_grows_travels_as_what_was_added(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    for number in range(10):
        put(saver, number, messages(4 + number))
    assert came_as_differences(server) == [False] + [True] * 9
    assert [latest(saver, number=number) for number in range(10)] == [
        messages(4 + number) for number in range(10)
    ]


def test_writes_travel_like_values_and_find_the_list_that_they_repeat(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    put(saver, 0, messages(10))
    sends = [{"tool": number, "messages": messages(10)} for number in range(3)]
    saver.put_writes(config("t", "000"), [("__pregel_tasks", sends), ("note", "small")], "task")
    assert came_as_differences(server) == [False, True]
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.pending_writes == [("task", "__pregel_tasks", sends), ("task", "note", "small")]


def test_a_base_of_another_place_is_looked_for_once(
    saver: ThreadkeepSaver, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = []
    cheapest = exchange._cheapest
    monkeypatch.setattr(
        exchange, "_cheapest", lambda *found: (searches.append(1), cheapest(*found))[1]
    )
    for number in range(6):
        put(saver, number, messages(10 + number))
        sends = [{"tool": tool, "messages": messages(10 + number)} for tool in range(3)]
        saver.put_writes(config("t", f"{number:03}"), [("__pregel_tasks", sends)], "task")
    assert came_as_differences(server) == [False] + [True] * 11
    assert len(searches) == 1


def test_the_same_value_again_is_one_copy(saver: ThreadkeepSaver, server: FakeServer) -> None:
    put(saver, 0, messages(10))
    put(saver, 1, messages(10))
    (value,) = server.commits()[1][0]["checkpoint"]["values"]
    assert isinstance(value["data"], bytes), "the fake put the bytes in their place"
    assert came_as_differences(server) == [False, True]


def test_small_values_travel_whole_and_are_not_remembered(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    put(saver, 0, "x" * 400)
    put(saver, 1, "x" * 401)
    latest(saver)
    assert came_as_differences(server) == []
    assert data_of(server) == [[]]
    assert saver._link.exchange.values.size_bytes == 0


def test_a_server_that_was_started_anew_gets_the_value_whole(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    put(saver, 0, messages(4))
    server.store.values.threads.clear()
    put(saver, 1, messages(5))
    put(saver, 2, messages(6))
    assert came_as_differences(server) == [False, False, True]
    assert [len(server.requests("/commit")), latest(saver)] == [4, messages(6)]


def test_one_refusal_tells_about_all_values_of_the_thread(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    def put_both(number: int) -> None:
        found = checkpoint(
            f"{number:03}",
            {"a": messages(4 + number), "b": ["b", *messages(4 + number)]},
            channel_versions={"a": number, "b": number},
        )
        saver.put(config("t"), found, metadata(), {"a" if number % 2 else "b": number})

    put_both(0)
    put_both(1)
    server.store.values.threads.clear()
    came_as_differences(server)
    put_both(2)
    put_both(4)
    put_both(3)
    assert came_as_differences(server) == [False, True, True]
    assert len(server.requests("/commit")) == 6


async def test_the_same_for_coroutines(server: FakeServer, transport: Any) -> None:
    saver = ThreadkeepSaver(server.url, transport=transport)
    for number in range(6):
        if number == 3:
            server.store.values.threads.clear()
        found = checkpoint(
            f"{number:03}",
            {"messages": messages(4 + number)},
            channel_versions={"messages": number},
        )
        await saver.aput(config("t"), found, metadata(), {"messages": number})
    read = await saver.aget_tuple(config("t"))
    assert read is not None
    assert read.checkpoint["channel_values"] == {"messages": messages(9)}
    assert came_as_differences(server) == [False, True, True, False, True, True]
    await saver.aclose()


def test_a_merged_commit_is_sent_again_whole(saver: ThreadkeepSaver, server: FakeServer) -> None:
    put(saver, 0, messages(4))
    works = [lambda n=n: put(saver, n, messages(4 + n)) for n in range(1, 4)]
    server.seen.clear()
    running = queued_behind(saver, server, works)
    server.store.values.threads.clear()
    server.hold.set()
    assert [caller.join() for caller in running] == [None] * 4
    assert [len(ops) for ops in server.commits()] == [1, 3, 3]
    assert [latest(saver, number=number) for number in range(4)] == [
        messages(4 + number) for number in range(4)
    ]


def test_a_refusal_that_whole_values_do_not_mend_is_the_callers(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    put(saver, 0, messages(4))
    server.faults = [Fault(status=409, code="resend_whole")] * 2
    with pytest.raises(ConflictError):
        put(saver, 1, messages(5))
    assert len(server.requests("/commit")) == 3


def test_a_server_that_never_knows_a_base_is_asked_less_and_less(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    for number in range(200):
        put(saver, number, messages(4 + number % 5))
        server.store.values.threads.clear()
    refused = len(server.requests("/commit")) - 200
    assert 3 <= refused <= 12


def test_without_memory_everything_travels_whole(server: FakeServer, transport: Any) -> None:
    saver = ThreadkeepSaver(server.url, transport=transport, difference_bytes_max=0)
    for number in range(3):
        put(saver, number, messages(4 + number))
    assert latest(saver) == messages(6)
    assert list(saver.list(config("t")))[2].checkpoint["channel_values"]["messages"] == messages(4)
    assert came_as_differences(server) == [False] * 3
    assert data_of(server) == [None]


def test_a_value_that_is_held_comes_by_its_name(saver: ThreadkeepSaver, server: FakeServer) -> None:
    put(saver, 0, messages(4))
    assert latest(saver) == messages(4)
    (names,) = data_of(server)
    assert [len(name) for name in names] == [16]
    # Each read makes objects of its own.
    assert latest(saver) is not latest(saver)


def test_what_was_read_is_a_base_in_both_directions(server: FakeServer, transport: Any) -> None:
    writer = ThreadkeepSaver(server.url, transport=transport)
    reader = ThreadkeepSaver(server.url, transport=transport)
    put(writer, 0, messages(4))
    assert latest(reader) == messages(4)
    put(writer, 1, messages(5))
    assert latest(reader) == messages(5)
    put(reader, 2, messages(6))
    assert latest(writer) == messages(6)
    assert came_as_differences(server) == [False, True, True]


def test_a_page_of_a_list_is_whole_whichever_way_it_came(
    saver: ThreadkeepSaver, server: FakeServer, transport: Any
) -> None:
    for number in range(8):
        put(saver, number, messages(4 + number))
    for reader in (saver, ThreadkeepSaver(server.url, transport=transport)):
        found = [it.checkpoint["channel_values"]["messages"] for it in reader.list(config("t"))]
        assert found == [messages(11 - number) for number in range(8)]
    # Both were read at once; nothing had to be asked again.
    assert len(server.requests("/list")) == 2
    everything = [it.checkpoint["channel_values"]["messages"] for it in saver.list(None)]
    assert everything == found


@pytest.mark.parametrize("wrong", ["same", "base", "sha256", "length", "ops"])
def test_an_answer_that_does_not_fit_is_asked_for_again(
    saver: ThreadkeepSaver, server: FakeServer, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    put(saver, 0, messages(4))
    if wrong != "same":
        other = ThreadkeepSaver(server.url)
        put(other, 1, messages(5))
    shorten = server.store.values.shorten
    bad = {"length": 1, "ops": [{"copy": [10**9, 5]}]}

    def shorten_wrongly(thread_id: str, answer: dict[str, Any], prefixes: list[bytes]) -> None:
        shorten(thread_id, answer, prefixes)
        data = answer["checkpoint"]["values"][0]["data"]
        assert wrong in data
        data[wrong] = bad.get(wrong, b"\0" * 32)

    monkeypatch.setattr(server.store.values, "shorten", shorten_wrongly)
    assert latest(saver) == messages(4 if wrong == "same" else 5)
    assert [names is None for names in data_of(server)] == [False, True]


def test_an_answer_of_another_shape_is_an_error(
    saver: ThreadkeepSaver, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(saver, 0, messages(4))

    def shorten(thread_id: str, answer: dict[str, Any], prefixes: list[bytes]) -> None:
        answer["checkpoint"]["values"][0]["data"] = {"other": 1}

    monkeypatch.setattr(server.store.values, "shorten", shorten)
    with pytest.raises(ProtocolError):
        saver.get_tuple(config("t"))


def test_a_fork_names_the_values_it_carries(saver: ThreadkeepSaver, server: FakeServer) -> None:
    put(saver, 0, messages(4))
    copied = checkpoint("001", {"messages": messages(4)}, channel_versions={"messages": 0})
    saver.put(config("t"), copied, metadata(source="fork"), {})
    assert came_as_differences(server) == [False, True]
    assert latest(saver) == messages(4)


def test_a_value_that_was_only_compared_is_no_base(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    copied = checkpoint("001", {"messages": messages(4)}, channel_versions={"messages": 0})
    saver.put(config("t"), copied, metadata(source="fork"), {})
    put(saver, 2, messages(5))
    assert came_as_differences(server) == [False, False]
    assert len(server.requests("/commit")) == 2


def test_a_thread_that_was_deleted_has_no_values_left(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    put(saver, 0, messages(4))
    put(saver, 0, messages(4), thread="u")
    saver.delete_thread("t")
    assert saver._link.exchange.values.latest("t") == []
    assert len(saver._link.exchange.values.latest("u")) == 1
    put(saver, 0, messages(5))
    assert came_as_differences(server) == [False] * 3
    saver.prune(["t", "u"])
    assert saver._link.exchange.values.size_bytes == 0


def test_data_that_changes_while_it_waits_is_sent_as_it_was(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    value = bytearray(b"a" * 1000)
    running = queued_behind(saver, server, [lambda: put(saver, 0, value)])
    value[:] = b"b" * 1000
    server.hold.set()
    assert [caller.join() for caller in running] == [None, None]
    assert latest(saver) == b"a" * 1000


def test_many_threads_at_once_on_one_saver(saver: ThreadkeepSaver, server: FakeServer) -> None:
    errors: list[BaseException] = []

    def work(thread: str) -> None:
        try:
            for number in range(12):
                put(saver, number, [thread, *messages(4 + number)], thread=thread)
                assert latest(saver, thread) == [thread, *messages(4 + number)]
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(f"t-{it % 4}-{it}",)) for it in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert errors == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_goes_on_without_the_parents_values(server: FakeServer) -> None:
    saver = ThreadkeepSaver(server.url, transport="stdlib")
    put(saver, 0, messages(4))
    lock = saver._link.exchange.values._lock
    lock.acquire()
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        try:
            put(saver, 1, messages(5))
            os._exit(0 if latest(saver) == messages(5) else 1)
        except BaseException:
            os._exit(2)
    # A child that waits for the lock is ended by its alarm, and is no success.
    lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert latest(saver) == messages(5)


async def test_cancelled_callers_leave_the_memory_as_it_was(server: FakeServer) -> None:
    saver = ThreadkeepSaver(server.url, transport="stdlib")
    server.faults, server.fault_path = [Fault(seconds=0.2)], "/commit"
    found = checkpoint("000", {"messages": messages(4)}, channel_versions={"messages": 0})
    call = asyncio.create_task(saver.aput(config("t"), found, metadata(), {"messages": 0}))
    await asyncio.sleep(0.05)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    next_one = checkpoint("001", {"messages": messages(5)}, channel_versions={"messages": 1})
    await saver.aput(config("t", "000"), next_one, metadata(), {"messages": 1})
    read = await saver.aget_tuple(config("t"))
    assert read is not None
    assert read.checkpoint["channel_values"] == {"messages": messages(5)}
