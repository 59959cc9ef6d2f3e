"""Commits of one thread that wait together travel together.

While a commit of a thread is under way, later ones of the same thread queue; when it is done, all
that queued leave as one request, in call order. Nothing waits for a timer, and a commit that finds
its thread idle leaves at once. Threads (the conversations) never wait for each other.

A merged request that the server refuses is repeated one operation at a time, so that each caller
gets the outcome of its own operation. A caller whose time is over, or that is cancelled, while it
queues takes its operation with it. A request that was sent goes on while anybody waits for it, or
behind it, so that nothing overtakes it; its deadline is the latest of its callers.
"""

from __future__ import annotations

import asyncio
import copy
import math
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from threadkeep.errors import ThreadkeepError, TransportError
from threadkeep.http.retry import NEGLIGIBLE_SECONDS
from threadkeep.langgraph.encode import Op

OPS_MAX = 256
BATCH_BYTES_MAX = 4 * 1024 * 1024

Outcome = BaseException | None
Send = Callable[[str, Sequence[Op], float], None]
"""Takes the thread, the operations and the time.monotonic() of the deadline."""
AsyncSend = Callable[[str, Sequence[Op], float], Awaitable[None]]


class _HasOp(Protocol):
    op: Op
    ends: float


Waiter = TypeVar("Waiter", bound=_HasOp)


class SyncCommits:
    """For callers in threads: one of a batch sends it and wakes the others."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.forget_parent()

    def forget_parent(self) -> None:
        """In a forked child: what waits here is the parent's."""
        self._lock = threading.Lock()
        self._lanes: dict[str, deque[_Caller]] = {}

    def commit(self, thread_id: str, op: Op, ends: float) -> None:
        """Returns when the operation is durable, else raises its own error.

        `ends` is the time.monotonic() of the caller's deadline.
        """
        caller = _Caller(op, ends)
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
            left = min(caller.ends - time.monotonic(), threading.TIMEOUT_MAX)
            if not caller.woken.wait(max(left, 0.0)):
                raise _overdue()
        except BaseException:
            # Interrupted, or too late: leave the queue, and hand on the lead if it was given
            # meanwhile.
            with self._lock:
                lane = self._lanes.get(thread_id)
                if caller.batch is None and lane is not None and caller in lane:
                    lane.remove(caller)
                batch = caller.batch
            if batch is not None:
                self._requeue_and_hand_on(thread_id, _without(batch, caller))
            raise

    def _lead(self, thread_id: str, caller: _Caller, batch: list[_Caller]) -> None:
        try:
            # The leader's deadline is the latest.
            outcomes = self._send_all(thread_id, [member.op for member in batch], caller.ends)
        except BaseException:
            # Only an interrupt gets here. Whether the others' operations arrived is not known;
            # sending them again is safe.
            self._requeue_and_hand_on(thread_id, _without(batch, caller))
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
            leader = max(batch, key=lambda member: member.ends)
            leader.batch = batch
            leader.woken.set()

    def _send_all(self, thread_id: str, ops: list[Op], ends: float) -> list[Outcome]:
        if len(ops) == 1:
            return [self._send_one(thread_id, ops, ends)]
        error = self._send_one(thread_id, ops, ends)
        if _is_refusal(error):
            return [self._send_one(thread_id, [op], ends) for op in ops]
        return _each(error, len(ops))

    def _send_one(self, thread_id: str, ops: list[Op], ends: float) -> Outcome:
        try:
            self._send(thread_id, ops, ends)
        except Exception as error:
            return error
        return None


class _Caller:
    """One blocked caller. `batch` is set when it is the one to send."""

    __slots__ = ("batch", "ends", "op", "outcome", "woken")

    def __init__(self, op: Op, ends: float) -> None:
        self.op = op
        self.ends = ends
        self.woken = threading.Event()
        self.batch: list[_Caller] | None = None
        self.outcome: Outcome = None


class AsyncCommits:
    """For coroutines: a task per busy thread sends, so that a cancelled caller stops no other.

    Each event loop has its own queues; nothing is shared between loops.
    """

    def __init__(self, send: AsyncSend) -> None:
        self._send = send
        self.forget_parent()

    def forget_parent(self) -> None:
        """In a forked child: what waits here is the parent's."""
        self._lock = threading.Lock()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Lane]] = (
            weakref.WeakKeyDictionary()
        )

    async def commit(self, thread_id: str, op: Op, ends: float) -> None:
        """Returns when the operation is durable, else raises its own error.

        `ends` is the time.monotonic() of the caller's deadline.
        """
        loop = asyncio.get_running_loop()
        lanes = self._lanes_of(loop)
        waiter = _Waiter(op, ends, loop.create_future())
        lane = lanes.get(thread_id)
        if lane is None:
            lane = lanes[thread_id] = _Lane(deque([waiter]))
            lane.task = _begun(loop, self._drain(lanes, thread_id, lane))
        else:
            lane.queue.append(waiter)
            waiter.expires_in(lane)
        try:
            await waiter.done
        except asyncio.CancelledError:
            lane.stop_if_unwanted()
            raise
        finally:
            waiter.never_expires()

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
        try:
            while batch := self._next(lane):
                lane.batch = batch
                try:
                    ends = lane.latest_end()
                    outcomes = await self._send_all(thread_id, [it.op for it in batch], ends)
                except asyncio.CancelledError:
                    if not lane.is_stopped:
                        raise
                    lane.go_on()
                    continue
                lane.batch = []
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
            for waiter in (*lane.batch, *lane.queue):
                if not waiter.done.get_loop().is_closed():
                    waiter.done.cancel()

    @staticmethod
    def _next(lane: _Lane) -> list[_Waiter]:
        # Cancelled while they queued: those calls never happened.
        lane.queue = deque(waiter for waiter in lane.queue if not waiter.done.done())
        return _take(lane.queue)

    async def _send_all(self, thread_id: str, ops: list[Op], ends: float) -> list[Outcome]:
        error = await self._send_one(thread_id, ops, ends)
        if len(ops) > 1 and _is_refusal(error):
            return [await self._send_one(thread_id, [op], ends) for op in ops]
        return _each(error, len(ops))

    async def _send_one(self, thread_id: str, ops: list[Op], ends: float) -> Outcome:
        try:
            await self._send(thread_id, ops, ends)
        except Exception as error:
            return error
        return None


class _Lane:
    """The queue of one thread, and the request that is under way."""

    __slots__ = ("batch", "is_stopped", "queue", "task")

    def __init__(self, queue: deque[_Waiter]) -> None:
        self.queue = queue
        self.batch: list[_Waiter] = []
        self.task: asyncio.Task[None] | None = None
        self.is_stopped = False

    def latest_end(self) -> float:
        """The deadline of the request; who has an earlier one leaves it by a timer."""
        if len(self.batch) == 1:
            # Its request ends by itself, and has more time for a large body.
            (only,) = self.batch
            only.never_expires()
            return only.ends
        ends = max(waiter.ends for waiter in self.batch)
        for waiter in self.batch:
            if waiter.timer is None and waiter.ends < ends - NEGLIGIBLE_SECONDS:
                waiter.expires_in(self)
        return ends

    def stop_if_unwanted(self) -> None:
        """End the request under way when nobody waits for it, or for a turn behind it."""
        waiting = (*self.batch, *self.queue)
        wanted = not self.batch or any(not waiter.done.done() for waiter in waiting)
        if not wanted and not self.is_stopped and self.task is not None:
            self.is_stopped = True
            self.task.cancel()

    def go_on(self) -> None:
        """The request has ended; the task is no longer cancelled."""
        self.batch, self.is_stopped = [], False
        if sys.version_info >= (3, 11) and self.task is not None:
            self.task.uncancel()


class _Waiter:
    __slots__ = ("done", "ends", "op", "timer")

    def __init__(self, op: Op, ends: float, done: asyncio.Future[None]) -> None:
        self.op = op
        self.ends = ends
        self.done = done
        self.timer: asyncio.TimerHandle | None = None

    def expires_in(self, lane: _Lane) -> None:
        """From now on a timer ends the wait when the caller's time is over."""
        if self.ends != math.inf:
            left = self.ends - time.monotonic()
            self.timer = self.done.get_loop().call_later(left, self._expire, lane)

    def never_expires(self) -> None:
        """From now on no timer ends the wait."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _expire(self, lane: _Lane) -> None:
        if not self.done.done():
            self.done.set_exception(_overdue())
            lane.stop_if_unwanted()


def _overdue() -> TransportError:
    return TransportError(
        "the call's time was over while it waited for an earlier commit of its thread"
    )


def _without(batch: list[_Caller], caller: _Caller) -> list[_Caller]:
    return [member for member in batch if member is not caller]


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
