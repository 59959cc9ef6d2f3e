"""Calls of one turn of an event loop travel together.

Nothing is held back for company: what was asked for in this turn leaves at its end, as one request.
Each caller has its own outcome, and one bad call fails none of the others. Changes of one item
leave one after the other, in the order of the calls, so that each happens and the last one stays.

A request ends early when all of its callers are gone, unless it changes something: a change that
was sent goes on, because the next one of its item must not overtake it.
"""

from __future__ import annotations

import asyncio
import copy
import math
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from langgraph.store.base import Op, PutOp, Result

from threadkeep.errors import TransportError
from threadkeep.http.retry import NEGLIGIBLE_SECONDS
from threadkeep.langgraph.items import address_of
from threadkeep.langgraph.store_calls import OPS_MAX, Outcome

Send = Callable[[Sequence[Op], float], Awaitable[list[Outcome]]]
"""Takes operations and the time.monotonic() of their deadline."""


class _Waiter:
    """One call that waits for its outcome."""

    __slots__ = ("done", "ends", "op", "part", "timer")

    def __init__(self, op: Op, ends: float, done: asyncio.Future[Result]) -> None:
        self.op = op
        self.ends = ends
        self.done = done
        self.part: _Part | None = None
        self.timer: asyncio.TimerHandle | None = None

    def expires(self) -> None:
        """From now on a timer ends the wait when the caller's time is over."""
        if self.timer is None and self.ends != math.inf:
            left = self.ends - time.monotonic()
            self.timer = self.done.get_loop().call_later(left, self._expire)

    def _expire(self) -> None:
        if not self.done.done():
            detail = "the call's time was over while it waited for others of its turn or item"
            self.done.set_exception(TransportError(detail))
            self.left()

    def left(self) -> None:
        """The caller is gone."""
        if self.part is not None:
            self.part.stop_if_unwanted()


class _Part:
    """What travels as one request."""

    __slots__ = ("is_stopped", "task", "waiters")

    def __init__(self, waiters: list[_Waiter]) -> None:
        self.waiters = waiters
        self.is_stopped = False
        self.task: asyncio.Task[None] | None = None

    @property
    def changes_something(self) -> bool:
        return any(isinstance(waiter.op, PutOp) for waiter in self.waiters)

    def stop_if_unwanted(self) -> None:
        wanted = any(not waiter.done.done() for waiter in self.waiters)
        if wanted or self.is_stopped or self.task is None or self.changes_something:
            return
        self.is_stopped = True
        self.task.cancel()


@dataclass
class _Queue:
    """What waits in one event loop."""

    waiting: list[_Waiter] = field(default_factory=list)
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

    async def run(self, op: Op, ends: float) -> Result:
        """The operation's own result, or its own error.

        `ends` is the time.monotonic() of the caller's deadline.
        """
        loop = asyncio.get_running_loop()
        queue = self._queue_of(loop)
        waiter = _Waiter(op, ends, loop.create_future())
        queue.waiting.append(waiter)
        if not queue.is_scheduled:
            queue.is_scheduled = True
            loop.call_soon(self._end_turn, loop, queue)
        try:
            return await waiter.done
        except asyncio.CancelledError:
            waiter.left()
            raise
        finally:
            if waiter.timer is not None:
                waiter.timer.cancel()

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
        while waiters := _next_part(queue):
            part = _Part(waiters)
            part.task = task = loop.create_task(self._travel(loop, queue, part))
            for waiter in waiters:
                waiter.part = part
            # The loop itself would not keep it alive.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _travel(self, loop: asyncio.AbstractEventLoop, queue: _Queue, part: _Part) -> None:
        ends = max(waiter.ends for waiter in part.waiters)
        for waiter in part.waiters:
            if waiter.ends < ends - NEGLIGIBLE_SECONDS:
                waiter.expires()
        try:
            outcomes = await self._send([waiter.op for waiter in part.waiters], ends)
        except Exception as error:
            # One object that is raised in several callers would mix their tracebacks.
            outcomes = [copy.copy(error) for _ in part.waiters]
        except BaseException:
            if part.is_stopped:
                return
            # The loop ends.
            for waiter in part.waiters + queue.waiting:
                waiter.done.cancel()
            raise
        queue.changing.difference_update(
            address_of(waiter.op) for waiter in part.waiters if isinstance(waiter.op, PutOp)
        )
        self._leave(loop, queue)
        for waiter, outcome in zip(part.waiters, outcomes, strict=True):
            if waiter.done.done():
                continue
            if isinstance(outcome, Exception):
                waiter.done.set_exception(outcome)
            else:
                waiter.done.set_result(outcome)


def _next_part(queue: _Queue) -> list[_Waiter]:
    """What may leave now: within the limit, and no change of an item that is being changed."""
    part: list[_Waiter] = []
    stays: list[_Waiter] = []
    for waiter in queue.waiting:
        if waiter.done.done():
            # Cancelled since: that call never happened.
            continue
        address = address_of(waiter.op) if isinstance(waiter.op, PutOp) else None
        if len(part) == OPS_MAX or address in queue.changing:
            waiter.expires()
            stays.append(waiter)
            continue
        if address is not None:
            queue.changing.add(address)
        part.append(waiter)
    queue.waiting = stays
    return part
