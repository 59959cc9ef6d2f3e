"""Retention: what prune, policies and their reports say, and the requests for them.

Used by the clients and by the saver; the calls themselves are theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from threadkeep import calls
from threadkeep.errors import InvalidError, ProtocolError
from threadkeep.http.transport import Request
from threadkeep.records import listed, record

PRUNE = "/v1/checkpoints/prune"
Strategy = Literal["keep_latest", "delete"]
Age = int | timedelta | datetime | str
"""Seconds, a duration, a time with its time zone, or such a time as RFC 3339 text."""


@dataclass(frozen=True)
class Removed:
    """What went, or in a dry run would go. `values` are those that nothing names any more.

    `size_bytes` counts as a thread does, before compression and sharing; `stored_bytes` is content
    as it is stored. Below zero where more was written, for the delta channels of what stays.
    """

    checkpoints: int
    writes: int
    values: int
    size_bytes: int
    stored_bytes: int


@dataclass(frozen=True)
class PrunedThread(Removed):
    """What went of one thread. `deleted`: all of it."""

    thread_id: str
    deleted: bool


@dataclass(frozen=True)
class PruneReport:
    """What a prune did, or with `dry_run` would do."""

    dry_run: bool
    threads: list[PrunedThread]
    total: Removed


@dataclass(frozen=True)
class RetentionPolicy:
    """What goes by itself. Without `thread_id`: of all threads that have no policy of their own."""

    keep_interrupted: bool
    dry_run: bool
    created_at: str
    updated_at: str
    due_at: str
    thread_id: str | None = None
    expire_after_seconds: int | None = None
    keep_last: int | None = None
    older_than_seconds: int | None = None


@dataclass(frozen=True)
class RetentionPolicyPage:
    """A page of policies, the tenant's own first. `next_cursor` is None on the last one."""

    policies: list[RetentionPolicy]
    next_cursor: str | None


@dataclass(frozen=True)
class RetentionReport:
    """A finished round of a policy. `threads_skipped`: their lease was held."""

    report_id: str
    started_at: str
    finished_at: str
    dry_run: bool
    threads_examined: int
    threads_expired: int
    threads_pruned: int
    threads_skipped: int
    errors: int
    removed: Removed
    thread_id: str | None = None
    last_error: str | None = None


@dataclass(frozen=True)
class RetentionReportPage:
    """A page of reports, newest first. `next_cursor` is None on the last one."""

    reports: list[RetentionReport]
    next_cursor: str | None


def prune_body(
    thread_ids: Sequence[str],
    *,
    strategy: str | None = None,
    keep_last: int | None = None,
    older_than: Age | None = None,
    keep_interrupted: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """The body of a prune, without what has its default."""
    body = {
        "thread_ids": list(thread_ids),
        "strategy": strategy,
        "keep_last": keep_last,
        "older_than": None if older_than is None else wire_age(older_than),
        "keep_interrupted": keep_interrupted or None,
        "dry_run": dry_run or None,
    }
    return {name: value for name, value in body.items() if value is not None}


def wire_age(age: Age) -> int | str:
    """Whole seconds, or RFC 3339 text."""
    if isinstance(age, datetime):
        if age.tzinfo is None:
            raise InvalidError("older_than is a time without a time zone", field="older_than")
        return age.isoformat()
    if isinstance(age, timedelta):
        # Rounded up: nothing goes that is younger than asked for.
        return -(-age // timedelta(seconds=1))
    return age


def prune_report(answer: object) -> PruneReport:
    """The answer of a prune."""
    if not isinstance(answer, dict) or not isinstance(answer.get("threads"), list):
        raise ProtocolError("the answer holds no report of a prune")
    threads = [record(PrunedThread, thread) for thread in answer["threads"]]
    return PruneReport(answer.get("dry_run") is True, threads, record(Removed, answer.get("total")))


def nothing_pruned(*, dry_run: bool) -> PruneReport:
    """The report of a prune without threads, which asks nobody."""
    return PruneReport(dry_run, [], Removed(0, 0, 0, 0, 0))


def policy_body(
    thread_id: str | None,
    *,
    expire_after_seconds: int | None,
    keep_last: int | None,
    older_than_seconds: int | None,
    keep_interrupted: bool,
    dry_run: bool,
) -> dict[str, Any]:
    """The body that puts a policy."""
    return {
        "thread_id": thread_id,
        "expire_after_seconds": expire_after_seconds,
        "keep_last": keep_last,
        "older_than_seconds": older_than_seconds,
        "keep_interrupted": keep_interrupted,
        "dry_run": dry_run,
    }


def policy_or_none(answer: Mapping[str, Any]) -> RetentionPolicy | None:
    """The policy of an answer; absent only when there is none."""
    found = answer.get("policy")
    return None if found is None else record(RetentionPolicy, found)


def policy(answer: Mapping[str, Any]) -> RetentionPolicy:
    """The policy that was put."""
    return record(RetentionPolicy, answer.get("policy"))


def policy_page(answer: Mapping[str, Any]) -> RetentionPolicyPage:
    """A page of policies."""
    found = listed(RetentionPolicy, answer, "policies")
    return RetentionPolicyPage(found, answer.get("next_cursor"))


def reports_request(thread_id: str | None, limit: int | None, cursor: str | None) -> Request:
    """One page of reports."""
    query = {"thread_id": thread_id, "limit": limit, "cursor": cursor}
    return calls.get("/v1/retention/reports", query)


def report_page(answer: Mapping[str, Any]) -> RetentionReportPage:
    """A page of reports."""
    found = answer.get("reports")
    if not isinstance(found, list):
        raise ProtocolError("the answer holds no reports")
    return RetentionReportPage([_report(report) for report in found], answer.get("next_cursor"))


def due(answer: Mapping[str, Any]) -> int:
    """How many policies are due now."""
    count = answer.get("policies")
    if not isinstance(count, int):
        raise ProtocolError("the answer holds no number of policies")
    return count


def _report(report: object) -> RetentionReport:
    if not isinstance(report, dict):
        raise ProtocolError("the answer holds no RetentionReport")
    removed = record(Removed, report.get("removed"))
    return record(RetentionReport, {**report, "removed": removed})
