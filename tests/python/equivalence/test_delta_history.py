"""The history of delta channels: which writes and which seed a checkpoint's state is rebuilt from."""

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from equivalence.driver import MODES, Driver
from equivalence.raw import Chain


@pytest.fixture(params=MODES)
def chain(request: pytest.FixtureRequest, saver: Any) -> Iterator[Chain]:
    driver = Driver(saver, request.param)
    yield Chain(driver.call, "thread")
    driver.close()


def written(chain: Chain, parent: str | None, value: Any, channel: str = "log") -> str:
    """A checkpoint without values that has one write on the channel; its child's state contains it."""
    made = chain.put(parent)
    chain.write(made, f"task-{made}", "", (channel, value))
    return made


def test_writes_come_oldest_first(chain: Chain) -> None:
    first = written(chain, None, "a")
    second = written(chain, first, "b")
    third = written(chain, second, "c")
    target = chain.put(third)
    assert chain.history(target, "log") == {"log": {"writes": ["a", "b", "c"]}}


def test_the_nearest_snapshot_is_the_seed(chain: Chain) -> None:
    old = chain.put(None, {"log": 1}, {"log": _DeltaSnapshot(["old"])})
    between = written(chain, old, "subsumed")
    near = chain.put(between, {"log": 2}, {"log": _DeltaSnapshot(["near"])})
    target = chain.put(written(chain, near, "after"))
    found = chain.history(target, "log")["log"]
    assert found["writes"] == ["after"]
    assert found["seed"] == _DeltaSnapshot(["near"])


def test_the_writes_of_the_target_are_not_in_its_history(chain: Chain) -> None:
    parent = written(chain, None, "before")
    target = written(chain, parent, "of the target")
    assert chain.history(target, "log") == {"log": {"writes": ["before"]}}


def test_each_channel_stops_at_its_own_seed(chain: Chain) -> None:
    far = chain.put(None, {"far": 1}, {"far": _DeltaSnapshot(["F"])})
    chain.write(far, "t1", "", ("far", "f1"), ("near", "too old"))
    near = chain.put(far, {"near": 1}, {"near": _DeltaSnapshot(["N"])})
    chain.write(near, "t2", "", ("far", "f2"), ("near", "n2"))
    target = chain.put(near)
    assert chain.history(target, "far", "near") == {
        "far": {"writes": ["f1", "f2"], "seed": _DeltaSnapshot(["F"])},
        "near": {"writes": ["n2"], "seed": _DeltaSnapshot(["N"])},
    }


def test_no_channels_give_an_empty_answer(chain: Chain) -> None:
    target = chain.put(written(chain, None, "a"))
    assert chain.history(target) == {}


def test_without_any_seed_there_is_no_seed_key(chain: Chain) -> None:
    target = chain.put(written(chain, None, "a"))
    assert "seed" not in chain.history(target, "log")["log"]


def test_a_plain_list_from_before_delta_channels_is_a_seed(chain: Chain) -> None:
    old = chain.put(None, {"log": 1}, {"log": ["plain", "values"]})
    target = chain.put(written(chain, old, "new"))
    assert chain.history(target, "log") == {"log": {"writes": ["new"], "seed": ["plain", "values"]}}


def test_the_writes_of_the_seed_checkpoint_are_included_and_older_ones_are_not(
    chain: Chain,
) -> None:
    older = written(chain, None, "older")
    seeded = chain.put(older, {"log": 1}, {"log": _DeltaSnapshot(["seed"])})
    chain.write(seeded, "t", "", ("log", "on the seed"))
    target = chain.put(seeded)
    found = chain.history(target, "log")["log"]
    assert found == {"writes": ["on the seed"], "seed": _DeltaSnapshot(["seed"])}


def test_a_fork_off_the_path_does_not_contribute(chain: Chain) -> None:
    root = written(chain, None, "root")
    left = written(chain, root, "left")
    right = written(chain, root, "right")
    assert chain.history(chain.put(left), "log")["log"]["writes"] == ["root", "left"]
    assert chain.history(chain.put(right), "log")["log"]["writes"] == ["root", "right"]


def test_writes_of_one_checkpoint_are_ordered_by_path_then_task_then_position(chain: Chain) -> None:
    parent = chain.put(None)
    chain.write(parent, "a", "~2", ("log", "path 2, task a"))
    chain.write(parent, "b", "~1", ("other", 0), ("log", "path 1, task b, second"))
    chain.write(parent, "c", "~10", ("log", "path 10"))
    chain.write(
        parent, "z", "", ("log", "no path, task z, first"), ("log", "no path, task z, second")
    )
    chain.write(parent, "m", "", ("log", "no path, task m"))
    chain.write(parent, "B", "", ("log", "capitals come first"))
    target = chain.put(parent)
    assert chain.history(target, "log")["log"]["writes"] == [
        "capitals come first",
        "no path, task m",
        "no path, task z, first",
        "no path, task z, second",
        "path 1, task b, second",
        "path 10",
        "path 2, task a",
    ]


def test_a_stored_none_is_a_seed_and_an_empty_channel_is_not(chain: Chain) -> None:
    none = chain.put(None, {"log": 1, "gone": 1}, {"log": None, "gone": ["value"]})
    emptied = chain.put(none, {"log": 1, "gone": 2}, {}, new=["gone"])
    target = chain.put(emptied)
    found = chain.history(target, "log", "gone")
    assert found["log"] == {"writes": [], "seed": None}
    assert found["gone"] == {"writes": [], "seed": ["value"]}


def test_a_value_carried_over_unchanged_is_a_seed_where_it_still_resolves(chain: Chain) -> None:
    old = chain.put(None, {"log": 1}, {"log": ["plain"]})
    chain.write(old, "t", "", ("log", "subsumed"))
    near = chain.put(old, {"log": 1}, {"log": ["plain"]}, new=[])
    target = chain.put(near)
    assert chain.history(target, "log") == {"log": {"writes": [], "seed": ["plain"]}}


def test_an_unknown_target_has_an_empty_history_for_every_channel(chain: Chain) -> None:
    written(chain, None, "a")
    empty = {"log": {"writes": []}, "other": {"writes": []}}
    assert chain.history("c9999", "log", "other") == empty


def test_without_an_id_the_target_is_the_newest_checkpoint(chain: Chain) -> None:
    chain.put(written(chain, None, "a"))
    assert chain.history(None, "log") == {"log": {"writes": ["a"]}}


def test_a_parent_that_does_not_exist_ends_the_walk(chain: Chain) -> None:
    child = written(chain, "never put", "a")
    assert chain.history(chain.put(child), "log") == {"log": {"writes": ["a"]}}


def test_writes_that_arrive_after_a_read_are_in_the_next_history(chain: Chain) -> None:
    parent = written(chain, None, "early")
    target = chain.put(parent, {"log": 1}, {}, counters_since_delta_snapshot={"log": [1, 1]})
    assert chain.call("get_tuple", chain.config(target))
    assert chain.history(target, "log")["log"]["writes"] == ["early"]
    chain.write(parent, "zz", "", ("log", "late"))
    assert chain.call("get_tuple", chain.config(target))
    assert chain.history(target, "log")["log"]["writes"] == ["early", "late"]


def test_a_list_does_not_hide_the_history_of_a_channel_without_a_version(chain: Chain) -> None:
    root = chain.put(None, {"log": 1}, {}, counters_since_delta_snapshot={"log": [1, 1]})
    chain.write(root, "t", "", ("log", "l"), ("other", "o"))
    target = chain.put(root, {"log": 2}, {}, counters_since_delta_snapshot={"log": [2, 2]})
    elsewhere = Chain(chain.call, chain.thread, ns="elsewhere")
    elsewhere.put(None, {"other": 1}, {}, counters_since_delta_snapshot={"other": [1, 1]})
    expected = {"log": {"writes": ["l"]}, "other": {"writes": ["o"]}}
    # The first history tells the saver which channels this thread is asked for.
    for _ in range(2):
        assert chain.history(target, "log", "other") == expected
        assert len(chain.call("list", {"configurable": {"thread_id": chain.thread}})) == 3
