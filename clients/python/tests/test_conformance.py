"""The published conformance suite of LangGraph, against the fake server."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.report import ProgressCallbacks

from fake_server import FakeServer
from threadkeep.langgraph import ThreadkeepSaver


async def test_all_capabilities_of_the_published_suite_pass(
    transport: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @checkpointer_test(name="threadkeep")
    async def fresh():  # type: ignore[no-untyped-def]
        fake = FakeServer().start()
        yield ThreadkeepSaver(fake.url, transport=transport)  # type: ignore[arg-type]
        fake.stop()

    report = await validate(fresh, progress=ProgressCallbacks.verbose())
    assert report.passed_all(), capsys.readouterr().out
    passed = sum(result.tests_passed for result in report.results.values())
    assert passed == 81
