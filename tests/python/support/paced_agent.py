"""A deepagents agent whose model speaks when a test lets it: python -m support.paced_agent URL THREAD FOLDER [allow]

Each answer of the model waits for a file in the folder that is named by its number, from 1.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from langchain_core.messages import AIMessage
from langgraph.types import Command
from threadkeep.langgraph import ThreadkeepSaver

from equivalence.agents import Scripted, calls, search

LOOK_EVERY_SECONDS = 0.02
TASK = {"description": "When is the tide?", "subagent_type": "researcher"}
PLAN = {"file_path": "/plan.md", "content": "# Plan\n\nSail at noon.\n"}


class Paced(Scripted):
    """Waits before each answer."""

    folder: Path
    numbers: list[int]
    """Those of its answers: a sub-agent's model has some of them."""

    def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
        gate = self.folder / str(self.numbers.pop(0))
        while not gate.exists():
            time.sleep(LOOK_EVERY_SECONDS)
        return super()._generate(messages, *args, **options)


def planner(url: str, folder: Path, lines: list[AIMessage], numbers: list[int]) -> Any:
    look = [calls(("s1", "ls", {"path": "/"})), AIMessage("The tide is high at noon.")]
    researcher: Any = {
        "name": "researcher",
        "description": "Looks things up.",
        "system_prompt": "Look it up.",
        "model": Paced(script=look, folder=folder, numbers=[2, 3]),
    }
    return create_deep_agent(
        model=Paced(script=lines, folder=folder, numbers=numbers),
        tools=[search],
        checkpointer=ThreadkeepSaver(url),
        subagents=[researcher],
        interrupt_on={"search": True},
    )


def main(url: str, thread: str, folder: str, *rest: str) -> None:
    config = {"configurable": {"thread_id": thread}}
    if rest:
        agent = planner(url, Path(folder), [AIMessage("Here is the plan.")], [6])
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
        return
    lines = [
        calls(("c1", "task", TASK)),
        calls(("c2", "write_file", PLAN)),
        calls(("c3", "search", {"query": "boats"})),
    ]
    agent = planner(url, Path(folder), lines, [1, 4, 5])
    agent.invoke({"messages": [("user", "Plan a trip by boat")]}, config)


if __name__ == "__main__":
    main(*sys.argv[1:])
