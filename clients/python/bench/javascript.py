"""An agent in JavaScript, replayed: the calls and values of @langchain/langgraph, turn by turn.

There every put carries the whole message list, and so does every `Send` to a tool, once as a write
and once in the channel of the tasks. Versions are integers, values are JSON.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from langgraph.checkpoint.base.id import uuid6
from messages import call, javascript
from prose import Prose
from workloads import config

RESULT_CHARACTERS = 3_000
MODEL, TOOLS, BEFORE, AFTER = (
    "model_request",
    "tools",
    "PatchToolCallsMiddleware.before_agent",
    "todoListMiddleware.after_model",
)
TASKS = "__pregel_tasks"


class JsonSerializer:
    """What the serializer of the JavaScript packages makes of plain values: JSON."""

    def __init__(self) -> None:
        self.bytes_made = 0

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        self.bytes_made += len(data)
        return "json", data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return json.loads(data[1])


class Step(NamedTuple):
    """A put and the writes of the task that runs on it."""

    source: str
    node: str
    values: dict[str, Any]
    consumed: tuple[str, ...]
    writes: list[tuple[str, Any]]


def steps(prose: Prose, chosen: random.Random, tools: int) -> Iterator[list[Step]]:
    """The steps of one turn after the other: 2k+5 puts and 2k+4 groups of writes for k tools."""
    messages: list[Any] = []
    while True:
        yield _turn(messages, prose, chosen, tools)


def _turn(messages: list[Any], prose: Prose, chosen: random.Random, tools: int) -> list[Step]:
    def said(kind: str, text: str, **more: Any) -> dict[str, Any]:
        if kind == "AIMessage":
            # The model is scripted: it counts no tokens.
            more |= {"response_metadata": {}, "usage_metadata": None}
        messages.append(javascript(kind, chosen, text, **more))
        return {"messages": list(messages)}

    asked = {"messages": [{"role": "user", "content": prose.take(100)}]}
    made = [
        Step("input", "__start__", {"__start__": asked}, (), [("messages", asked["messages"])]),
        Step(
            "loop",
            BEFORE,
            said("HumanMessage", asked["messages"][0]["content"]),
            ("__start__",),
            [(f"branch:to:{MODEL}", None)],
        ),
    ]
    values, consumed = {f"branch:to:{MODEL}": None}, (f"branch:to:{BEFORE}",)
    for _ in range(tools):
        used = call(chosen, "search", {"query": prose.take(40)})
        after = said("AIMessage", "", tool_calls=[used])
        send = {
            "lg_name": "Send",
            "node": TOOLS,
            "args": {**after, "jumpTo": None, "lg_tool_call": used},
        }
        writes = [("messages", after["messages"][-1:]), (TASKS, send)]
        made.append(Step("loop", MODEL, values, consumed, writes))
        more = {"tool_call_id": used["id"], "name": used["name"]}
        result = said("ToolMessage", prose.take(RESULT_CHARACTERS), **more)
        writes = [("messages", result["messages"][-1:]), (f"branch:to:{MODEL}", None)]
        after[TASKS] = [send]
        made.append(Step("loop", TOOLS, after, (f"branch:to:{MODEL}",), writes))
        values, consumed = {**result, f"branch:to:{MODEL}": None}, (TASKS,)
    final = said("AIMessage", prose.take(400))
    made.append(Step("loop", MODEL, values, consumed, [("messages", final["messages"][-1:])]))
    made.append(Step("loop", AFTER, final, (f"branch:to:{MODEL}",), [("jumpTo", None)]))
    made.append(Step("loop", "", {"jumpTo": None}, (f"branch:to:{AFTER}",), []))
    return made


class Thread:
    """One thread on one side: keeps the versions and what the last checkpoint shows."""

    def __init__(self, saver: Any, name: str):
        self.saver, self.name = saver, name
        self.where = config(name)
        self.values: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self.seen: dict[str, dict[str, int]] = {"__input__": {}}
        self.step = -1
        self._chosen = random.Random(name)

    async def run(self, step: Step) -> None:
        version = max(self.versions.values(), default=0) + 1
        new = dict.fromkeys([*step.values, *step.consumed], version)
        self.versions.update(new)
        gone = {name: None for name in step.consumed if name not in step.values}
        self.values = {k: v for k, v in self.values.items() if k not in gone} | step.values
        checkpoint = {
            "v": 4,
            "id": str(uuid6(clock_seq=self.step)),
            "ts": "2026-01-01T00:00:00.000Z",
            "channel_values": self.values,
            "channel_versions": dict(self.versions),
            "versions_seen": {node: dict(seen) for node, seen in self.seen.items()},
        }
        metadata = {"source": step.source, "step": self.step, "parents": {}}
        self.where = await self.saver.aput(self.where, checkpoint, metadata, new)
        if step.writes:
            task = f"{self._chosen.getrandbits(128):032x}"
            await self.saver.aput_writes(self.where, step.writes, task)
        self.seen[step.node] = {f"branch:to:{step.node}": version}
        self.step += 1

    async def begin_turn(self) -> None:
        """What the library reads before a turn: the latest checkpoint, twice."""
        for _ in range(2):
            await self.saver.aget_tuple(config(self.name))
