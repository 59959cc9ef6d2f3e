"""Commits of one thread that wait together travel together.

While a commit of a thread is under way, later ones of the same thread queue; when it is done, all
that queued leave as one request, in call order. Nothing waits for a timer, and a commit that finds
its thread idle leaves at once. Threads (the conversations) never wait for each other.

A merged request that the server refuses is repeated one operation at a time, so that each caller
gets the outcome of its own operation. A caller that is cancelled while it queues takes its
operation with it; one already sent goes on, and the others of that request are not touched.
"""

from __future__ import annotations

import asyncio
import copy
import sys
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from threadkeep.errors import ThreadkeepError
from threadkeep.langgraph.encode import Op

OPS_MAX = 256
BATCH_BYTES_MAX = 4 * 1024 * 1024

Outcome = BaseException | None
Send = Callable[[str, Sequence[Op]], None]
AsyncSend = Callable[[str, Sequence[Op]], Awaitable[None]]


class _HasOp(Protocol):
    op: Op


Waiter = TypeVar("Waiter", bound=_HasOp)


class SyncCommits:
    """For callers in threads: the first of a batch sends it and wakes the others."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._lanes: dict[str, deque[_Caller]] = {}

    def commit(self, thread_id: str, op: Op) -> None:
        """Returns when the operation is durable, else raises its own error."""
        caller = _Caller(op)
        with self._lock:
            lane = self._lanes.get(thread_id)
            if lane is None:
                self._lanes[thread_id] = deque()
                caller.batch = [caller]
            else:
                lane.append(caller)
        if caller.batch is None:
            self._wait(thread_id, caller)
        if caller.batch is not None:
            self._lead(thread_id, caller, caller.batch)
        if caller.outcome is not None:
            raise caller.outcome

    def _wait(self, thread_id: str, caller: _Caller) -> None:
        try:
            caller.woken.wait()
        except BaseException:
            # Interrupted: leave the queue, and hand on the lead if it was given meanwhile.
            with self._lock:
                lane = self._lanes.get(thread_id)
                if caller.batch is None and lane is not None and caller in lane:
                    lane.remove(caller)
                batch = caller.batch
            if batch is not None:
                self._requeue_and_hand_on(thread_id, batch[1:])
            raise

    def _lead(self, thread_id: str, caller: _Caller, batch: list[_Caller]) -> None:
        try:
            outcomes = self._send_all(thread_id, [member.op for member in batch])
        except BaseException:
            # Only an interrupt gets here. Whether the others' operations arrived is not known;
            # sending them again is safe.
            self._requeue_and_hand_on(thread_id, batch[1:])
            raise
        for member, outcome in zip(batch, outcomes, strict=True):
            member.outcome = outcome
            if member is not caller:
                member.woken.set()
        self._requeue_and_hand_on(thread_id, [])

    def _requeue_and_hand_on(self, thread_id: str, again: list[_Caller]) -> None:
        with self._lock:
            lane = self._lanes[thread_id]
            lane.extendleft(reversed(again))
            if not lane:
                del self._lanes[thread_id]
                return
            batch = _take(lane)
            batch[0].batch = batch
            batch[0].woken.set()

    def _send_all(self, thread_id: str, ops: list[Op]) -> list[Outcome]:
        if len(ops) == 1:
            return [self._send_one(thread_id, ops)]
        error = self._send_one(thread_id, ops)
        if _is_refusal(error):
            return [self._send_one(thread_id, [op]) for op in ops]
        return _each(error, len(ops))

    def _send_one(self, thread_id: str, ops: list[Op]) -> Outcome:
        try:
            self._send(thread_id, ops)
        except Exception as error:
            return error
        return None


class _Caller:
    """One blocked caller. `batch` is set when it is the one to send."""

    __slots__ = ("batch", "op", "outcome", "woken")

    def __init__(self, op: Op) -> None:
        self.op = op
        self.woken = threading.Event()
        self.batch: list[_Caller] | None = None
        self.outcome: Outcome = None


class AsyncCommits:
    """For coroutines: a task per busy thread sends, so that no caller's cancellation stops it.

    Each event loop has its own queues; nothing is shared between loops.
    """

    def __init__(self, send: AsyncSend) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Lane]] = (
            weakref.WeakKeyDictionary()
        )

    async def commit(self, thread_id: str, op: Op) -> None:
        """Returns when the operation is durable, else raises its own error."""
        loop = asyncio.get_running_loop()
        lanes = self._lanes_of(loop)
        waiter = _Waiter(op, loop.create_future())
        lane = lanes.get(thread_id)
        if lane is None:
            lane = lanes[thread_id] = _Lane(deque([waiter]))
            lane.task = _begun(loop, self._drain(lanes, thread_id, lane))
        else:
            lane.queue.append(waiter)
        await waiter.done

    def _lanes_of(self, loop: asyncio.AbstractEventLoop) -> dict[str, _Lane]:
        lanes = self._loops.get(loop)
        if lanes is None:
            with self._lock:
                # A loop closed with work left is held alive by the tasks of its own lanes.
                for dead in [known for known in list(self._loops) if known.is_closed()]:
                    del self._loops[dead]
                lanes = self._loops.setdefault(loop, {})
        return lanes

    async def _drain(self, lanes: dict[str, _Lane], thread_id: str, lane: _Lane) -> None:
        batch: list[_Waiter] = []
        try:
            while batch := self._next(lane):
                outcomes = await self._send_all(thread_id, [waiter.op for waiter in batch])
                for waiter, outcome in zip(batch, outcomes, strict=True):
                    if waiter.done.done():
                        continue
                    if outcome is None:
                        waiter.done.set_result(None)
                    else:
                        waiter.done.set_exception(outcome)
        finally:
            # Reached with waiters left only when the loop is being shut down.
            del lanes[thread_id]
            for waiter in (*batch, *lane.queue):
                if not waiter.done.get_loop().is_closed():
                    waiter.done.cancel()

    @staticmethod
    def _next(lane: _Lane) -> list[_Waiter]:
        # Cancelled while they queued: those calls never happened.
        lane.queue = deque(waiter for waiter in lane.queue if not waiter.done.done())
        return _take(lane.queue)

    async def _send_all(self, thread_id: str, ops: list[Op]) -> list[Outcome]:
        error = await self._send_one(thread_id, ops)
        if len(ops) > 1 and _is_refusal(error):
            return [await self._send_one(thread_id, [op]) for op in ops]
        return _each(error, len(ops))

    async def _send_one(self, thread_id: str, ops: list[Op]) -> Outcome:
        try:
            await self._send(thread_id, ops)
        except Exception as error:
            return error
        return None


class _Lane:
    __slots__ = ("queue", "task")

    def __init__(self, queue: deque[_Waiter]) -> None:
        self.queue = queue
        self.task: asyncio.Task[None] | None = None


class _Waiter:
    __slots__ = ("done", "op")

    def __init__(self, op: Op, done: asyncio.Future[None]) -> None:
        self.op = op
        self.done = done


def _begun(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task that has run up to its first wait, where Python can: that saves a turn of the loop."""
    if sys.version_info >= (3, 12) and loop.get_task_factory() is None:
        return asyncio.Task(work, loop=loop, eager_start=True)
    return loop.create_task(work)


def _take(queue: deque[Waiter]) -> list[Waiter]:
    """The next batch: at least one, within the limits of a request."""
    batch: list[Waiter] = []
    size = 0
    while queue and len(batch) < OPS_MAX:
        size += queue[0].op.size_bytes
        if batch and size > BATCH_BYTES_MAX:
            break
        batch.append(queue.popleft())
    return batch


def _is_refusal(error: Outcome) -> bool:
    """The server understood and refused: one operation may be the cause for all."""
    status = error.status if isinstance(error, ThreadkeepError) else None
    return status is not None and 400 <= status < 500 and status not in (401, 403, 429)


def _each(error: Outcome, count: int) -> list[Outcome]:
    """An error for each: one object raised in several callers would mix their tracebacks."""
    if error is None or count == 1:
        return [error] * count
    return [copy.copy(error) for _ in range(count)]
