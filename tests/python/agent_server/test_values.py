"""Threads are found by values of every kind as they are shown: what the index decides is what opening the state would."""

import enum
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypedDict
from uuid import UUID

from langgraph.graph import START, StateGraph
from pydantic import BaseModel

from agent_server.wire import sdk
from support.server import Server


class Mood(enum.Enum):
    GOOD = "good"


class Point(BaseModel):
    x: int


VALUES: dict[str, Any] = {
    "text": "Rome \0 é 🎈",
    "empty": "",
    "number": 3,
    "large": 2**63,
    "share": 0.5,
    "whole": 1.0,
    "done": False,
    "none": None,
    "day": date(2026, 11, 28),
    "at": datetime(2026, 11, 28, 18, 0, tzinfo=UTC),
    "id": UUID(int=7),
    "price": Decimal("1.50"),
    "mood": Mood.GOOD,
    "path": Path("/a/b"),
    "point": Point(x=1),
    "list": [1, 2],
    "long": "x" * 300,
    "bytes": b"abc",
}


def test_threads_are_found_by_each_value_that_they_show(
    saver: Any, server: Server, api_key: str
) -> None:
    State: Any = TypedDict("State", dict.fromkeys([*VALUES, "other"], Any), total=False)
    builder = StateGraph(State)
    builder.add_node("set", lambda state: {**VALUES, "other": state["other"]})
    builder.add_edge(START, "set")
    graph = builder.compile(checkpointer=saver)
    threads = sdk(server, api_key).threads
    for thread_id, other in [("a", 1), ("b", "1"), ("c", None)]:
        graph.invoke({"other": other}, {"configurable": {"thread_id": thread_id}})
        wanted: Any = {"other": other}
        assert [it["thread_id"] for it in threads.search(values=wanted)] == [thread_id]
        assert threads.count(values=wanted) == 1
    shown: Any = threads.get("a")["values"]
    assert set(shown) == {*VALUES, "other"}
    for name in VALUES:
        wanted = {name: shown[name]}
        assert threads.count(values=wanted) == 3, wanted
        assert len(threads.search(values={**wanted, "other": 1})) == 1, wanted
        assert threads.count(values={name: "something else"}) == 0, wanted
    # A newer state has the value of another thread.
    graph.invoke({"other": 1}, {"configurable": {"thread_id": "b"}})
    assert threads.count(values={"other": "1"}) == 0
    assert {it["thread_id"] for it in threads.search(values={"other": 1})} == {"a", "b"}
    threads.delete("a")
    assert threads.count(values={"other": 1}) == 1
