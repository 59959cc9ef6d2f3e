"""Each scenario on both savers, sync and async: the transcripts must be equal, word for word."""

import functools
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from equivalence.differences import same
from equivalence.driver import MODES, Driver
from equivalence.scenarios import SCENARIOS


def transcript(saver: Any, name: str, mode: str) -> list[tuple[str, Any]]:
    driver = Driver(saver, mode)
    try:
        SCENARIOS[name](driver)
    finally:
        driver.close()
    return driver.transcript


@functools.cache
def expected(name: str, mode: str) -> list[tuple[str, Any]]:
    return transcript(InMemorySaver(), name, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_graph_tells_the_same_story_as_in_memory(saver: Any, name: str, mode: str) -> None:
    found = transcript(saver, name, mode)
    same(expected(name, mode), found)
