"""Large values through a saver: what goes in parts, what happens when parts are gone, and time."""

from __future__ import annotations

import asyncio
import random
import threading
import time
import tracemalloc
from typing import Any

import pytest

from fake_server import FakeServer, Fault
from support import checkpoint, config, delta_thread, metadata, written
from threadkeep.errors import PartsMissingError, ProtocolError, TooLargeError, TransportError
from threadkeep.langgraph import ThreadkeepSaver, encode

MIB = 1 << 20
PUT, GET = "/parts/put", "/parts/get"


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


class Forgetful(list[Any]):
    """Keeps nothing."""

    def append(self, _: Any) -> None:
        """Not even this."""


def put(saver: ThreadkeepSaver, number: int, values: dict[str, Any], **others: Any) -> None:
    parent = f"{number - 1:03}" if number else None
    found = checkpoint(f"{number:03}", values, channel_versions=dict.fromkeys(values, number))
    saver.put(config("t", parent), found, metadata(**others), dict.fromkeys(values, number))


def latest(saver: ThreadkeepSaver) -> dict[str, Any]:
    found = saver.get_tuple(config("t"))
    assert found is not None
    values: dict[str, Any] = found.checkpoint["channel_values"]
    return values


@pytest.mark.parametrize("size", [8 * MIB + 1, 10 * MIB, 11 * MIB + 3])
def test_a_large_value_goes_ahead_and_comes_back_in_parts(
    saver: ThreadkeepSaver, server: FakeServer, size: int
) -> None:
    value = {"blob": noise(size), "text": ["ä" * 100]}
    put(saver, 0, {"large": value, "small": [1, 2]})
    parts = server.requests(PUT)
    assert [seen.body["index"] for seen in parts] == list(range(len(parts)))
    assert all(len(seen.body["data"]) == 2 * MIB for seen in parts[:-1])
    assert len(server.requests(GET)) == 0
    assert latest(saver) == {"large": value, "small": [1, 2]}
    assert server.requests("/checkpoints/get")[-1].body["value_parts"] is True
    assert len(server.requests(GET)) > 2


async def test_writes_and_the_async_calls_do_the_same(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    large = noise(9 * MIB)
    at = await saver.aput(config("t"), checkpoint("000", {"a": large}), metadata(), {"a": 1})
    await saver.aput_writes(at, [("a", large), ("b", 1)], "task")
    found = await saver.aget_tuple(config("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": large}
    assert found.pending_writes == [("task", "a", large), ("task", "b", 1)]
    assert {seen.body["generation"] for seen in server.requests(PUT)[5:]} == {
        server.store.threads["t"].generation
    }
    assert [len(seen.body["data"]) for seen in server.requests(PUT)[:5]].count(2 * MIB) == 4


def test_no_more_than_two_parts_are_under_way_at_once(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    async def both() -> None:
        value = noise(13 * MIB)
        await saver.aput(config("t"), checkpoint("000", {"a": value}), metadata(), {"a": 1})
        await saver.aget_tuple(config("t"))

    server.fault_path, server.faults = "/parts/", [Fault(seconds=0.02, apply=True)] * 40
    asyncio.run(both())
    for path in (PUT, GET):
        spans = [(seen.begun, seen.ended) for seen in server.requests(path)]
        most = max(sum(a <= at < b for a, b in spans) for at, _ in spans)
        assert most == 2, path


def test_a_value_of_eight_mebibytes_goes_as_ever(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    put(saver, 0, {"a": noise(8 * MIB)})
    assert (server.store.parts.came, server.requests(PUT)) == (["whole"], [])


def test_values_that_do_not_fit_into_one_body_go_in_parts_the_largest_first(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    values = {f"c{n}": noise(7 * MIB + n * MIB // 10, n) for n in range(10)}
    put(saver, 0, values)
    assert server.store.parts.came == ["whole"] * 9 + ["in parts"]
    assert latest(saver) == values
    put(saver, 1, values)
    assert "in parts" not in server.store.parts.came, "differences leave room for it"
    assert latest(saver) == values


def test_a_large_value_has_no_short_form(saver: ThreadkeepSaver, server: FakeServer) -> None:
    for number in range(2):
        put(saver, number, {"a": noise(9 * MIB) + bytes([number])})
        assert latest(saver) == {"a": noise(9 * MIB) + bytes([number])}
        assert server.store.parts.came == ["in parts"]
    assert server.requests("/checkpoints/get")[-1].body["have_values"] == []


def test_a_fork_carries_large_values_in_parts(saver: ThreadkeepSaver, server: FakeServer) -> None:
    large = noise(9 * MIB)
    put(saver, 0, {"a": large})
    forked = checkpoint("001", {"a": large}, channel_versions={"a": 0})
    saver.put(config("t", "000"), forked, metadata(source="fork"), {})
    assert server.store.parts.came == ["in parts"]
    assert latest(saver) == {"a": large}


@pytest.mark.parametrize("times", [1, 2])
def test_lost_parts_are_put_again(saver: ThreadkeepSaver, server: FakeServer, times: int) -> None:
    server.store.parts.lost_puts = times
    put(saver, 0, {"a": noise(9 * MIB)})
    assert len(server.requests(PUT)) == 5 * (times + 1)
    assert latest(saver) == {"a": noise(9 * MIB)}


def test_parts_that_are_always_lost_are_an_error(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    server.store.parts.lost_puts = 100
    with pytest.raises(PartsMissingError):
        put(saver, 0, {"a": noise(9 * MIB)})
    assert len(server.commits()) == 3


def test_a_read_whose_parts_are_gone_is_made_once_more(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    put(saver, 0, {"a": noise(9 * MIB)})
    server.store.parts.lost_gets = 1
    assert latest(saver) == {"a": noise(9 * MIB)}
    assert len(server.requests("/checkpoints/get")) == 2
    server.store.parts.lost_gets = 100
    with pytest.raises(PartsMissingError):
        latest(saver)
    assert len(server.requests("/checkpoints/get")) == 4


def test_a_list_fetches_a_value_once_and_only_for_what_is_taken(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    values = {"a": noise(9 * MIB)}
    put(saver, 0, values)
    for number in range(1, 4):
        found = checkpoint(f"{number:03}", values, channel_versions={"a": 0})
        saver.put(config("t", f"{number - 1:03}"), found, metadata(), {})
    listed = saver.list(config("t"))
    assert server.requests(GET) == []
    assert [it.checkpoint["channel_values"] for it in listed] == [values] * 4
    assert len(server.requests(GET)) == 3


def test_a_listed_checkpoint_that_is_pruned_meanwhile_is_left_out(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    for number in range(3):
        put(saver, number, {"a": noise(9 * MIB, number)})
    listed = saver.list(config("t"))
    assert next(listed).config["configurable"]["checkpoint_id"] == "002"
    server.store.parts.named.clear()
    del server.store.threads["t"].checkpoints["", "001"]
    assert [it.config["configurable"]["checkpoint_id"] for it in listed] == ["000"]


def test_delta_histories_have_large_seeds_and_writes(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    delta_thread(saver, 4, size=5 * MIB)
    want = [f"w{number}" * 5 * MIB for number in range(3)]
    for _ in range(2):
        history = saver.get_delta_channel_history(config=config(), channels=["log"])
        assert written(history) == want
        saver.get_tuple(config())
        assert next(it.checkpoint["id"] for it in saver.list(config())) == "c003"


def test_histories_that_are_remembered_come_with_the_read(
    server: FakeServer, transport: Any
) -> None:
    saver = ThreadkeepSaver(server.url, transport=transport, history_bytes_max=64 * MIB)
    delta_thread(saver, 3, size=5 * MIB)
    saver.get_tuple(config())
    history = saver.get_delta_channel_history(config=config("t", "c002"), channels=["log"])
    assert written(history) == ["w0" * 5 * MIB, "w1" * 5 * MIB]
    assert server.requests("/checkpoints/history") == []


def test_the_deadline_of_a_call_holds_for_its_parts(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    gate = threading.Event()
    server.fault_path, server.faults = PUT, [Fault(), Fault(gate=gate)]
    begun = time.monotonic()
    with pytest.raises(TransportError):
        put(saver.with_options(timeout=0.2), 0, {"a": noise(9 * MIB)})
    # Two parts add two seconds each, as a body of their size does.
    assert time.monotonic() - begun < 8
    gate.set()
    assert server.commits() == []
    server.faults = []
    put(saver, 0, {"a": noise(9 * MIB)})
    gate.clear()
    server.fault_path, server.faults = GET, [Fault(), *([Fault(gate=gate)] * 9)]
    with pytest.raises(TransportError):
        latest(saver.with_options(timeout=0.2))
    gate.set()


async def test_a_call_that_is_cancelled_sends_no_more_parts(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    gate = threading.Event()
    server.fault_path, server.faults = PUT, [Fault(), Fault(), Fault(gate=gate)]
    found = checkpoint("000", {"a": noise(20 * MIB)})
    call = asyncio.ensure_future(saver.aput(config("t"), found, metadata(), {"a": 1}))
    await asyncio.to_thread(server.wait_for, 3, PUT)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    gate.set()
    await asyncio.sleep(0.1)
    assert len(server.requests(PUT)) <= 4
    assert server.commits() == []


def test_two_threads_at_once_do_not_mix_their_parts(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    def work(name: str) -> None:
        found = checkpoint("000", {"a": noise(12 * MIB, ord(name))})
        saver.put(config(name), found, metadata(), {"a": 1})

    workers = [threading.Thread(target=work, args=(name,)) for name in "xy"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for name in "xy":
        read = saver.get_tuple(config(name))
        assert read is not None
        assert read.checkpoint["channel_values"] == {"a": noise(12 * MIB, ord(name))}


@pytest.mark.parametrize(
    "part", [b"", b"x" * (10 * MIB)], ids=["fewer bytes than said", "more bytes than said"]
)
def test_parts_of_other_lengths_than_the_value_are_a_protocol_error(
    saver: ThreadkeepSaver, server: FakeServer, part: bytes
) -> None:
    put(saver, 0, {"a": noise(9 * MIB)})
    server.store.parts.get = lambda _: {"data": part}  # type: ignore[method-assign]
    with pytest.raises(ProtocolError, match="bytes than it"):
        latest(saver)


def test_a_value_over_the_limit_is_refused_before_any_part_is_sent(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    with pytest.raises(TooLargeError, match=r"'a' has \d+ bytes.* 268435456 bytes") as raised:
        put(saver, 0, {"a": bytes(encode.VALUE_BYTES_MAX + 1)})
    assert (raised.value.field, raised.value.limit) == ("a", encode.VALUE_BYTES_MAX)
    assert server.seen == []


def test_sending_holds_some_parts_and_no_second_copy_of_the_value(
    server: FakeServer, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 40 * MIB
    saver = ThreadkeepSaver(server.url, transport=transport)
    # The fake is in this process and keeps nothing here.
    monkeypatch.setattr(server, "seen", Forgetful())
    store = server.store
    monkeypatch.setattr(store, "put_part", lambda body: {"name": b"%d" % body["index"]})
    monkeypatch.setattr(store, "commit", lambda _: {"generation": "g"})
    value = noise(size)
    tracemalloc.start()
    try:
        put(saver, 0, {"a": value})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * size, "bytes are their own serialized form; both sides hold some parts"


def test_reading_holds_one_buffer_and_some_parts(
    server: FakeServer, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = ThreadkeepSaver(server.url, transport=transport)
    value = noise(40 * MIB)
    put(saver, 0, {"a": value})
    found = server.store.get({"thread_id": "t"})
    server.store.parts.cut(found, "t")
    monkeypatch.setattr(server, "seen", Forgetful())
    monkeypatch.setattr(server.store, "get", lambda _: found)
    tracemalloc.start()
    try:
        assert latest(saver) == {"a": value}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.6 * len(value), "parts of three mebibytes, on both sides"
