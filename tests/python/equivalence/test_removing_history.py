"""Runs deleted, threads pruned and copied: what stays must show the same state and go on as if nothing had happened."""

from collections.abc import Iterator
from typing import Any

import pytest

from equivalence import graphs
from equivalence.agents import talk, talker
from equivalence.driver import MODES, Driver
from support.native import Native

TURNS = 40


@pytest.fixture(params=MODES)
def driver(request: pytest.FixtureRequest, saver: Any) -> Iterator[Driver]:
    driver = Driver(saver, request.param)
    yield driver
    driver.close()


def run_config(run: str, thread: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}, "metadata": {"run_id": run}}


def shown(driver: Driver, graph: Any, thread: str = "t") -> dict[str, Any]:
    """The state of a thread's head, without the parent that may be gone."""
    driver.state(graph, driver.config(thread))
    state = dict(driver.transcript[-1][1])
    del state["parent"]
    return state


def told(driver: Driver, graph: Any, thread: str) -> list[dict[str, Any]]:
    """The whole history of a thread."""
    driver.history(graph, driver.config(thread))
    return driver.transcript[-1][1]


@pytest.mark.parametrize("kind", graphs.KINDS)
def test_deleting_the_middle_run_of_three_leaves_the_head_as_it_was(
    driver: Driver, reader: Any, kind: str
) -> None:
    graph = graphs.chain(kind, driver.saver)
    for run in ("one", "two", "three"):
        driver.invoke(graph, {"log": [run]}, run_config(run))
    before = shown(driver, graph)
    assert len(before["values"]["log"]) == 12
    driver.call("delete_for_runs", ["two"])
    left = driver.raw()
    assert [one.metadata["run_id"] for one in left] == ["three"] * 5 + ["one"] * 5
    assert left[4].parent_config is None
    for saver in (driver.saver, reader):
        assert shown(driver, graphs.chain(kind, saver)) == before
    driver.invoke(graphs.chain(kind, reader), {"log": ["four"]}, run_config("four"))
    after = shown(driver, graph)["values"]["log"]
    assert after == [*before["values"]["log"], "four", "a@13", "b@14", "c@15"]


def test_deleting_the_middle_run_of_an_agent_leaves_its_messages(
    driver: Driver, reader: Any
) -> None:
    graph = talker(driver.saver, range(4), tools=2)
    for turn in range(3):
        talk(driver, graph, range(turn, turn + 1), run_config(f"run {turn}"))
    before = shown(driver, graph)
    driver.call("delete_for_runs", ["run 1"])
    assert shown(driver, talker(reader, range(0), tools=0)) == before
    talk(driver, graph, range(3, 4), run_config("run 3"))
    after = shown(driver, graph)["values"]["messages"]
    assert after[: len(before["values"]["messages"])] == before["values"]["messages"]
    seen = len(before["values"]["messages"]) + 7
    assert f"saw {seen} messages" in after[-1][1]["content"]


def test_a_pruned_agent_thread_keeps_its_state_and_goes_on(
    driver: Driver, reader: Any, native: Native
) -> None:
    graph = talker(driver.saver, range(TURNS + 1), tools=3)
    talk(driver, graph, range(TURNS), driver.config())
    talk(driver, talker(driver.saver, range(1), tools=1), range(1), driver.config("other"))
    before, full = shown(driver, graph), native.thread("t")
    others = native.thread("other")
    assert len(before["values"]["messages"]) > TURNS * 8
    assert full is not None and full["checkpoint_count"] == len(driver.raw())

    driver.call("prune", ["t"], strategy="keep_latest")

    assert len(driver.raw()) == 1
    pruned = native.thread("t")
    assert pruned is not None and pruned["checkpoint_count"] == 1
    assert pruned["size_bytes"] < full["size_bytes"] / 2
    assert native.thread("other") == others
    cold = talker(reader, range(0), tools=0)
    assert shown(driver, graph) == before
    assert shown(driver, cold) == before
    assert driver.state(cold, driver.config()).parent_config is None
    talk(driver, graph, range(TURNS, TURNS + 1), driver.config())
    after = shown(driver, cold)["values"]
    kept = len(before["values"]["messages"])
    assert after["messages"][:kept] == before["values"]["messages"]
    assert f"saw {kept + 1 + 6} messages" in after["messages"][-1][1]["content"]
    assert before["values"]["files"].items() <= after["files"].items()


@pytest.mark.parametrize("kind", graphs.KINDS)
def test_a_thread_pruned_after_every_turn_never_notices(driver: Driver, kind: str) -> None:
    graph = graphs.chain(kind, driver.saver)
    for turn in range(5):
        for thread in ("pruned", "whole"):
            driver.invoke(graph, {"log": [f"turn {turn}"]}, driver.config(thread))
        driver.call("prune", ["pruned"], strategy="keep_latest")
        assert len(driver.raw("pruned")) == 1
        kept = [shown(driver, graph, thread)["values"] for thread in ("pruned", "whole")]
        assert kept[0] == kept[1]


@pytest.mark.parametrize("kind", graphs.KINDS)
def test_a_copied_thread_and_its_source_go_on_apart(driver: Driver, reader: Any, kind: str) -> None:
    graph = graphs.nested(kind, driver.saver, own_memory=True)
    for turn in range(3):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, driver.config("source"))
    driver.call("copy_thread", "source", "copy")
    one, other = (shown(driver, graph, thread) for thread in ("source", "copy"))
    assert one["values"] == other["values"]
    for thread in ("source", "copy"):
        driver.invoke(graph, {"log": [f"only in {thread}"]}, driver.config(thread))
    cold = graphs.nested(kind, reader, own_memory=True)
    logs = {thread: shown(driver, cold, thread)["values"]["log"] for thread in ("source", "copy")}
    kept = len(one["values"]["log"])
    for thread, log in logs.items():
        assert log[:kept] == one["values"]["log"]
        assert log[kept] == f"only in {thread}"
    assert len(driver.raw("source")) == len(driver.raw("copy"))
    # The subgraph's own memory was copied too: its fourth call adds three entries to nine.
    assert shown(driver, cold, "copy")["values"]["note"] == 12


def test_a_copied_agent_thread_outlives_its_source(driver: Driver, reader: Any) -> None:
    graph = talker(driver.saver, range(7), tools=3)
    talk(driver, graph, range(6), driver.config("source"))
    before = shown(driver, graph, "source")["values"]
    driver.call("copy_thread", "source", "copy")
    driver.call("delete_thread", "source")
    assert driver.call("get_tuple", driver.config("source")) is None
    assert shown(driver, talker(reader, range(0), tools=0), "copy")["values"] == before
    talk(driver, graph, range(6, 7), driver.config("copy"))
    after = shown(driver, graph, "copy")["values"]["messages"]
    assert after[: len(before["messages"])] == before["messages"]


def test_a_copied_thread_can_be_pruned_without_touching_its_source(
    driver: Driver, reader: Any
) -> None:
    graph = graphs.chain("delta", driver.saver)
    for turn in range(4):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, driver.config("source"))
    driver.call("copy_thread", "source", "copy")
    whole = told(driver, graph, "source")
    driver.call("prune", ["copy"], strategy="keep_latest")
    cold = graphs.chain("delta", reader)
    assert told(driver, cold, "source") == whole
    assert shown(driver, cold, "copy")["values"] == whole[0]["values"]
