"""Calls of a saver that send several requests within one deadline, as plans.

A plan is a generator. It yields the requests that may be under way together, is sent their answers
in the same order, and returns the outcome. What one of them raises is raised inside of the plan.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from threadkeep.errors import ThreadkeepError
from threadkeep.http.connection import Connection
from threadkeep.http.settings import BYTES_PER_SECOND_MIN
from threadkeep.http.transport import Request

Outcome = TypeVar("Outcome")


class Step(NamedTuple):
    """One request of a plan. `ends` is the time.monotonic() of its deadline."""

    request: Request
    is_write: bool
    ends: float


Steps = Generator[Sequence[Step], Sequence[dict[str, Any]], Outcome]


class Deadline:
    """The time.monotonic() at which a call ends. Bytes that have moved add to it."""

    def __init__(self, ends: float) -> None:
        self.ends = ends

    def moved(self, size_bytes: int) -> None:
        """So many bytes were sent or received: a second more for each megabyte, as for a body."""
        self.ends += size_bytes / BYTES_PER_SECOND_MIN


def finish(connection: Connection, plan: Steps[Outcome]) -> Outcome:
    """Send what the plan asks for, one request after the other."""
    try:
        steps = next(plan)
        while True:
            try:
                answers = [_called(connection, step) for step in steps]
            except ThreadkeepError as error:
                steps = plan.throw(error)
            else:
                steps = plan.send(answers)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome


async def afinish(connection: Connection, plan: Steps[Outcome]) -> Outcome:
    """The same without blocking; the requests of a step are under way together."""
    try:
        steps = next(plan)
        while True:
            try:
                answers = await _acalled(connection, steps)
            except ThreadkeepError as error:
                steps = plan.throw(error)
            else:
                steps = plan.send(answers)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome


def _called(connection: Connection, step: Step) -> dict[str, Any]:
    return connection.call(step.request, is_write=step.is_write, ends=step.ends)


async def _acalled(connection: Connection, steps: Sequence[Step]) -> Sequence[dict[str, Any]]:
    calls = [connection.acall(it.request, is_write=it.is_write, ends=it.ends) for it in steps]
    if len(calls) == 1:
        return [await calls[0]]
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        # One failed, or nobody waits any more: nothing of this call may go on behind it.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
