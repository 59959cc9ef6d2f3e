"""Calls of several requests, written once for blocking and asynchronous callers.

A plan is a generator: it yields steps, is sent their answers, and returns the outcome. What a step
raises is raised inside of the plan, which may take another way.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

from threadkeep.errors import ThreadkeepError
from threadkeep.http.connection import Connection, decoded
from threadkeep.http.transport import Answer, Request

Outcome = TypeVar("Outcome")


class Step(NamedTuple):
    """One request of a plan. `is_write` decides how soon it may be repeated.

    With `raw`, the answer is a map of its `body`, the bytes as they are.
    """

    request: Request
    is_write: bool
    raw: bool = False


Plan = Generator[Step, dict[str, Any], Outcome]


def finish(connection: Connection, plan: Plan[Outcome]) -> Outcome:
    """Send what the plan asks for."""
    try:
        step = next(plan)
        while True:
            try:
                found = connection.probe(step.request, is_write=step.is_write)
                answer = _answered(step, found)
            except ThreadkeepError as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome


async def afinish(connection: Connection, plan: Plan[Outcome]) -> Outcome:
    """The same without blocking the running event loop."""
    try:
        step = next(plan)
        while True:
            try:
                found = await connection.aprobe(step.request, is_write=step.is_write)
                answer = _answered(step, found)
            except ThreadkeepError as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome


def _answered(step: Step, answer: Answer) -> dict[str, Any]:
    return {"body": bytes(answer.body)} if step.raw else decoded(answer)
