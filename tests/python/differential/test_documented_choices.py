"""Where the reference savers disagree or are silent, threadkeep chose; each choice is one test."""

from typing import Any

import pytest

from equivalence.raw import checkpoint, config, metadata


def put(
    saver: Any, checkpoint_id: str, parent: str | None = None, thread: str = "t", **meta: Any
) -> Any:
    made = checkpoint(checkpoint_id, {}, {})
    return saver.put(config(thread, parent), made, metadata(0, **meta), {})


def ids(found: Any) -> list[str]:
    return [one.config["configurable"]["checkpoint_id"] for one in found]


def test_putting_an_id_again_replaces_skeleton_metadata_values_and_parent(saver: Any) -> None:
    for parent, value in ((None, "old"), ("other", "new")):
        made = {**checkpoint("c", {"log": 1}, {"log": value}), value: True}
        saver.put(config("t", parent), made, metadata(0, which=value), {"log": 1})
    found = saver.get_tuple(config("t", "c"))
    assert found.checkpoint["channel_values"] == {"log": "new"}
    assert "new" in found.checkpoint and "old" not in found.checkpoint
    assert found.metadata["which"] == "new"
    assert found.parent_config == config("t", "other")


def test_a_checkpoint_that_names_itself_as_parent_keeps_its_parent(saver: Any) -> None:
    put(saver, "a")
    put(saver, "b", "a")
    put(saver, "b", "b")
    assert saver.get_tuple(config("t", "b")).parent_config == config("t", "a")
    put(saver, "alone", "alone")
    assert saver.get_tuple(config("t", "alone")).parent_config is None


def test_first_write_or_last_write_wins_by_channel_even_in_one_call(saver: Any) -> None:
    where = put(saver, "c")
    saver.put_writes(where, [("log", 1), ("__error__", "first")], "task")
    saver.put_writes(where, [("log", 2), ("__error__", "second")], "task")
    writes = saver.get_tuple(where).pending_writes
    assert writes == [("task", "__error__", "second"), ("task", "log", 1)]


def test_a_filter_matches_objects_and_lists_that_contain_it(saver: Any) -> None:
    put(saver, "a", deep={"x": 1, "y": {"z": 2}}, tags=["p", "q"])
    for match in (
        {"deep": {}},
        {"deep": {"x": 1}},
        {"deep": {"y": {"z": 2}}},
        {"tags": ["q"]},
        {"tags": []},
    ):
        assert ids(saver.list(config("t"), filter=match)) == ["a"], match
    for miss in (
        {"deep": {"x": 2}},
        {"deep": []},
        {"tags": ["r"]},
        {"tags": "p"},
        {"absent": None},
    ):
        assert ids(saver.list(config("t"), filter=miss)) == [], miss


def test_a_filter_compares_numbers_by_value_and_not_with_truth_or_text(saver: Any) -> None:
    put(saver, "a", number=1, big=2**70, truth=True, none=None)
    for match in ({"number": 1.0}, {"big": 2**70}, {"truth": True}, {"none": None}):
        assert ids(saver.list(config("t"), filter=match)) == ["a"], match
    for miss in (
        {"number": True},
        {"number": "1"},
        {"big": 2**70 + 1},
        {"big": 2.0**70 * 2},
        {"truth": 1},
    ):
        assert ids(saver.list(config("t"), filter=miss)) == [], miss


def test_before_without_an_id_is_no_bound(saver: Any) -> None:
    put(saver, "a")
    put(saver, "b")
    assert ids(saver.list(config("t"), before={"configurable": {"thread_id": "t"}})) == ["b", "a"]


def test_a_limit_of_zero_gives_nothing_and_a_negative_one_is_refused(saver: Any) -> None:
    put(saver, "a")
    assert list(saver.list(config("t"), limit=0)) == []
    with pytest.raises(ValueError, match="limit"):
        list(saver.list(config("t"), limit=-1))


def test_a_put_without_a_namespace_is_of_the_root_graph(saver: Any) -> None:
    where = {"configurable": {"thread_id": "t"}}
    assert saver.put(where, checkpoint("a", {}, {}), metadata(0), {}) == config("t", "a")


def test_configs_come_back_with_three_keys_whatever_came_in(saver: Any) -> None:
    put(saver, "a")
    asked = config("t", "a")
    asked["configurable"]["canary"] = asked["tags"] = ["x"]
    assert saver.get_tuple(asked).config == config("t", "a")


def test_the_writes_key_of_metadata_is_dropped(saver: Any) -> None:
    put(saver, "a", writes={"big": "history"}, kept=1)
    assert "writes" not in saver.get_tuple(config("t")).metadata


def test_latest_is_the_greatest_id_by_bytes_and_not_the_newest_put(saver: Any) -> None:
    for checkpoint_id in ("b", "é", "Z", "10", "9"):
        put(saver, checkpoint_id)
    assert saver.get_tuple(config("t")).checkpoint["id"] == "é"
    assert ids(saver.list(config("t"))) == ["é", "b", "Z", "9", "10"]


def test_an_old_checkpoint_finds_its_pending_sends_on_its_parent(saver: Any) -> None:
    where = put(saver, "a")
    saver.put_writes(
        where, [("__pregel_tasks", "send 1"), ("log", 0), ("__pregel_tasks", "send 2")], "1"
    )
    saver.put_writes(where, [("__pregel_tasks", "send 3")], "2")
    old = checkpoint("b", {"log": 3, "note": 7}, {"log": "x"}, v=3)
    saver.put(config("t", "a"), old, metadata(1), {"log": 3})
    for found in (saver.get_tuple(config("t")), next(iter(saver.list(config("t"))))):
        assert found.checkpoint["channel_values"]["__pregel_tasks"] == [
            "send 1",
            "send 2",
            "send 3",
        ]
        assert found.checkpoint["channel_versions"] == {"log": 3, "note": 7, "__pregel_tasks": 7}
    assert "__pregel_tasks" not in saver.get_tuple(where).checkpoint["channel_values"]


def test_a_pruned_old_checkpoint_keeps_its_pending_sends(saver: Any) -> None:
    where = put(saver, "a")
    saver.put_writes(where, [("__pregel_tasks", "send")], "1")
    saver.put(config("t", "a"), checkpoint("b", {"log": 1}, {}, v=3), metadata(1), {})
    saver.prune(["t"])
    found = saver.get_tuple(config("t"))
    assert found.checkpoint["channel_values"]["__pregel_tasks"] == ["send"]
    # The sends may be kept by keeping their checkpoint, as the reference does, or in another way.
    assert len(ids(saver.list(config("t")))) <= 2


def test_a_pruned_subgraph_call_goes_with_its_root_and_a_remembering_subgraph_stays(
    saver: Any,
) -> None:
    for root in ("r1", "r2"):
        put(saver, root)
        for ns, made_id in ((f"node:{root}", f"s{root}"), ("memory", f"m{root}")):
            meta = {**metadata(0), "parents": {"": root}}
            saver.put(config("t", None, ns), checkpoint(made_id, {}, {}), meta, {})
    early = {**metadata(0), "parents": {"": "r3"}}
    saver.put(config("t", None, "node:r3"), checkpoint("early", {}, {}), early, {})
    saver.put_writes(config("t", "z future"), [("log", "early write")], "task")
    saver.prune(["t"], strategy="keep_latest")
    left = {
        (one.config["configurable"]["checkpoint_ns"], one.checkpoint["id"])
        for one in saver.list({"configurable": {"thread_id": "t"}})
    }
    assert left == {("", "r2"), ("node:r2", "sr2"), ("memory", "mr2"), ("node:r3", "early")}
    put(saver, "z future", "r2")
    assert saver.get_tuple(config("t")).pending_writes == [("task", "log", "early write")]


def test_prune_refuses_one_text_and_unknown_strategies(saver: Any) -> None:
    with pytest.raises(TypeError):
        saver.prune("t")
    with pytest.raises(ValueError, match="Unknown prune strategy: 'some'"):
        saver.prune(["t"], strategy="some")


def test_the_same_put_and_writes_again_change_nothing(saver: Any) -> None:
    made = checkpoint("b", {"log": 1}, {"log": ["x"]})
    put(saver, "a")
    first = None
    for _ in range(3):
        saver.put(config("t", "a"), made, metadata(1), {"log": 1})
        saver.put_writes(config("t", "b"), [("log", ["y"]), ("__interrupt__", "?")], "task", "~1")
        found = [one._asdict() for one in saver.list(config("t"))]
        first = first or found
        assert found == first


def test_copying_a_thread_that_does_not_exist_makes_none(saver: Any) -> None:
    saver.copy_thread("nowhere", "target")
    assert list(saver.list(None)) == []
