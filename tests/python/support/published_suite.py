"""Runs one capability of the published checkpointer suite and says whether all of it passed."""

from collections.abc import AsyncIterator

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.report import ProgressCallbacks
from threadkeep.langgraph import ThreadkeepSaver

from support.server import Server

# How many cases each capability of version 0.0.2 has: fewer would mean that some did not run.
CASES = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}


async def assert_all_cases_pass(server: Server, capability: str) -> None:
    """Every case of the capability ran and passed, with a saver of an unused tenant."""

    @checkpointer_test(name="threadkeep")
    async def saver() -> AsyncIterator[ThreadkeepSaver]:
        yield ThreadkeepSaver(server.url, api_key=server.new_key())

    report = await validate(saver, capabilities={capability}, progress=ProgressCallbacks.verbose())
    result = report.results[capability]
    assert result.failures == []
    assert result.detected, "the saver does not have this capability"
    assert report.passed_all()
    assert result.tests_skipped == 0
    assert result.tests_passed == CASES[capability]
