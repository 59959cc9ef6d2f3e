"""Prune with rank and age: what is sent, what the report becomes, and the contract's own call."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from fake_server import FakeServer
from support import checkpoint, config, metadata
from threadkeep.errors import InvalidError, ProtocolError
from threadkeep.langgraph import ThreadkeepSaver
from threadkeep.retention import Removed, prune_report, report_page, wire_age

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
NOTHING = {"checkpoints": 0, "writes": 0, "values": 0, "size_bytes": 0, "stored_bytes": 0}


@pytest.mark.parametrize(
    ("age", "sent"),
    [
        (60, 60),
        (timedelta(minutes=1), 60),
        (timedelta(milliseconds=1), 1),
        (NOON, "2026-01-31T12:00:00+00:00"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
    ],
)
def test_an_age_travels_as_seconds_or_as_a_time(age: Any, sent: Any) -> None:
    assert wire_age(age) == sent


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        wire_age(NOON.replace(tzinfo=None))
    assert caught.value.field == "older_than"


async def test_what_a_prune_sends_and_answers(saver: ThreadkeepSaver, server: FakeServer) -> None:
    saver.put(config("t"), checkpoint("c1"), metadata(), {})
    report = saver.prune(["t"], keep_last=3, older_than=NOON, dry_run=True)
    assert (report.dry_run, [it.thread_id for it in report.threads]) == (True, ["t"])
    assert report.total == Removed(0, 0, 0, 0, 0)
    await saver.aprune(["t"], keep_last=1, keep_interrupted=True)
    assert (await saver.aprune(["t"])).dry_run is False
    assert [seen.body for seen in server.requests("/prune")] == [
        {
            "thread_ids": ["t"],
            "strategy": "keep_latest",
            "keep_last": 3,
            "older_than": "2026-01-31T12:00:00+00:00",
            "dry_run": True,
        },
        {
            "thread_ids": ["t"],
            "strategy": "keep_latest",
            "keep_last": 1,
            "keep_interrupted": True,
        },
        {"thread_ids": ["t"], "strategy": "keep_latest"},
    ]


def test_no_threads_ask_nobody(saver: ThreadkeepSaver, server: FakeServer) -> None:
    report = saver.prune([], keep_last=2, dry_run=True)
    assert (report.dry_run, report.threads, server.seen) == (True, [], [])


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"threads": [], "total": {"checkpoints": 1}},
        {"threads": [{"thread_id": "t"}], "total": NOTHING},
        {"threads": [], "total": None},
        [],
    ],
)
def test_half_a_report_is_an_error(answer: Any) -> None:
    with pytest.raises(ProtocolError):
        prune_report(answer)


def test_a_report_page_keeps_what_it_knows() -> None:
    counts = ("examined", "expired", "pruned", "skipped")
    report = {
        "report_id": "r",
        "started_at": "a",
        "finished_at": "b",
        "dry_run": False,
        "errors": 0,
        "removed": {**NOTHING, "checkpoints": 4, "of later servers": 1},
        "of later servers": 1,
        **{f"threads_{name}": 1 for name in counts},
    }
    page = report_page({"reports": [report], "next_cursor": "c"})
    assert (page.reports[0].removed.checkpoints, page.next_cursor) == (4, "c")
    assert page.reports[0].thread_id is None
    with pytest.raises(ProtocolError):
        report_page({"reports": [{**report, "removed": {}}]})
