"""Waiting for a condition instead of sleeping for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

from support import settings

T = TypeVar("T")


class GaveUp(AssertionError):
    """The condition did not come true while patience lasted."""


def wait_until(
    condition: Callable[[], T], what: str, seconds: float = settings.PATIENCE_SECONDS
) -> T:
    """Ask again and again until the answer is truthy, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise GaveUp(f"waited {seconds} s in vain for: {what}")
        time.sleep(0.01)
