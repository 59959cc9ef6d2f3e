"""What an agent feels: time added to its turns, start of a turn on a long thread, history."""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from measure import Goal, Row, in_turns, millis, row
from sides import OURS, SIDES, THEIRS, Field
from workloads import agent, config, take_turn

from threadkeep.http import connection

CHECKPOINTS_A_TURN = 15
TOOLS = 5


async def turns(field: Field, *, turns: int) -> list[Row]:
    """One conversation without a saver, in memory and on both sides, turn by turn in lockstep."""
    thread, times = str(uuid.uuid4()), {name: [] for name in ("none", "memory", *SIDES)}
    async with field.savers(OURS) as ours, field.savers(THEIRS) as theirs:
        savers = {"none": None, "memory": InMemorySaver(), OURS: ours[0], THEIRS: theirs[0]}
        graphs = {name: agent(saver, range(turns), TOOLS) for name, saver in savers.items()}
        for turn in range(turns):
            for name in in_turns(list(graphs), 2)[turn % 2 * 4 :][:4]:
                begun = time.perf_counter()
                await take_turn(graphs[name], thread, turn)
                times[name].append(time.perf_counter() - begun)
    # Without a saver nothing is remembered, so its later turns are shorter than theirs.
    middle = {name: statistics.median(found[1:]) for name, found in times.items()}
    added = {side: middle[side] - middle["memory"] for side in SIDES}
    return [
        row(
            f"turn of {TOOLS} tools, added to in-memory",
            added[OURS],
            added[THEIRS],
            millis,
            Goal(at_most=0.5),
        ),
        row(f"turn of {TOOLS} tools, whole", middle[OURS], middle[THEIRS], millis),
        row("the same, no saver | in memory", middle["none"], middle["memory"], millis),
    ]


async def long_thread(field: Field, *, checkpoints: int, rounds: int) -> list[Row]:
    """A deep agent's thread of this many checkpoints, read as when a turn starts; its history."""
    number = checkpoints // CHECKPOINTS_A_TURN
    thread = await talked(field, number)
    memory = InMemorySaver()
    graph = agent(memory, range(number), TOOLS)
    for turn in range(number):
        await take_turn(graph, thread, turn)

    async def start(saver: Any) -> None:
        await start_of_turn(saver, thread)

    async def history(saver: Any) -> None:
        await read_history(saver, thread)

    cold, warm = [await _compare(field, rounds, start, warm=warm) for warm in (False, True)]
    listed = await _compare(field, rounds, history)
    floors = [await _median(work, memory, rounds) for work in (start, history)]
    long = f"{checkpoints} checkpoints"
    return [
        row(f"start of a turn, {long}", *cold[:2], millis, Goal(at_most=0.5)),
        row("the same, on a saver that read it before", *warm[:2], millis),
        row("the same, in memory | reference", floors[0], cold[1], millis),
        Row("round trips for it", str(cold[2]), "", float(cold[2]), "= 1", cold[2] == 1),
        row(f"get_state_history(limit=20), {long}", *listed[:2], millis, Goal(at_most=0.2)),
        row("the same, in memory | reference", floors[1], listed[1], millis),
        Row("round trips for it", str(listed[2]), "", float(listed[2]), "≤ 2", listed[2] <= 2),
    ]


async def talked(field: Field, turns: int) -> str:
    """A thread with so many turns of a deep agent, the same on both sides."""
    thread = str(uuid.uuid4())
    for side in SIDES:
        async with field.savers(side) as savers:
            graph = agent(savers[0], range(turns), TOOLS)
            for turn in range(turns):
                await take_turn(graph, thread, turn)
    return thread


async def _median(work: Callable[[Any], Awaitable[None]], saver: Any, rounds: int) -> float:
    """What LangGraph itself needs, with a saver that costs next to nothing."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await work(saver)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


async def start_of_turn(saver: Any, thread: str) -> None:
    """What LangGraph reads first: the checkpoint, then the delta channels that have no value."""
    found = await saver.aget_tuple(config(thread))
    values, versions = found.checkpoint["channel_values"], found.checkpoint["channel_versions"]
    channels = [name for name in ("messages", "files") if name in versions and name not in values]
    histories = await saver.aget_delta_channel_history(config=found.config, channels=channels)
    assert "messages" in values or histories["messages"]["writes"]


async def read_history(saver: Any, thread: str) -> None:
    graph = agent(saver, range(0), TOOLS)
    found = [one async for one in graph.aget_state_history(config(thread), limit=20)]
    assert len(found) == 20
    assert len(found[0].values["messages"]) > len(found[-1].values["messages"])


async def _compare(
    field: Field, rounds: int, work: Callable[[Any], Awaitable[None]], *, warm: bool = False
) -> tuple[float, float, int]:
    """Median times of both sides, and the requests of threadkeep. Connections are open before."""
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    requests = 0
    for counted, side in enumerate(in_turns(SIDES, rounds + 1)):
        async with field.savers(side) as savers:
            await savers[0].aget_tuple(config("unknown"))
            if warm:
                await work(savers[0])
            with counted_requests() as count:
                begun = time.perf_counter()
                await work(savers[0])
                took = time.perf_counter() - begun
            requests = count[0] if side == OURS else requests
            if counted >= len(SIDES):
                times[side].append(took)
    return statistics.median(times[OURS]), statistics.median(times[THEIRS]), requests


@contextmanager
def counted_requests() -> Iterator[list[int]]:
    """Counts the requests of all savers of threadkeep in this process."""
    count, original = [0], connection.Connection.acall

    async def acall(self: Any, *arguments: Any, **more: Any) -> Any:
        count[0] += 1
        return await original(self, *arguments, **more)

    connection.Connection.acall = acall  # type: ignore[method-assign]
    try:
        yield count
    finally:
        connection.Connection.acall = original  # type: ignore[method-assign]
