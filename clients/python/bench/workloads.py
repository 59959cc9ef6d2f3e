"""The material: checkpoints of a usual size, prose, a deepagents agent with a scripted model."""

from __future__ import annotations

import random
from typing import Any

from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.base.id import uuid6

WORDS = [
    "".join(random.Random(number).choices("etaoinshrdlucmfwypvbgkjqxz", k=2 + number % 9))
    for number in range(2000)
]
CHANNELS = [f"channel_{number}" for number in range(9)]


def prose(seed: int, length: int) -> str:
    """Text that compresses about as prose does; the same for the same seed."""
    chosen = random.Random(seed)
    text = ""
    while len(text) < length:
        text += " ".join(chosen.choices(WORDS, k=50)) + ". "
    return text[:length]


def config(thread: str, checkpoint_id: str | None = None) -> dict[str, Any]:
    return {
        "configurable": {
            "thread_id": thread,
            "checkpoint_ns": "",
            **({"checkpoint_id": checkpoint_id} if checkpoint_id else {}),
        }
    }


def checkpoint(step: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Arguments of a put in a run: a skeleton of about 1 KB, nine channels of which two are new."""
    first, now = (f"{number:032}.0.{4321:016}" for number in (1, step + 1))
    new = dict.fromkeys(CHANNELS if step == 0 else CHANNELS[:2], now)
    versions = {**dict.fromkeys(CHANNELS, first), **new}
    made = {
        "v": 4,
        "id": str(uuid6(clock_seq=step)),
        "ts": "2026-01-01T00:00:00.000000+00:00",
        "channel_values": {CHANNELS[0]: prose(step, 600), CHANNELS[1]: {"k": prose(step + 1, 200)}},
        "channel_versions": versions,
        "versions_seen": {"node": dict(list(versions.items())[:4])},
        "updated_channels": CHANNELS[:2],
    }
    return made, {"source": "loop", "step": step, "parents": {}}, new


def writes(step: int) -> list[tuple[str, Any]]:
    """What a task of a superstep hands over."""
    return [
        (CHANNELS[0], prose(step, 600)),
        (CHANNELS[1], {"k": prose(step, 200)}),
        ("branch:to:n", None),
    ]


class Scripted(BaseChatModel):
    """Answers with the next entry of its script."""

    script: list[Any] = []  # noqa: RUF012 - a pydantic field, copied for each model

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:  # type: ignore[override]
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        return ChatResult(generations=[ChatGeneration(message=self.script.pop(0))])


def search(query: str) -> str:
    """Look something up: 4 KB of prose."""
    return prose(sum(query.encode()), 4000)


def agent(saver: Any, turns: range, tools: int) -> Any:
    """A deep agent that calls `tools` tools one after the other in each of these turns."""
    script: list[AIMessage] = []
    for turn in turns:
        for number in range(tools):
            call = {
                "name": "search",
                "args": {"query": f"{turn}.{number}"},
                "id": f"c{turn}.{number}",
            }
            script.append(AIMessage(content="", tool_calls=[{**call, "type": "tool_call"}]))
        script.append(AIMessage(content=prose(turn, 400)))
    return create_deep_agent(model=Scripted(script=script), tools=[search], checkpointer=saver)


async def take_turn(graph: Any, thread: str, turn: int) -> None:
    await graph.ainvoke(
        {"messages": [("user", prose(turn, 80))]}, {**config(thread), "recursion_limit": 1000}
    )
