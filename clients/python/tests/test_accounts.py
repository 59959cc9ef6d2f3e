"""Usage and the audit log: what is sent, and what the answers become."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from threadkeep.accounts import AuditEvent, Quota, Usage, audit_page, audit_request, usage
from threadkeep.errors import InvalidError, ProtocolError, QuotaExceededError, error_of_problem

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
USAGE = {"bytes": 5, "threads": 2, "items": 0, "measured_at": "a", "quota": {"threads_max": 9}}
EVENT = {"event_id": "e", "at": "a", "act": "refused", "count": 7, "details": b'{"code": "x"}'}


def test_usage_has_its_quota_and_what_is_absent_is_unlimited() -> None:
    told = usage({**USAGE, "of later servers": 1})
    assert told == Usage(5, 2, 0, "a", Quota(threads_max=9))
    assert told.quota.bytes_max is None


@pytest.mark.parametrize("answer", [{}, {**USAGE, "quota": None}, {"quota": {}}])
def test_half_an_answer_is_an_error(answer: Any) -> None:
    with pytest.raises(ProtocolError):
        usage(answer)


def test_an_event_has_its_details_as_a_record() -> None:
    page = audit_page({"events": [EVENT, {**EVENT, "actor": "key_1", "later": 1}]})
    assert page.events[0] == AuditEvent("e", "a", "refused", 7, {"code": "x"})
    assert (page.events[1].actor, page.events[1].object, page.next_cursor) == ("key_1", None, None)


@pytest.mark.parametrize(
    "event", [None, {}, {**EVENT, "details": b"{"}, {**EVENT, "details": {}}, {"details": b"{}"}]
)
def test_half_an_event_is_an_error(event: Any) -> None:
    with pytest.raises(ProtocolError):
        audit_page({"events": [event]})


def test_a_page_without_events_is_an_error() -> None:
    with pytest.raises(ProtocolError):
        audit_page({})


def test_times_travel_with_their_zone() -> None:
    request = audit_request(NOON, "2026-02-01T00:00:00Z", "refused", 5, "c")
    sent = parse_qs(urlsplit(request.path).query)
    assert sent == {
        "since": ["2026-01-31T12:00:00+00:00"],
        "until": ["2026-02-01T00:00:00Z"],
        "act": ["refused"],
        "limit": ["5"],
        "cursor": ["c"],
    }
    with pytest.raises(InvalidError) as caught:
        audit_request(None, NOON.replace(tzinfo=None), None, None, None)
    assert caught.value.field == "until"


def test_a_used_up_quota_is_an_error_of_its_own() -> None:
    problem = {"code": "quota_exceeded", "field": "threads", "limit": 9, "detail": "9 of 9"}
    error = error_of_problem(413, problem)
    assert isinstance(error, QuotaExceededError)
    assert (error.field, error.limit) == ("threads", 9)
