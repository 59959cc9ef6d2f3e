"""Branches forked from one checkpoint that reuse version numbers: each must show the very values sent with it."""

from collections.abc import Iterator
from typing import Any

import pytest

from equivalence import graphs
from equivalence.driver import MODES, Driver
from equivalence.raw import Chain


@pytest.fixture(params=MODES)
def driver(request: pytest.FixtureRequest, saver: Any) -> Iterator[Driver]:
    driver = Driver(saver, request.param)
    yield driver
    driver.close()


def test_two_branches_that_reuse_a_version_show_their_own_values(driver: Driver) -> None:
    chain = Chain(driver.call, "t")
    root = chain.put(None, {"log": 1, "same": 1}, {"log": ["root"], "same": "s"})
    left = chain.put(root, {"log": 2, "same": 1}, {"log": ["left"], "same": "s"}, new=["log"])
    right = chain.put(root, {"log": 2, "same": 1}, {"log": ["right"], "same": "s"}, new=["log"])
    assert chain.values(left) == {"log": ["left"], "same": "s"}
    assert chain.values(right) == {"log": ["right"], "same": "s"}
    assert chain.values(root) == {"log": ["root"], "same": "s"}


def test_values_carried_along_two_branches_stay_apart(driver: Driver) -> None:
    chain = Chain(driver.call, "t")
    root = chain.put(None, {"log": 1}, {"log": ["root"]})
    tips = {}
    for side in ("left", "right"):
        tip = chain.put(root, {"log": 2}, {"log": [side]})
        for step in range(3):
            versions, values = {"log": 2, "step": step}, {"log": [side], "step": f"{side} {step}"}
            tip = chain.put(tip, versions, values, new=["step"])
        tips[side] = tip
    for side, tip in tips.items():
        assert chain.values(tip) == {"log": [side], "step": f"{side} 2"}
    listed = driver.call("list", chain.config())
    values = [one.checkpoint["channel_values"]["log"][0] for one in listed]
    assert values == ["right"] * 4 + ["left"] * 4 + ["root"]


def test_a_copy_beside_a_checkpoint_carries_that_branch_and_not_the_other(driver: Driver) -> None:
    chain = Chain(driver.call, "t")
    root = chain.put(None, {"log": 1}, {"log": ["root"]})
    left = chain.put(root, {"log": 2, "mark": "l"}, {"log": ["left"], "mark": 1})
    chain.put(root, {"log": 2, "mark": "r"}, {"log": ["right"], "mark": 2})
    copied = chain.put(
        root, {"log": 2, "mark": "l"}, {"log": ["left"], "mark": 1}, new=[], source="fork"
    )
    assert chain.values(copied) == chain.values(left) == {"log": ["left"], "mark": 1}


def test_the_values_held_by_a_fork_decide_between_equal_siblings(driver: Driver) -> None:
    chain = Chain(driver.call, "t")
    root = chain.put(None, {"log": 1}, {"log": ["root"]})
    for side in ("left", "right"):
        chain.put(root, {"log": 2}, {"log": [side]})
    for side in ("left", "right"):
        copied = chain.put(root, {"log": 2}, {"log": [side]}, new=[], source="fork")
        assert chain.values(copied) == {"log": [side]}


@pytest.mark.parametrize("kind", graphs.KINDS)
def test_a_replayed_graph_with_integer_versions_shows_the_new_branch(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(driver.saver, "get_next_version", lambda current, _: (current or 0) + 1)
    config, runs = driver.config(), {}
    graph = graphs.chain(kind, driver.saver, names="abcdef")
    driver.invoke(graph, {"log": ["in"]}, config)
    fork_point = next(one for one in driver.history(graph, config) if one.next == ("c",))
    runs["old"] = driver.state(graph, config)
    for name in ("first", "second"):
        forked = driver.update(graph, fork_point.config, {"log": [name]}, as_node="b")
        driver.invoke(graph, None, forked)
        runs[name] = driver.state(graph, config)
    expected = {
        "old": ["in", "a@1", "b@2", "c@3", "d@4", "e@5", "f@6"],
        "first": ["in", "a@1", "b@2", "first", "c@4", "d@5", "e@6", "f@7"],
        "second": ["in", "a@1", "b@2", "second", "c@4", "d@5", "e@6", "f@7"],
    }
    for name, run in runs.items():
        assert driver.state(graph, run.config).values["log"] == expected[name]
        assert run.values["log"] == expected[name]
