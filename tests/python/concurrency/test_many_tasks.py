"""Many tasks on one saver: each on a thread of its own, or all on one. Nothing lost, nothing mixed."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from threadkeep.langgraph import ThreadkeepSaver

from support import settings
from support.server import Server

Task = Callable[[int, Callable[[], bool]], Awaitable[int]]
WRITES = 3
LIVING_STEPS = 50


def config_of(thread_id: str, ns: str = "") -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}


def checkpoint_of(text: str) -> Checkpoint:
    """A checkpoint whose every value says whose it is."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"messages": [text] * 20, "owner": text}
    checkpoint["channel_versions"] = {"messages": 1, "owner": 1}
    return checkpoint


async def put(saver: ThreadkeepSaver, config: RunnableConfig, text: str) -> RunnableConfig:
    checkpoint = checkpoint_of(text)
    metadata = {"source": "loop", "step": 0, "parents": {}, "text": text}
    return await saver.aput(config, checkpoint, metadata, checkpoint["channel_versions"])


async def run_tasks(size: int, task: Task, server: Server) -> tuple[int, int, int]:
    """Runs the tasks for the set time: steps done in all, and memory at half time and at the end."""
    end = time.monotonic() + settings.CONCURRENCY_SECONDS
    running = asyncio.gather(
        *[task(number, lambda: time.monotonic() < end) for number in range(size)]
    )
    await asyncio.wait([running], timeout=settings.CONCURRENCY_SECONDS / 2)
    half_time_bytes = server.resident_bytes()
    steps = await running
    return sum(steps), half_time_bytes, server.resident_bytes()


def assert_memory_flat(half_time_bytes: int, end_bytes: int) -> None:
    bound = half_time_bytes * (100 + settings.RSS_GROWTH_PERCENT_MAX) // 100
    assert end_bytes <= bound + settings.RSS_GROWTH_BYTES_FREE


async def test_tasks_on_their_own_threads_neither_lose_nor_mix_anything(
    own_server: Server,
) -> None:
    saver = ThreadkeepSaver(own_server.url, api_key=own_server.new_key())
    last: dict[int, str] = {}

    async def task(number: int, go_on: Callable[[], bool]) -> int:
        thread_id = f"thread-{number}"
        config = config_of(thread_id)
        for step in itertools.count():
            text = f"{thread_id} step {step}"
            config = await put(saver, config, text)
            await saver.aput_writes(config, [(f"w{i}", f"{text} {i}") for i in range(WRITES)], "t")
            found = await saver.aget_tuple(config_of(thread_id))
            assert found is not None
            assert found.config == config
            assert found.checkpoint["channel_values"] == checkpoint_of(text)["channel_values"]
            assert found.pending_writes == [("t", f"w{i}", f"{text} {i}") for i in range(WRITES)]
            # The thread keeps a bounded length, so that the server's memory has no reason to grow.
            if step % LIVING_STEPS == LIVING_STEPS - 1:
                await saver.aprune([thread_id])
            last[number] = text
            if not go_on():
                return step + 1
        raise AssertionError("unreachable")

    steps, half_time, end = await run_tasks(settings.TASKS_APART, task, own_server)

    assert steps >= settings.TASKS_APART
    for number, text in last.items():
        found = await saver.aget_tuple(config_of(f"thread-{number}"))
        assert found is not None
        assert found.metadata["text"] == text
    assert_memory_flat(half_time, end)


async def test_tasks_on_one_thread_neither_lose_nor_mix_anything(own_server: Server) -> None:
    saver = ThreadkeepSaver(own_server.url, api_key=own_server.new_key())
    shared = await put(saver, config_of("shared"), "shared")
    sent: dict[str, tuple[int, str]] = {}
    writes_sent: list[tuple[str, str, str]] = []

    async def task(number: int, go_on: Callable[[], bool]) -> int:
        for step in itertools.count():
            text = f"task {number} step {step}"
            config, _ = await asyncio.gather(
                put(saver, shared, text),
                saver.aput_writes(shared, [(f"w{number}", text)], f"{number:02}-{step:06}"),
            )
            await saver.aput_writes(config, [("own", text)], "t")
            sent[config["configurable"]["checkpoint_id"]] = (number, text)
            writes_sent.append((f"{number:02}-{step:06}", f"w{number}", text))
            found = await saver.aget_tuple(config)
            assert found is not None
            assert found.checkpoint["channel_values"]["owner"] == text
            if not go_on():
                return step + 1
        raise AssertionError("unreachable")

    steps, half_time, end = await run_tasks(settings.TASKS_TOGETHER, task, own_server)

    stored = {}
    async for found in saver.alist(config_of("shared")):
        stored[found.config["configurable"]["checkpoint_id"]] = found
    root = stored.pop(shared["configurable"]["checkpoint_id"])
    assert root.pending_writes == sorted(writes_sent)
    assert stored.keys() == sent.keys()
    assert len(stored) == steps
    for checkpoint_id, (_, text) in sent.items():
        found = stored[checkpoint_id]
        assert found.checkpoint["channel_values"] == checkpoint_of(text)["channel_values"]
        assert found.pending_writes == [("t", "own", text)]
        assert found.parent_config == root.config
    assert_memory_flat(half_time, end)
