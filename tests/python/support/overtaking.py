"""Counts how many requests of one client overtake a request of another: they are sent after it and answered before it.

Only the order counts, not how long it takes. Processes of one machine share the clock.
"""

import time
from bisect import bisect_right
from collections.abc import Iterable

Interval = tuple[float, float]


def now() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Requests(list[Interval]):
    """When each was sent, and when its answer began."""

    def note(self, sent: float) -> None:
        self.append((sent, now()))


def most_overtaken(requests: Iterable[Interval], by: Iterable[Interval]) -> int:
    """By how many of the others that request is overtaken which is overtaken by most."""
    others = sorted(by)
    most = 0
    for sent, answered in requests:
        later = others[bisect_right(others, (sent, float("inf"))) :]
        most = max(most, sum(1 for _, ended in later if ended < answered))
    return most
