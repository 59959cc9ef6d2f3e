"""What a tenant has, may have and has done: usage, quota and the audit log.

The records and requests; the calls themselves are the clients'.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from threadkeep import calls
from threadkeep.errors import InvalidError, ProtocolError
from threadkeep.http.transport import Request
from threadkeep.records import record

Time = datetime | str
"""A time with its time zone, or such a time as RFC 3339 text."""


@dataclass(frozen=True)
class Quota:
    """What a tenant may have; None is unlimited. Rates hold on each server."""

    bytes_max: int | None = None
    threads_max: int | None = None
    items_max: int | None = None
    requests_per_second: int | None = None
    requests_per_second_per_token: int | None = None


@dataclass(frozen=True)
class Usage:
    """What a tenant has, as of `measured_at`. Bytes count as threads do."""

    bytes: int
    threads: int
    items: int
    measured_at: str
    quota: Quota


@dataclass(frozen=True)
class AuditEvent:
    """An administrative act, or `act == "refused"`: `count` requests of a minute turned away.

    `actor` is the id of a key or token, `cli` for the command line, None where it is not known.
    """

    event_id: str
    at: str
    act: str
    count: int
    details: Mapping[str, Any]
    actor: str | None = None
    object: str | None = None


@dataclass(frozen=True)
class AuditPage:
    """A page of the log, newest first. `next_cursor` is None on the last one."""

    events: list[AuditEvent]
    next_cursor: str | None


def usage(answer: Mapping[str, Any]) -> Usage:
    """The answer of `GET /v1/usage`."""
    return record(Usage, {**answer, "quota": record(Quota, answer.get("quota"))})


def audit_request(
    since: Time | None,
    until: Time | None,
    act: str | None,
    limit: int | None,
    cursor: str | None,
) -> Request:
    """One page of the log."""
    query = {
        "since": _wire_time("since", since),
        "until": _wire_time("until", until),
        "act": act,
        "limit": limit,
        "cursor": cursor,
    }
    return calls.get("/v1/audit", query)


def audit_page(answer: Mapping[str, Any]) -> AuditPage:
    """A page of `GET /v1/audit`."""
    events = answer.get("events")
    if not isinstance(events, list):
        raise ProtocolError("the answer holds no events")
    return AuditPage([_event(event) for event in events], answer.get("next_cursor"))


def _event(event: object) -> AuditEvent:
    details = event.get("details") if isinstance(event, dict) else None
    if not isinstance(event, dict) or not isinstance(details, bytes):
        raise ProtocolError("the answer holds half an event")
    try:
        # JSON text, as every document in a MessagePack body.
        return record(AuditEvent, {**event, "details": json.loads(details)})
    except ValueError as error:
        raise ProtocolError(f"details of an event are not JSON: {error}") from error


def _wire_time(field: str, time: Time | None) -> str | None:
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise InvalidError(f"{field} is a time without a time zone", field=field)
        return time.isoformat()
    return time
