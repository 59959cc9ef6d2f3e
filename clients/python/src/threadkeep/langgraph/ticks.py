"""Calls of one turn of an event loop travel together.

Nothing is held back: what was asked for in this turn leaves at its end, as one request. Each caller
has its own outcome, and one bad call fails none of the others. Two changes of one item never travel
together, so that each of them happens.
"""

from __future__ import annotations

import asyncio
import copy
import threading
import weakref
from collections.abc import Awaitable, Callable, Sequence

from langgraph.store.base import Op, PutOp, Result

from threadkeep.langgraph.items import address_of
from threadkeep.langgraph.store_calls import OPS_MAX, Outcome

Send = Callable[[Sequence[Op]], Awaitable[list[Outcome]]]
Waiter = tuple[Op, "asyncio.Future[Result]"]


class Ticks:
    """One for each store. Each event loop has its own queue."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Waiter]] = (
            weakref.WeakKeyDictionary()
        )
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, op: Op) -> Result:
        """The operation's own result, or its own error."""
        loop = asyncio.get_running_loop()
        queue = self._queue_of(loop)
        done: asyncio.Future[Result] = loop.create_future()
        queue.append((op, done))
        if len(queue) == 1:
            loop.call_soon(self._leave, loop, queue)
        return await done

    def _queue_of(self, loop: asyncio.AbstractEventLoop) -> list[Waiter]:
        queue = self._queues.get(loop)
        if queue is None:
            with self._lock:
                queue = self._queues.setdefault(loop, [])
        return queue

    def _leave(self, loop: asyncio.AbstractEventLoop, queue: list[Waiter]) -> None:
        # Cancelled since: those calls never happened.
        waiting = [waiter for waiter in queue if not waiter[1].done()]
        queue.clear()
        for part in _parts(waiting):
            task = loop.create_task(self._run(part))
            # The loop itself would not keep it alive.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, waiting: list[Waiter]) -> None:
        try:
            outcomes = await self._send([op for op, _ in waiting])
        except BaseException as error:
            for _, done in waiting:
                if not done.done():
                    # One object that is raised in several callers would mix their tracebacks.
                    done.set_exception(copy.copy(error)) if isinstance(
                        error, Exception
                    ) else done.cancel()
            if not isinstance(error, Exception):
                raise
            return
        for (_, done), outcome in zip(waiting, outcomes, strict=True):
            if done.done():
                continue
            if isinstance(outcome, Exception):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)


def _parts(waiting: list[Waiter]) -> list[list[Waiter]]:
    """A change goes into the first request that has none of its item, behind those before it."""
    parts: list[list[Waiter]] = []
    changed: list[set[object]] = []
    first: dict[object, int] = {}
    for waiter in waiting:
        op = waiter[0]
        at = 0
        if isinstance(op, PutOp):
            address = address_of(op)
            at = first.get(address, 0)
            first[address] = at + 1
        while at < len(parts) and len(parts[at]) >= OPS_MAX:
            at += 1
        while at >= len(parts):
            parts.append([])
            changed.append(set())
        parts[at].append(waiter)
    return parts
