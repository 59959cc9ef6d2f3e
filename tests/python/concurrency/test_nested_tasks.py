"""Tasks that call tasks: their paths grow by a level each, and come back whole."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.func import entrypoint, task
from langgraph.types import Command, interrupt
from threadkeep.errors import InvalidError
from threadkeep.langgraph import ThreadkeepSaver

from support import settings

LEVELS = settings.NESTED_TASKS
PATH_BYTES_MAX = 65_536


@pytest.fixture
def deep_recursion() -> Iterator[None]:
    """LangGraph writes a path by a function that calls itself for each level."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(LEVELS * 20)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("deep_recursion")
async def test_tasks_nested_that_deep_run_and_resume(saver: ThreadkeepSaver) -> None:
    ran: list[int] = []

    @task
    async def down(level: int) -> int:
        ran.append(level)
        return 0 if level == 0 else 1 + await down(level - 1)

    @entrypoint(checkpointer=saver)
    async def agent(levels: int) -> dict[str, Any]:
        depth = await down(levels)
        return {"depth": depth, "answer": interrupt("go on?")}

    config = {"configurable": {"thread_id": "deep"}, "recursion_limit": LEVELS * 2}
    await agent.ainvoke(LEVELS, config)
    assert ran == list(range(LEVELS, -1, -1))

    stored = await saver.aget_tuple(config)
    assert stored is not None
    returned = [
        value for _, channel, value in stored.pending_writes or () if channel == "__return__"
    ]
    assert sorted(returned) == list(range(LEVELS + 1)), "what each task returned is kept"

    assert await agent.ainvoke(Command(resume="yes"), config) == {"depth": LEVELS, "answer": "yes"}
    assert len(ran) == LEVELS + 1, "nothing ran twice"


def test_a_longer_path_is_refused_by_its_name(saver: ThreadkeepSaver) -> None:
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}
    saver.put_writes(config, [("a", 1)], "task", "p" * PATH_BYTES_MAX)
    with pytest.raises(InvalidError) as raised:
        saver.put_writes(config, [("a", 1)], "other", "p" * (PATH_BYTES_MAX + 1))
    assert (raised.value.field, raised.value.limit) == ("task_path", PATH_BYTES_MAX)
