"""Calls of one turn of an event loop travel together.

Nothing is held back for company: what was asked for in this turn leaves at its end, as one request.
Each caller has its own outcome, and one bad call fails none of the others. Changes of one item
leave one after the other, in the order of the calls, so that each happens and the last one stays.
"""

from __future__ import annotations

import asyncio
import copy
import threading
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from langgraph.store.base import Op, PutOp, Result

from threadkeep.langgraph.items import address_of
from threadkeep.langgraph.store_calls import OPS_MAX, Outcome

Send = Callable[[Sequence[Op]], Awaitable[list[Outcome]]]
Waiter = tuple[Op, "asyncio.Future[Result]"]


@dataclass
class _Queue:
    """What waits in one event loop."""

    waiting: list[Waiter] = field(default_factory=list)
    changing: set[object] = field(default_factory=set)
    """Items that a request under way changes."""
    is_scheduled: bool = False


class Ticks:
    """One for each store. Each event loop has its own queue."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = (
            weakref.WeakKeyDictionary()
        )
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, op: Op) -> Result:
        """The operation's own result, or its own error."""
        loop = asyncio.get_running_loop()
        queue = self._queue_of(loop)
        done: asyncio.Future[Result] = loop.create_future()
        queue.waiting.append((op, done))
        if not queue.is_scheduled:
            queue.is_scheduled = True
            loop.call_soon(self._end_turn, loop, queue)
        return await done

    def _queue_of(self, loop: asyncio.AbstractEventLoop) -> _Queue:
        queue = self._queues.get(loop)
        if queue is None:
            with self._lock:
                queue = self._queues.setdefault(loop, _Queue())
        return queue

    def _end_turn(self, loop: asyncio.AbstractEventLoop, queue: _Queue) -> None:
        queue.is_scheduled = False
        self._leave(loop, queue)

    def _leave(self, loop: asyncio.AbstractEventLoop, queue: _Queue) -> None:
        while part := _next_part(queue):
            task = loop.create_task(self._travel(loop, queue, part))
            # The loop itself would not keep it alive.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _travel(
        self, loop: asyncio.AbstractEventLoop, queue: _Queue, part: list[Waiter]
    ) -> None:
        try:
            outcomes = await self._send([op for op, _ in part])
        except Exception as error:
            # One object that is raised in several callers would mix their tracebacks.
            outcomes = [copy.copy(error) for _ in part]
        except BaseException:
            # The loop ends.
            for _, done in part + queue.waiting:
                done.cancel()
            raise
        queue.changing.difference_update(address_of(op) for op, _ in part if isinstance(op, PutOp))
        self._leave(loop, queue)
        for (_, done), outcome in zip(part, outcomes, strict=True):
            if done.done():
                continue
            if isinstance(outcome, Exception):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)


def _next_part(queue: _Queue) -> list[Waiter]:
    """What may leave now: within the limit, and no change of an item that is being changed."""
    part: list[Waiter] = []
    stays: list[Waiter] = []
    for waiter in queue.waiting:
        op, done = waiter
        if done.done():
            # Cancelled since: that call never happened.
            continue
        address = address_of(op) if isinstance(op, PutOp) else None
        if len(part) == OPS_MAX or address in queue.changing:
            stays.append(waiter)
            continue
        if address is not None:
            queue.changing.add(address)
        part.append(waiter)
    queue.waiting = stays
    return part
