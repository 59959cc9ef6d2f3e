"""When a request is sent again, and after how long. Decides only; waiting is the caller's part.

A call has one deadline for all its attempts. Every request of this package is repeatable, but a
write is not repeated while an earlier attempt may still run: a late duplicate must not bring back
what was deleted in between.
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
from threadkeep.http.settings import (
    BYTES_PER_SECOND_MIN,
    WRITE_SECONDS_MAX,
    Settings,
    budget_of,
)
from threadkeep.http.transport import Answer, Limits, SendFailedError

WAIT_SECONDS_FIRST = 0.1
WAIT_SECONDS_MAX = 5.0
UNREACHED_WAIT_SECONDS_MAX = 0.5
"""Nobody is troubled by an attempt to connect, and a server that comes back is found soon."""
RETRY_AFTER_SECONDS_MAX = 30.0
RETRIED = frozenset({429, 502, 503, 504})
FIRST_READ_SHARE = 2 / 3
"""Of its time, what a read waits on one connection; the rest is for a fresh one."""


NEGLIGIBLE_SECONDS = 0.05
"""Deadlines that lie so close together are one."""


class Attempts:
    """The attempts of one call, which share its deadline."""

    def __init__(
        self,
        settings: Settings,
        *,
        is_write: bool,
        ends: float | None = None,
        body_bytes: int = 0,
        breaks_max: int | None = None,
    ) -> None:
        """`ends` is the time.monotonic() of the deadline; None: the settings' time from now on.

        `breaks_max` is how often the connection may be lost, for what is too large to be sent again
        and again; None: as often as it is.
        """
        self._settings = settings
        self._is_write = is_write
        self._begun = time.monotonic()
        self._ends = self._begun + settings.seconds if ends is None else ends
        self._ends += body_bytes / BYTES_PER_SECOND_MIN
        self._made = 0
        self._breaks_left = breaks_max
        self._was_silent = False
        self._attempt_begun = self._begun

    @property
    def has_all_its_time(self) -> bool:
        """Whether the settings' limits hold for the first attempt."""
        whole = self._settings.seconds - NEGLIGIBLE_SECONDS
        return whole <= self._ends - self._begun <= whole + 2 * NEGLIGIBLE_SECONDS

    @property
    def seconds_passed(self) -> float:
        """Since the call began."""
        return time.monotonic() - self._begun

    def limits(self) -> Limits:
        """Of the attempt that is about to be made."""
        now = self._attempt_begun = time.monotonic()
        left = max(self._ends - now, 0.001)
        if self._is_write:
            return Limits(left, budget_of(left))
        return Limits(left if self._was_silent else left * FIRST_READ_SHARE)

    def extend(self) -> None:
        """Something has moved forward: the whole time again."""
        self._begun = time.monotonic()
        self._ends = max(self._ends, self._begun + self._settings.seconds)
        self._made, self._was_silent = 0, False

    def seconds_until_next(self, outcome: Answer | SendFailedError) -> float:
        """How long to wait before the next attempt; raises the typed error if there is none."""
        now = time.monotonic()
        longest = WAIT_SECONDS_MAX if isinstance(outcome, Answer) else UNREACHED_WAIT_SECONDS_MAX
        wait: float = min(longest, WAIT_SECONDS_FIRST * 2 ** min(self._made, 16))
        wait *= random.uniform(0.5, 1.0)
        self._made += 1
        if isinstance(outcome, Answer):
            wait = max(wait, _retry_after_seconds(outcome.retry_after))
        elif outcome.kind == "silent":
            self._was_silent = True
        elif outcome.kind == "lost" and self._breaks_left is not None:
            self._breaks_left -= 1
        if self._is_write and _may_still_run(outcome):
            budget = budget_of(self._settings.seconds)
            wait = max(wait, self._attempt_begun + budget + WRITE_SECONDS_MAX - now)
        if not _may_repeat(outcome) or now + wait >= self._ends or self._breaks_left == 0:
            error = error_of(outcome, self._settings.url, now - self._begun)
            raise error from (outcome if isinstance(outcome, SendFailedError) else None)
        return wait


def error_of(outcome: Answer | SendFailedError, url: str, seconds: float) -> ThreadkeepError:
    """The typed error of an outcome that is not a success, after so many seconds."""
    if isinstance(outcome, SendFailedError):
        return TransportError(_failure_text(outcome, url, seconds))
    if outcome.content_type.split(";")[0].strip().lower() == "application/problem+json":
        try:
            problem = json.loads(bytes(outcome.body))
        except ValueError:
            problem = None
        if isinstance(problem, dict):
            return error_of_problem(outcome.status, problem)
    if outcome.status < 400:
        return ProtocolError(
            f"{url} answers HTTP {outcome.status}: a redirect or empty answer was not expected",
            status=outcome.status,
        )
    return error_of_status(
        outcome.status,
        f"{url} answers HTTP {outcome.status} with no problem document ({outcome.content_type})",
    )


def _failure_text(failure: SendFailedError, url: str, seconds: float) -> str:
    """What is wrong at this address, and what to do about it."""
    lasted = f"tried for {seconds:.1f} s"
    if failure.kind == "unreached":
        return (
            f"no server can be reached at {url} ({failure}), {lasted}: start one with "
            "`threadkeep serve`, or say where yours is with url or THREADKEEP_URL"
        )
    if failure.kind == "silent":
        return f"{url} took the request and did not answer within {seconds:.1f} s"
    if failure.kind == "no_tls":
        plain = url.replace("https://", "http://", 1)
        return f"the server at {url} does not speak TLS: try {plain} ({failure})"
    if failure.kind == "untrusted":
        return f"the certificate of {url} is not accepted ({failure})"
    return f"the connection to {url} broke before the answer was there ({failure}), {lasted}"


def _may_repeat(outcome: Answer | SendFailedError) -> bool:
    if isinstance(outcome, SendFailedError):
        return outcome.kind not in ("no_tls", "untrusted")
    return outcome.status in RETRIED


def _may_still_run(outcome: Answer | SendFailedError) -> bool:
    """A wait of ours, or of a proxy, ended: the server may not know and still be at it."""
    if isinstance(outcome, SendFailedError):
        return outcome.kind == "silent"
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
