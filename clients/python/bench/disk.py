"""Bytes on disk after a vacuum, of threads whose message list is stored whole in each step."""

from __future__ import annotations

import uuid
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from measure import Goal, Row, row, size
from sides import OURS, SIDES, THEIRS, Field
from workloads import config, prose

TOOLS = 5


async def chat(field: Field, *, turns: int) -> list[Row]:
    """A graph of one node on add_messages: the whole list again at each step."""
    thread, raw = str(uuid.uuid4()), 0
    grown = {}
    for side in SIDES:
        before = field.bytes_on_disk(side)
        async with field.savers(side) as savers:
            graph = _chat_graph(savers[0])
            for turn in range(turns):
                message = HumanMessage(prose(turn, 200), id=f"u{turn}")
                await graph.ainvoke({"messages": [message]}, config(thread))
            if side == OURS:
                raw = await _raw_bytes(savers[0], thread)
        grown[side] = field.bytes_on_disk(side) - before
    return _rows(f"{turns}-turn add_messages chat", grown, raw)


def _chat_graph(saver: Any) -> Any:
    async def answer(state: MessagesState) -> dict[str, Any]:
        turn = len(state["messages"])
        return {"messages": [AIMessage(prose(10_000 + turn, 600), id=f"a{turn}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


async def growing_lists(field: Field, *, turns: int) -> list[Row]:
    """A JavaScript agent: integer versions, the list in each put and in the Sends of its tools."""
    thread, grown, raw = str(uuid.uuid4()), {}, 0
    for side in SIDES:
        before = field.bytes_on_disk(side)
        async with field.savers(side) as savers:
            raw = await _grow(savers[0], thread, turns)
        grown[side] = field.bytes_on_disk(side) - before
    return _rows(f"{turns} turns of {TOOLS} tools with whole lists", grown, raw)


async def _grow(saver: Any, thread: str, turns: int) -> int:
    """Returns the bytes of all values sent."""
    serde, sent, step = JsonPlusSerializer(), 0, 0
    where, messages = config(thread), []
    for turn in range(turns):
        for part in range(2 + 2 * TOOLS):
            messages.append({"role": "tool", "content": prose(step, 3000 if part % 2 else 100)})
            step += 1
            made = _checkpoint(step, messages)
            where = await saver.aput(
                where, made, {"source": "loop", "step": step, "parents": {}}, {"messages": step}
            )
            sent += len(serde.dumps_typed(messages)[1])
            if part % 2 == 0 and part < 2 * TOOLS:
                send = {"lg_name": "Send", "node": "tools", "args": {"messages": messages}}
                await saver.aput_writes(where, [("__pregel_tasks", send)], f"task {turn}")
                sent += len(serde.dumps_typed(send)[1])
    return sent


def _checkpoint(step: int, messages: list[Any]) -> dict[str, Any]:
    return {
        "v": 4,
        "id": str(uuid6(clock_seq=step)),
        "ts": "2026-01-01T00:00:00.000000+00:00",
        "channel_values": {"messages": messages},
        "channel_versions": {"messages": step},
        "versions_seen": {"node": {"messages": step - 1}},
        "updated_channels": ["messages"],
    }


async def _raw_bytes(saver: Any, thread: str) -> int:
    """The bytes of all values of all steps as they were serialized, each new list once."""
    serde, seen, total = JsonPlusSerializer(), set(), 0
    async for one in saver.alist(config(thread)):
        for channel, value in one.checkpoint["channel_values"].items():
            version = (channel, one.checkpoint["channel_versions"][channel])
            if version not in seen:
                seen.add(version)
                total += len(serde.dumps_typed(value)[1])
        total += sum(len(serde.dumps_typed(value)[1]) for _, _, value in one.pending_writes)
    return total


def _rows(name: str, grown: dict[str, int], raw: int) -> list[Row]:
    return [
        row(f"bytes on disk, {name}", grown[OURS], grown[THEIRS], size, Goal(at_most=1 / 30)),
        row("the same by the bytes of all values | raw", grown[OURS], raw, size),
    ]
