"""Times, percentiles and the rows of the report. Sides are measured in turns: A B, B A, A B, …"""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line of the report. `ratio` is threadkeep by reference; `met`: the goal is met."""

    measure: str
    threadkeep: str
    reference: str
    ratio: float
    goal: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Goal:
    """`at_most` or `at_least` a ratio."""

    at_most: float = math.inf
    at_least: float = 0.0

    def text(self) -> str:
        return f"≤ {self.at_most:.2g}" if self.at_most < math.inf else f"≥ {self.at_least:.2g}"

    def met(self, ratio: float) -> bool:
        return self.at_least <= ratio <= self.at_most


def row(
    measure: str, ours: float, theirs: float, show: Callable[[float], str], goal: Goal | None = None
) -> Row:
    ratio = ours / theirs if theirs else math.nan
    met = goal.met(ratio) if goal else None
    return Row(measure, show(ours), show(theirs), ratio, goal.text() if goal else "", met)


def millis(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def per_second(rate: float) -> str:
    return f"{rate:,.0f}/s"


def size(count: float) -> str:
    return f"{count / 1e6:.2f} MB" if count >= 1e6 else f"{count / 1e3:.1f} KB"


def percentile(times: Sequence[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


@dataclass(frozen=True)
class Timed:
    """What one round of one side gave."""

    p50: float
    p99: float
    rate: float


Call = Callable[[int, int], Awaitable[Any]]
"""A call to be timed: it is told its task and its number."""


async def timed(call: Call, tasks: int, calls: int) -> Timed:
    """Make `calls` calls in each of `tasks` tasks at once."""
    times: list[float] = []

    async def one(task: int) -> None:
        for number in range(calls):
            begun = time.perf_counter()
            await call(task, number)
            times.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*map(one, range(tasks)))
    took = time.perf_counter() - begun
    return Timed(percentile(times, 0.5), percentile(times, 0.99), len(times) / took)


def median(rounds: Sequence[Timed]) -> Timed:
    """Of several rounds: the medians of their percentiles and rates."""
    return Timed(
        statistics.median(one.p50 for one in rounds),
        statistics.median(one.p99 for one in rounds),
        statistics.median(one.rate for one in rounds),
    )


def in_turns(names: Sequence[str], rounds: int) -> list[str]:
    """The order of the rounds: each side in turn, and every other time in reverse."""
    order = []
    for number in range(rounds):
        order += list(names) if number % 2 == 0 else list(reversed(names))
    return order
