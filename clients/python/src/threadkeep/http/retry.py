"""When a request is sent again, and after how long. Decides only; waiting is the caller's part.

Every request of this package is repeatable, but none is repeated while an earlier attempt may
still run: a late duplicate of a write must not bring back what was deleted in between.
"""

from __future__ import annotations

import email.utils
import json
import random
import time

from threadkeep.errors import (
    ProtocolError,
    ThreadkeepError,
    TransportError,
    error_of_problem,
    error_of_status,
)
from threadkeep.http.settings import WRITE_SECONDS_MAX, Settings
from threadkeep.http.transport import Answer, SendFailedError

WAIT_SECONDS_FIRST = 0.1
WAIT_SECONDS_MAX = 5.0
RETRY_AFTER_SECONDS_MAX = 30.0
RETRIED = frozenset({429, 502, 503, 504})


class Attempts:
    """The attempts of one call."""

    def __init__(self, settings: Settings, *, is_write: bool) -> None:
        self._settings = settings
        self._is_write = is_write
        self._made = 0

    def seconds_until_next(self, outcome: Answer | SendFailedError, elapsed: float) -> float:
        """How long to wait before the next attempt; raises the typed error if there is none.

        `elapsed` is the time in seconds since the attempt that came out so was begun.
        """
        self._made += 1
        if self._made >= self._settings.attempts or not _may_repeat(outcome):
            raise error_of(outcome) from (outcome if isinstance(outcome, SendFailedError) else None)
        wait: float = min(WAIT_SECONDS_MAX, WAIT_SECONDS_FIRST * 2 ** (self._made - 1))
        wait *= random.uniform(0.5, 1.0)
        if isinstance(outcome, Answer):
            wait = max(wait, _retry_after_seconds(outcome.retry_after))
        if self._is_write and _may_still_run(outcome):
            wait = max(wait, self._settings.budget_seconds + WRITE_SECONDS_MAX - elapsed)
        return wait


def error_of(outcome: Answer | SendFailedError) -> ThreadkeepError:
    """The typed error of an outcome that is not a success."""
    if isinstance(outcome, SendFailedError):
        return TransportError(str(outcome))
    if outcome.content_type.split(";")[0].strip().lower() == "application/problem+json":
        try:
            problem = json.loads(bytes(outcome.body))
        except ValueError:
            problem = None
        if isinstance(problem, dict):
            return error_of_problem(outcome.status, problem)
    if outcome.status < 400:
        return ProtocolError("a redirect or empty answer was not expected", status=outcome.status)
    return error_of_status(
        outcome.status, f"HTTP {outcome.status} with no problem document ({outcome.content_type})"
    )


def _may_repeat(outcome: Answer | SendFailedError) -> bool:
    return isinstance(outcome, SendFailedError) or outcome.status in RETRIED


def _may_still_run(outcome: Answer | SendFailedError) -> bool:
    """A wait of ours, or of a proxy, ended: the server may not know and still be at it."""
    if isinstance(outcome, SendFailedError):
        return outcome.timed_out
    return outcome.status == 504


def _retry_after_seconds(header: str | None) -> float:
    if not header:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return 0.0
    # A NaN compares false and falls to the first argument.
    return min(max(0.0, seconds), RETRY_AFTER_SECONDS_MAX)
