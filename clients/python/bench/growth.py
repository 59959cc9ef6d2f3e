"""What a thread costs as it grows: bytes on disk and on the wire, time of a put, a large state.

Both sides run the same calls with the same values; what they hold is read back and compared.
"""

from __future__ import annotations

import random
import statistics
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from javascript import JsonSerializer, Thread, steps
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from measure import Goal, Row, in_turns, millis, row, size
from messages import answer
from prose import MEASURED, Prose, Words
from sides import OURS, SIDES, THEIRS, Field
from wire import Bytes, Wire
from workloads import config

TOOLS = 5
SEED = 4
SMALL = Goal(at_most=1 / 30)
FLAT = Goal(at_most=1.25)
LARGE_FILES = 100
# Turns that the time of a put is taken from.
PUT_TURNS = 10
# Checkpoints on the way that are read back, besides the last.
READ_BACK = 10
NOTHING = Bytes(0, 0)


@dataclass
class Grown:
    """What one side needed for a workload, its empty tables and the connections left out."""

    disk: int = 0
    disk_full: int = 0
    wire: Bytes = NOTHING
    raw: int = 0
    disk_at: dict[int, int] = field(default_factory=dict)
    puts: list[list[float]] = field(default_factory=list)
    equal: bool = True


class Counted(JsonPlusSerializer):
    """The usual serializer; counts what it makes."""

    bytes_made = 0

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        made = super().dumps_typed(obj)
        self.bytes_made += len(made[1])
        return made


async def chat(place: Field, *, turns: int) -> list[Row]:
    """A graph of one node on add_messages: the whole list again at each step."""
    early, late = (turns // 10, 3 * turns // 10), (8 * turns // 10, turns)
    grown = {side: await _chat(place, side, turns, {*early, *late}) for side in SIDES}
    rows = _rows(f"{turns}-turn add_messages chat", grown)

    def a_turn(side: str, between: tuple[int, int]) -> float:
        found = grown[side].disk_at
        return (found[between[1]] - found[between[0]]) / (between[1] - between[0])

    for between in (early, late):
        what = f"disk for a turn, turns {between[0]}-{between[1]} of the chat"
        rows.append(row(what, *(a_turn(side, between) for side in SIDES), size))
    rows.append(
        _growth("the later by the earlier", lambda it: a_turn(it, late) / a_turn(it, early), FLAT)
    )

    def a_put(side: str, turn: int) -> float:
        taken = grown[side].puts[max(0, turn - PUT_TURNS) : turn]
        return statistics.median(time for one in taken for time in one)

    first = max(1, turns // 20)
    for turn in (first, turns):
        what = f"put, up to turn {turn} of the chat, p50"
        rows.append(row(what, *(a_put(side, turn) for side in SIDES), millis))
    slower = _growth("the later by the earlier", lambda it: a_put(it, turns) / a_put(it, first))
    return [*rows, slower]


async def _chat(place: Field, side: str, turns: int, marks: set[int]) -> Grown:
    thread, chosen, prose = str(uuid.uuid4()), random.Random(SEED), Prose(MEASURED, SEED)
    grown, counted, wire = Grown(), Counted(), place.wire(side)
    before, found = place.bytes_on_disk(side), {}
    async with place.savers(side, serde=counted, wire=wire) as (saver,):
        puts = _timed(saver)
        graph = _chat_graph(saver, prose, chosen)
        for turn in range(1, turns + 1):
            asked = HumanMessage(prose.take(chosen.randint(50, 300)), id=f"u{turn}")
            puts.clear()
            found = await graph.ainvoke({"messages": [asked]}, config(thread))
            grown.puts.append(list(puts))
            if turn in marks:
                grown.disk_at[turn] = place.bytes_on_disk(side) - before
        grown.wire, grown.raw = wire.count(), counted.bytes_made
        # The states of every so many steps, and the last, with a saver that remembers nothing.
        async with place.savers(side) as (fresh,):
            listed = [one async for one in fresh.alist(config(thread))]
            for one in listed[:: max(1, len(listed) // READ_BACK)]:
                kept = (await fresh.aget_tuple(one.config)).checkpoint["channel_values"]
                held = kept.get("messages", [])
                grown.equal &= held == found["messages"][: len(held)]
            last = listed[0].checkpoint["channel_values"]["messages"]
            grown.equal &= last == found["messages"]
    return _finished(place, side, grown, wire, before)


def _chat_graph(saver: Any, prose: Prose, chosen: random.Random) -> Any:
    def reply(_: MessagesState) -> dict[str, Any]:
        return {"messages": [answer(chosen, prose.take(chosen.randint(200, 1_200)), [])]}

    builder = StateGraph(MessagesState)
    builder.add_node("chatbot", reply)
    builder.add_edge(START, "chatbot")
    return builder.compile(checkpointer=saver)


def _timed(saver: Any) -> list[float]:
    """The times of this saver's puts from now on."""
    times: list[float] = []
    original = saver.aput

    async def aput(*arguments: Any) -> Any:
        begun = time.perf_counter()
        made = await original(*arguments)
        times.append(time.perf_counter() - begun)
        return made

    saver.aput = aput
    return times


async def javascript(place: Field, *, turns: int) -> list[Row]:
    """An agent in JavaScript: the list in each put, and in each task for a tool twice."""
    grown = {side: await _javascript(place, side, turns) for side in SIDES}
    return _rows(f"{turns} JavaScript turns of {TOOLS} tools", grown)


async def _javascript(place: Field, side: str, turns: int) -> Grown:
    prose, chosen, name = Prose(MEASURED, SEED), random.Random(SEED), str(uuid.uuid4())
    grown, counted, wire = Grown(), JsonSerializer(), place.wire(side)
    before, states = place.bytes_on_disk(side), []
    async with place.savers(side, serde=counted, wire=wire) as (saver,):
        thread = Thread(saver, name)
        for _, turn in zip(range(turns), steps(prose, chosen, TOOLS), strict=False):
            await thread.begin_turn()
            for step in turn:
                await thread.run(step)
                states.append((thread.where, thread.values))
        grown.wire, grown.raw = wire.count(), counted.bytes_made
    async with place.savers(side, serde=JsonSerializer()) as (fresh,):
        for where, values in states[:: -max(1, len(states) // READ_BACK)]:
            found = await fresh.aget_tuple(where)
            grown.equal &= found.checkpoint["channel_values"] == values
    return _finished(place, side, grown, wire, before)


def _finished(place: Field, side: str, grown: Grown, wire: Wire, before: int) -> Grown:
    wire.close()
    grown.disk = place.bytes_on_disk(side) - before
    grown.disk_full = place.bytes_on_disk(side, full=True) - before
    return grown


def _rows(name: str, grown: dict[str, Grown]) -> list[Row]:
    ours, theirs = grown[OURS], grown[THEIRS]
    equal = ours.equal and theirs.equal
    return [
        row(f"disk, {name}", ours.disk, theirs.disk, size, SMALL),
        row("the same after VACUUM FULL", ours.disk_full, theirs.disk_full, size),
        row("disk by raw, the bytes of all values", ours.disk, theirs.raw, size),
        row(f"wire, {name}", sum(ours.wire), sum(theirs.wire), size, SMALL),
        row("wire, to the server", ours.wire.up, theirs.wire.up, size),
        row("wire, from the server", ours.wire.down, theirs.wire.down, size),
        row("wire to the server by raw", ours.wire.up, theirs.raw, size),
        Row("states read back equal", str(ours.equal), str(theirs.equal), 1.0, "both", equal),
    ]


def _growth(measure: str, of: Callable[[str], float], goal: Goal | None = None) -> Row:
    """Each side against itself; the goal is for ours."""
    ours, theirs = map(of, SIDES)
    met = goal.met(ours) if goal else None
    text = f"own {goal.text()}" if goal else ""
    return Row(measure, f"{ours:.2f}", f"{theirs:.2f}", ours / theirs, text, met)


async def large(place: Field, *, size_bytes: int, rounds: int) -> list[Row]:
    """The state of a thread whose files have so many bytes, read with a saver that is new."""
    words, name = Words(MEASURED, SEED), str(uuid.uuid4())
    files = {
        f"/src/part_{number}.md": {"content": words.take(size_bytes // LARGE_FILES)}
        for number in range(LARGE_FILES)
    }
    shown = {"files": files, "messages": [HumanMessage("hello", id="u")]}
    made = {
        "v": 4,
        "id": "1f0c0000-0000-6000-8001-000000000000",
        "ts": "2026-01-01T00:00:00.000000+00:00",
        "channel_values": shown,
        "channel_versions": {"files": "1", "messages": "1"},
        "versions_seen": {},
    }
    for side in SIDES:
        async with place.savers(side) as (saver,):
            metadata = {"source": "loop", "step": 1, "parents": {}}
            await saver.aput(config(name), made, metadata, made["channel_versions"])
    rows = []
    for again in (False, True):
        times: dict[str, list[float]] = {side: [] for side in SIDES}
        for counted, side in enumerate(in_turns(SIDES, rounds + 1)):
            async with place.savers(side) as (saver,):
                # Its connection is open; the second time it has read the state before.
                await saver.aget_tuple(config(name if again else "unknown"))
                begun = time.perf_counter()
                found = await saver.aget_tuple(config(name))
                took = time.perf_counter() - begun
            assert found.checkpoint["channel_values"] == shown
            if counted >= len(SIDES):
                times[side].append(took)
        middle = (statistics.median(times[side]) for side in SIDES)
        what = "the same, again with the same saver" if again else f"get of {size(size_bytes)}"
        rows.append(row(what, *middle, millis))
    return rows
