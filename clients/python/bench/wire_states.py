"""States as front ends read them, over the Agent Server wire: a deep agent's long thread, its
history, and a list of threads with their values.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from agents import CHECKPOINTS_A_TURN, TOOLS, talked
from large_states import Peak
from measure import Goal, Row, in_turns, millis, row, size
from sides import OURS, SIDES, THEIRS, Field
from support.http import post_json, request
from workloads import agent, config, prose

from threadkeep import Client
from threadkeep.langgraph import ThreadkeepSaver

HISTORY, LISTED, LISTED_BYTES = 10, 20, 160_000


async def states(field: Field, *, checkpoints: int, rounds: int, number: int) -> list[Row]:
    """`checkpoints`: of the long thread. Each answer is compared with what was put."""
    thread = await talked(field, checkpoints // CHECKPOINTS_A_TURN)
    long = f"{checkpoints} checkpoints"
    return [
        await _one_state(field, thread, long, rounds, number),
        await _history(field, thread, long, rounds),
        *await _listed(field, rounds),
    ]


async def _one_state(field: Field, thread: str, long: str, rounds: int, number: int) -> Row:
    """The same state in the shape of the wire and in our own."""

    async def wire() -> Any:
        return _get(field, f"/threads/{thread}/state")["values"]["messages"]

    async def own() -> Any:
        found = _get(field, f"/v1/state?{urlencode({'thread_id': thread})}")
        return found["state"]["values"]["messages"]

    assert [it["id"] for it in await wire()] == [it["id"] for it in await own()]
    found = await _medians(wire, own, rounds, number)
    return row(f"state on the wire / /v1/state, {long}", *found, millis, Goal(at_most=1.1))


async def _history(field: Field, thread: str, long: str, rounds: int) -> Row:
    """Against the graph, which reads the same states over the Postgres saver."""
    async with field.savers(THEIRS) as savers:
        graph = agent(savers[0], range(0), TOOLS)

        async def theirs() -> Any:
            listed = graph.aget_state_history(config(thread), limit=HISTORY)
            return [len(one.values["messages"]) async for one in listed]

        async def ours() -> Any:
            path, body = f"/threads/{thread}/history", {"limit": HISTORY}
            listed = post_json(field.server.url, path, body, key=field.key).json()
            return [len(one["values"]["messages"]) for one in listed]

        assert await ours() == await theirs()
        found = await _medians(ours, theirs, rounds, 1)
    measure = f"history of {HISTORY} on the wire / get_state_history, {long}"
    return row(measure, *found, millis, Goal(at_most=0.5))


async def _listed(field: Field, rounds: int) -> list[Row]:
    """Threads with their values against the state of one, and the server's memory for it."""
    threads = [f"listed-{number}" for number in range(LISTED)]
    with ThreadkeepSaver(field.server.url, api_key=field.key) as saver:
        for number, thread in enumerate(threads):
            _put_conversation(saver, thread, number)
    with Client(field.server.url, api_key=field.key) as client:
        client.threads.count(status="idle")

    async def listed() -> Any:
        body = {"ids": threads, "limit": LISTED, "select": ["thread_id", "values"]}
        found = post_json(field.server.url, "/threads/search", body, key=field.key).json()
        assert {it["thread_id"] for it in found} == set(threads)
        assert all(len(it["values"]["messages"]) == 40 for it in found)

    async def one() -> Any:
        state = _get(field, f"/threads/{threads[0]}/state")
        assert len(state["values"]["messages"]) == 40

    found = await _medians(listed, one, rounds, 5)
    what = f"{LISTED} threads of {size(LISTED_BYTES)}"
    peak = Peak(field.server.process.pid)
    await listed()
    with Client(field.server.url, api_key=field.key) as client:
        most = client.limits()["display_bytes_max"]
    return [
        row(f"{what} with values / one state", *found, millis, Goal(at_most=LISTED)),
        row(
            "server's memory for it / display_bytes_max", peak.bytes(), most, size, Goal(at_most=2)
        ),
    ]


def _get(field: Field, path: str) -> Any:
    return request(field.server.url, "GET", path, key=field.key).json()


def _put_conversation(saver: ThreadkeepSaver, thread: str, seed: int) -> None:
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.checkpoint.base.id import uuid6

    length = LISTED_BYTES // 40
    messages = [
        (HumanMessage if at % 2 == 0 else AIMessage)(prose(seed * 40 + at, length), id=f"m{at}")
        for at in range(40)
    ]
    version = f"{1:032}.0.{4321:016}"
    made: Any = {
        "v": 4,
        "id": str(uuid6()),
        "ts": "2026-01-01T00:00:00.000000+00:00",
        "channel_values": {"messages": messages},
        "channel_versions": {"messages": version},
        "versions_seen": {},
        "updated_channels": ["messages"],
    }
    saver.put(
        config(thread), made, {"source": "loop", "step": 0, "parents": {}}, {"messages": version}
    )


async def _medians(
    ours: Callable[[], Awaitable[Any]],
    theirs: Callable[[], Awaitable[Any]],
    rounds: int,
    number: int,
) -> tuple[float, float]:
    """The first round of each side warms it up and is not counted."""
    calls, medians = {OURS: ours, THEIRS: theirs}, {side: list[float]() for side in SIDES}
    for counted, side in enumerate(in_turns(SIDES, rounds + 1)):
        times = []
        for _ in range(number):
            begun = time.perf_counter()
            await calls[side]()
            times.append(time.perf_counter() - begun)
        if counted >= len(SIDES):
            medians[side].append(statistics.median(times))
    return statistics.median(medians[OURS]), statistics.median(medians[THEIRS])
