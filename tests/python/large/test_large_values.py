"""Values of many mebibytes come back as they were put, wherever a checkpoint has values."""

import random
import threading
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import CheckpointMetadata
from langgraph.graph import END, START, StateGraph
from threadkeep.langgraph import ThreadkeepSaver

from support.server import Server

MIB = 1 << 20
SIZES = [9 * MIB, 20 * MIB]
METADATA: CheckpointMetadata = {"source": "loop", "step": 1, "parents": {}}


@pytest.fixture(params=["asyncio", "pyreqwest", "stdlib"])
def each_core(request: pytest.FixtureRequest, server: Server, api_key: str) -> ThreadkeepSaver:
    """A saver on each HTTP core; the suites' own has the usual one."""
    return ThreadkeepSaver(server.url, api_key=api_key, transport=request.param)


def value(size: int, seed: int = 1) -> dict[str, Any]:
    """Noise, so that nothing of it is small in the end."""
    noise = random.Random(seed)
    return {"blobs": [noise.randbytes(MIB) for _ in range(size // MIB)], "seed": seed}


def at(thread: str, checkpoint_id: str | None = None) -> Any:
    keys = {"thread_id": thread, "checkpoint_ns": ""}
    return {"configurable": keys | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}


def checkpoint(checkpoint_id: str, values: dict[str, Any], versions: dict[str, str]) -> Any:
    return {
        "v": 4,
        "id": checkpoint_id,
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {},
    }


@pytest.mark.parametrize("size", SIZES)
def test_channels_and_writes_come_back_with_and_without_a_memory(
    each_core: ThreadkeepSaver, server: Server, api_key: str, size: int
) -> None:
    large = value(size)
    made = checkpoint("1", {"large": large, "small": [1]}, {"large": "1", "small": "1"})
    where = each_core.put(at("t"), made, METADATA, made["channel_versions"])
    each_core.put_writes(where, [("large", value(size, 2)), ("note", "x")], "task")
    for reader in (each_core, ThreadkeepSaver(server.url, api_key=api_key)):
        found = reader.get_tuple(at("t"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"large": large, "small": [1]}
        writes = [("task", "large", value(size, 2)), ("task", "note", "x")]
        assert found.pending_writes == writes


async def test_the_async_calls_do_the_same(each_core: ThreadkeepSaver) -> None:
    large = value(20 * MIB)
    made = checkpoint("1", {"large": large}, {"large": "1"})
    where = await each_core.aput(at("t"), made, METADATA, {"large": "1"})
    await each_core.aput_writes(where, [("large", large)], "task")
    found = await each_core.aget_tuple(at("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"large": large}
    assert found.pending_writes == [("task", "large", large)]


def test_history_and_time_travel_have_the_value_of_each_step(saver: ThreadkeepSaver) -> None:
    parent = None
    for number in range(1, 4):
        values = {"large": value(9 * MIB, number), "kept": value(9 * MIB)}
        new = {"large": str(number)} | ({"kept": "1"} if number == 1 else {})
        made = checkpoint(str(number), values, {"large": str(number), "kept": "1"})
        saver.put(at("t", parent), made, METADATA, new)
        parent = str(number)
    listed = [it.checkpoint["channel_values"] for it in saver.list(at("t"))]
    assert [it["large"]["seed"] for it in listed] == [3, 2, 1]
    assert [it["large"] for it in listed] == [value(9 * MIB, number) for number in (3, 2, 1)]
    assert all(it["kept"] == value(9 * MIB) for it in listed)
    past = saver.get_tuple(at("t", "2"))
    assert past is not None
    assert past.checkpoint["channel_values"]["large"] == value(9 * MIB, 2)


def test_copies_and_forks_carry_it_and_outlive_the_first_thread(saver: ThreadkeepSaver) -> None:
    large = value(9 * MIB)
    made = checkpoint("1", {"large": large}, {"large": "1"})
    saver.put(at("t"), made, METADATA, {"large": "1"})
    fork = checkpoint("2", {"large": large}, {"large": "1"})
    saver.put(at("t", "1"), fork, {**METADATA, "source": "fork"}, {})
    saver.copy_thread("t", "copy")
    saver.delete_thread("t")
    assert saver.get_tuple(at("t")) is None
    for checkpoint_id in ("1", "2"):
        found = saver.get_tuple(at("copy", checkpoint_id))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"large": large}


def test_a_prune_keeps_what_the_last_checkpoint_has(saver: ThreadkeepSaver) -> None:
    for number in (1, 2):
        made = checkpoint(str(number), {"large": value(9 * MIB, number)}, {"large": str(number)})
        parent = str(number - 1) if number > 1 else None
        saver.put(at("t", parent), made, METADATA, {"large": str(number)})
    saver.prune(["t"])
    (left,) = saver.list(at("t"))
    assert left.checkpoint["channel_values"] == {"large": value(9 * MIB, 2)}


class Plain(TypedDict, total=False):
    large: dict[str, Any]
    step: int


def joined(state: list[Any] | None, writes: list[list[Any]]) -> list[Any]:
    return [*(state or []), *(item for write in writes for item in write)]


class Delta(TypedDict, total=False):
    log: Annotated[list, DeltaChannel(joined, snapshot_frequency=3)]


def test_a_graph_goes_on_with_a_channel_of_twenty_mebibytes(
    saver: ThreadkeepSaver, server: Server, api_key: str
) -> None:
    builder = StateGraph(Plain)
    builder.add_node("make", lambda state: {"large": value(20 * MIB, state["step"])})
    builder.add_node("count", lambda state: {"step": state["large"]["seed"] + 1})
    builder.add_edge(START, "make")
    builder.add_edge("make", "count")
    builder.add_edge("count", END)
    builder.compile(checkpointer=saver).invoke({"step": 1}, at("t"))
    again = builder.compile(checkpointer=ThreadkeepSaver(server.url, api_key=api_key))
    assert again.get_state(at("t")).values == {"large": value(20 * MIB, 1), "step": 2}
    assert again.invoke({}, at("t")) == {"large": value(20 * MIB, 2), "step": 3}
    seeds = [
        state.values.get("large", {}).get("seed") for state in again.get_state_history(at("t"))
    ]
    assert seeds == [2, 2, 1, 1, 1, 1, None, None]


def test_a_delta_channel_is_rebuilt_of_large_writes(
    saver: ThreadkeepSaver, server: Server, api_key: str
) -> None:
    builder = StateGraph(Delta)
    builder.add_node("add", lambda state: {"log": [value(9 * MIB, len(state["log"]))]})
    builder.add_edge(START, "add")
    builder.add_edge("add", END)
    for turn in range(2):
        fresh = saver if turn == 0 else ThreadkeepSaver(server.url, api_key=api_key)
        found = builder.compile(checkpointer=fresh).invoke({"log": [turn]}, at("t"))
    assert found["log"] == [0, value(9 * MIB, 1), 1, value(9 * MIB, 3)]


def test_two_threads_at_once_keep_their_own(each_core: ThreadkeepSaver) -> None:
    def work(name: str, seed: int) -> None:
        made = checkpoint("1", {"large": value(20 * MIB, seed)}, {"large": "1"})
        each_core.put(at(name), made, METADATA, {"large": "1"})

    workers = [threading.Thread(target=work, args=(f"t{seed}", seed)) for seed in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for seed in (1, 2):
        found = each_core.get_tuple(at(f"t{seed}"))
        assert found is not None
        assert found.checkpoint["channel_values"] == {"large": value(20 * MIB, seed)}
