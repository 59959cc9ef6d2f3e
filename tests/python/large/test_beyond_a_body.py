"""A value that fits into no body goes and comes in parts, and the server never holds much of it."""

from pathlib import Path
from typing import Any

import pytest
from threadkeep.errors import TooLargeError
from threadkeep.langgraph import ThreadkeepSaver

from large.test_large_values import METADATA, MIB, at, checkpoint, value
from support import settings
from support.native import Native, Refused
from support.server import Server

SIZE = settings.LARGE_VALUE_MIB * MIB
GROWTH_BYTES_MAX = 64 * MIB


class Memory:
    """What a process needed at its peak beyond what it had at the beginning."""

    def __init__(self, process_id: int):
        self._folder = Path("/proc") / str(process_id)
        (self._folder / "clear_refs").write_text("5")
        self._begun = self._read("VmRSS")

    def growth(self) -> int:
        return self._read("VmHWM") - self._begun

    def _read(self, name: str) -> int:
        lines = (self._folder / "status").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1024


def test_the_server_needs_little_memory_for_it(own_server: Server) -> None:
    saver = ThreadkeepSaver(own_server.url, api_key=own_server.new_key(), timeout=600)
    large = value(SIZE)
    made = checkpoint("1", {"large": large}, {"large": "1"})
    saver.put(at("warm"), checkpoint("1", {"a": 1}, {"a": "1"}), METADATA, {"a": "1"})
    memory = Memory(own_server.pid)
    where = saver.put(at("t"), made, METADATA, {"large": "1"})
    saver.put_writes(where, [("large", large)], "task")
    put = memory.growth()
    memory = Memory(own_server.pid)
    found = saver.get_tuple(at("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"large": large}
    assert found.pending_writes == [("task", "large", large)]
    grown = {"put": put, "get": memory.growth()}
    assert max(grown.values()) <= GROWTH_BYTES_MAX, grown


def test_who_does_not_ask_for_parts_is_told_to(native: Native, server: Server) -> None:
    saver = ThreadkeepSaver(server.url, api_key=native.key, timeout=600)
    made = checkpoint("1", {"large": value(SIZE)}, {"large": "1"})
    saver.put(at("t"), made, METADATA, {"large": "1"})
    for path in ("get", "list"):
        with pytest.raises(Refused, match="value_parts") as raised:
            native.call(f"/v1/checkpoints/{path}", {"thread_id": "t"})
        assert (raised.value.status, raised.value.code) == (413, "too_large")
    body: dict[str, Any] = {"thread_id": "t", "value_parts": True}
    (shown,) = native.call("/v1/checkpoints/get", body)["checkpoint"]["values"]
    parts = [
        native.call("/v1/checkpoints/parts/get", {"thread_id": "t", "name": name})["data"]
        for name in shown["data"]["parts"]
    ]
    assert sum(map(len, parts)) == shown["data"]["length"] > SIZE
    assert max(map(len, parts)) <= 4 * MIB


def test_a_thread_that_goes_while_it_is_read_is_an_error_that_says_so(
    saver: ThreadkeepSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = checkpoint("1", {"large": value(9 * MIB)}, {"large": "1"})
    saver.put(at("t"), made, METADATA, {"large": "1"})
    link = saver._link
    call, gone = link.connection.call, []

    def losing(request: Any, **options: Any) -> Any:
        if request.path.endswith("/parts/get") and not gone:
            gone.append(True)
            saver.delete_thread("t")
        return call(request, **options)

    monkeypatch.setattr(link.connection, "call", losing)
    assert saver.get_tuple(at("t")) is None, "it is read again, and is not there any more"
    assert gone


def test_a_value_over_the_limit_is_refused_with_channel_and_limit(saver: ThreadkeepSaver) -> None:
    made = checkpoint("1", {"large": bytes(257 * MIB)}, {"large": "1"})
    with pytest.raises(TooLargeError, match=r"'large' has \d+ bytes.* 268435456 bytes"):
        saver.put(at("t"), made, METADATA, {"large": "1"})
    assert saver.get_tuple(at("t")) is None
