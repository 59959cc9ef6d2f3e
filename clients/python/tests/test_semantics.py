"""What is stored and what comes back: configs, exact text, versions, writes, lists, migration."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fake_server import FakeServer
from support import checkpoint, config, delta_thread, metadata, written
from threadkeep.errors import CodecError, InvalidError, ProtocolError, ThreadRestoredError
from threadkeep.langgraph import ThreadkeepSaver

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("absent", [None, "", "missing"])
def test_no_id_means_the_latest(saver: ThreadkeepSaver, absent: Any) -> None:
    for checkpoint_id in ("c1", "c3", "c2"):
        saver.put(config(), checkpoint(checkpoint_id), metadata(), {})
    asked = config() if absent == "missing" else config(checkpoint_id=absent)
    if absent == "":
        asked["configurable"]["checkpoint_id"] = ""
    found = saver.get_tuple(asked)
    assert found is not None
    assert found.config == config(checkpoint_id="c3")


def test_returned_configs_have_exactly_three_keys(saver: ThreadkeepSaver) -> None:
    asked = config(7, checkpoint_ns=None)
    asked["configurable"]["other"] = object()
    asked["callbacks"] = [object()]
    first = saver.put(asked, checkpoint("c1"), metadata(), {})
    assert first == config("7", "c1")
    second = saver.put(first, checkpoint("c2"), metadata(), {})
    found = saver.get_tuple(asked)
    assert found is not None
    assert (found.config, found.parent_config) == (second, first)


def test_a_uuid_is_a_thread_id(saver: ThreadkeepSaver) -> None:
    thread_id = uuid.uuid4()
    saver.put(config(thread_id), checkpoint("c1"), metadata(), {})
    assert saver.get_tuple(config(str(thread_id))) is not None
    saver.delete_thread(thread_id)  # type: ignore[arg-type]
    assert saver.get_tuple(config(thread_id)) is None


@pytest.mark.parametrize("thread_id", [None, ""])
def test_a_missing_thread_id_is_refused(saver: ThreadkeepSaver, thread_id: Any) -> None:
    calls = [
        lambda: saver.get_tuple(config(thread_id)),
        lambda: list(saver.list(config(thread_id))),
        lambda: saver.put(config(thread_id), checkpoint("c"), metadata(), {}),
        lambda: saver.put_writes(config(thread_id, "c"), [("a", 1)], "task"),
        lambda: saver.delete_thread(thread_id),
        lambda: saver.put_writes(config("t"), [("a", 1)], "task"),
    ]
    for call in calls:
        with pytest.raises(InvalidError):
            call()


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(extra=st.dictionaries(st.text(min_size=1), json_values, max_size=4))
def test_skeleton_and_metadata_come_back_exactly(server: FakeServer, extra: Any) -> None:
    extra.pop("channel_values", None)
    saver = ThreadkeepSaver(server.url)
    sent = {**checkpoint("c1"), "unknown": extra}
    saver.put(config(), sent, metadata(custom=extra), {})
    found = saver.get_tuple(config())
    assert found is not None
    same = json.dumps(sent, sort_keys=True) == json.dumps(found.checkpoint, sort_keys=True)
    assert same
    assert json.dumps(found.metadata["custom"]) == json.dumps(extra)  # type: ignore[typeddict-item]


def test_awkward_values_come_back_exactly(saver: ThreadkeepSaver, server: FakeServer) -> None:
    odd = {"big": 2**70, "one": 1, "float": 1.0, "half": "\ud800", "nul": "a\0b", "none": None}
    versions = {"i": 3, "s": f"{3:032}.5", "f": 2.5}
    sent = checkpoint("c1", {"i": None, "s": b"\0", "f": [1.0, 1]}, channel_versions=versions)
    saver.put(config(), {**sent, "odd": odd}, metadata(), versions)
    found: Any = saver.get_tuple(config())
    assert found.checkpoint == {**sent, "odd": odd}
    assert [type(v) for v in found.checkpoint["channel_versions"].values()] == [int, str, float]
    assert type(found.checkpoint["odd"]["float"]) is float
    assert [v["version"] for v in server.commits()[0][0]["checkpoint"]["values"]] == [
        *(b"3", f'"{3:032}.5"'.encode(), b"2.5")
    ]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_json_is_refused(
    saver: ThreadkeepSaver, server: FakeServer, number: float
) -> None:
    with pytest.raises(InvalidError) as raised:
        saver.put(config(), checkpoint("c1"), metadata(score=number), {})
    assert raised.value.field == "metadata"
    with pytest.raises(InvalidError):
        list(saver.list(config(), filter={"score": number}))
    with pytest.raises(InvalidError):
        saver.put(config(), checkpoint("c1", ts=object()), metadata(), {})
    assert server.seen == []


def test_metadata_takes_keys_of_the_config_and_drops_writes(saver: ThreadkeepSaver) -> None:
    asked = config()
    asked["configurable"] |= {"run_id": "r", "__pregel_x": 1, "fn": print}
    asked["metadata"] = {"user_id": "u", "langgraph_step": 3}
    saver.put(asked, checkpoint("c1"), metadata(writes={"big": 1}), {})
    found: Any = saver.get_tuple(config())
    assert found.metadata == {**metadata(), "run_id": "r", "user_id": "u"}
    assert [t.config for t in saver.list(None, filter={"user_id": "u"})] == [found.config]


def test_absent_is_not_null(saver: ThreadkeepSaver, server: FakeServer) -> None:
    versions = {"null": 1, "absent": 1}
    sent = checkpoint("c1", {"null": None}, channel_versions=versions)
    saver.put(config(), sent, metadata(), versions)
    found: Any = saver.get_tuple(config())
    assert found.checkpoint["channel_values"] == {"null": None}
    null, absent = server.commits()[0][0]["checkpoint"]["values"]
    assert (null["tag"], null["data"]) == ("null", b"")
    assert absent == {"channel": "absent", "version": b"1", "tag": "empty"}


def test_only_new_versions_are_sent(saver: ThreadkeepSaver, server: FakeServer) -> None:
    at = saver.put(config(), checkpoint("c1", {"a": "A", "b": "B"}), metadata(), {"a": 1, "b": 1})
    second = checkpoint("c2", {"a": "A", "b": "B2"}, channel_versions={"a": 1, "b": 2})
    saver.put(at, second, metadata(), {"b": 2})
    sent = server.commits()[1][0]["checkpoint"]
    assert [v["channel"] for v in sent["values"]] == ["b"]
    assert "carried" not in sent
    found: Any = saver.get_tuple(config())
    assert found.checkpoint["channel_values"] == {"a": "A", "b": "B2"}


def test_a_fork_tells_which_carried_values_are_meant(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    root = saver.put(config(), checkpoint("c0"), metadata(), {})
    for name in ("c1", "c2"):
        saver.put(root, checkpoint(name, {"log": name}), metadata(), {"log": 1})
    copied = checkpoint("c3", {"log": "c2"})
    saver.put(root, copied, metadata(source="fork"), {})
    found: Any = saver.get_tuple(config())
    assert found.checkpoint["channel_values"] == {"log": "c2"}
    assert [c["channel"] for c in server.commits()[-1][0]["checkpoint"]["carried"]] == ["log"]


def test_special_channels_have_their_own_positions(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    writes = [("a", 1), ("__error__", 2), ("__interrupt__", 3), ("__resume__", 4), ("b", 5)]
    saver.put_writes(config(checkpoint_id="c"), writes, "task", "path")
    saver.put_writes(config(checkpoint_id="c"), [], "task")
    (ops,) = server.commits()
    sent = ops[0]["writes"]
    assert [w["idx"] for w in sent["writes"]] == [0, -1, -3, -4, 4]
    assert sent["task_path"] == "path"


def test_the_sequence_grows_and_copies_share_the_writer(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    clone = saver.__copy__()
    for each in (saver, clone, saver):
        each.put_writes(config(checkpoint_id="c"), [("__resume__", 1)], "task")
    bodies = [seen.body for seen in server.requests("/commit")]
    assert len({body["writer"] for body in bodies}) == 1
    sequence = [body["ops"][0]["writes"]["seq"] for body in bodies]
    assert sequence == sorted(set(sequence))


def test_a_list_without_namespace_is_of_all_and_pages_are_followed(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    server.store.page_rows = 2
    for number in range(5):
        ns = "child" if number % 2 else ""
        saver.put(config(checkpoint_ns=ns), checkpoint(f"c{number}"), metadata(), {})
    ids = [t.checkpoint["id"] for t in saver.list(config(checkpoint_ns=None))]
    assert ids == ["c4", "c3", "c2", "c1", "c0"]
    assert len(server.requests("/list")) == 3
    assert [t.checkpoint["id"] for t in saver.list(config())] == ["c4", "c2", "c0"]
    limited = saver.list(config(checkpoint_ns=None), limit=3)
    assert [t.checkpoint["id"] for t in limited] == ["c4", "c3", "c2"]
    before = saver.list(None, before=config(checkpoint_id="c2"), limit=1)
    assert [t.checkpoint["id"] for t in before] == ["c1"]
    assert len(list(saver.list(None, before=config()))) == 5


async def test_limits_of_a_list(saver: ThreadkeepSaver, server: FakeServer) -> None:
    with pytest.raises(ValueError, match="negative"):
        saver.list(config(), limit=-1)
    with pytest.raises(ValueError, match="negative"):
        _ = [t async for t in saver.alist(config(), limit=-1)]
    assert list(saver.list(config(), limit=0)) == []
    assert server.seen == []


def test_arguments_of_prune_and_delete_for_runs(saver: ThreadkeepSaver, server: FakeServer) -> None:
    with pytest.raises(TypeError):
        saver.prune("thread")
    with pytest.raises(ValueError, match="Unknown prune strategy: 'some'"):
        saver.prune(["t"], strategy="some")
    with pytest.raises(TypeError):
        saver.delete_for_runs("run")
    saver.prune([])
    saver.delete_for_runs([])
    assert server.seen == []


@pytest.mark.parametrize("through_list", [False, True])
def test_pending_sends_of_old_checkpoints_are_migrated(
    saver: ThreadkeepSaver, through_list: bool
) -> None:
    parent = saver.put(config(), checkpoint("c1", v=3), metadata(), {})
    saver.put_writes(parent, [("__pregel_tasks", "s1"), ("__pregel_tasks", "s2")], "task-1")
    saver.put_writes(parent, [("__pregel_tasks", "s3")], "task-2")
    child = checkpoint("c2", {"a": 1}, v=3, channel_versions={"a": f"{7:032}.1"})
    saver.put(parent, child, metadata(), {"a": f"{7:032}.1"})
    found: Any = next(iter(saver.list(config()))) if through_list else saver.get_tuple(config())
    assert found.checkpoint["channel_values"] == {"a": 1, "__pregel_tasks": ["s1", "s2", "s3"]}
    assert found.checkpoint["channel_versions"]["__pregel_tasks"] == f"{7:032}.1"
    first: Any = saver.get_tuple(parent)
    assert "__pregel_tasks" not in first.checkpoint["channel_values"]


def test_a_migrated_checkpoint_without_versions_gets_the_first_one(saver: ThreadkeepSaver) -> None:
    parent = saver.put(config(), checkpoint("c1", v=1), metadata(), {})
    saver.put_writes(parent, [("__pregel_tasks", "s1")], "task-1")
    saver.put(parent, checkpoint("c2", v=1), metadata(), {})
    found: Any = saver.get_tuple(config())
    assert int(found.checkpoint["channel_versions"]["__pregel_tasks"].split(".")[0]) == 1


def test_versions_sort_as_text_and_follow_numbers(saver: ThreadkeepSaver) -> None:
    version: Any = None
    seen = []
    for _ in range(12):
        version = saver.get_next_version(version, None)
        seen.append(version)
    assert seen == sorted(seen)
    assert all(len(v.split(".")[0]) == 32 for v in seen)
    assert int(saver.get_next_version(41, None).split(".")[0]) == 42  # type: ignore[arg-type]


def test_values_of_another_language(saver: ThreadkeepSaver, server: FakeServer) -> None:
    saver.put(config(), checkpoint("c1", {"a": 1}), metadata(), {"a": 1})
    stored = server.store.threads["t"].checkpoints["", "c1"]
    stored.values["a"] = ("1", "json", b'{"x": [1]}')
    found: Any = saver.get_tuple(config())
    assert found.checkpoint["channel_values"] == {"a": {"x": [1]}}
    stored.values["a"] = ("1", "cbor", b"\xa0")
    with pytest.raises(CodecError, match="'a' was stored with codec 'cbor'"):
        saver.get_tuple(config())


def test_a_restored_thread_refuses_until_it_is_read_again(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    at = saver.put(config(), checkpoint("c1"), metadata(), {})
    assert server.requests("/commit")[0].body.get("generation") is None
    server.store.threads["t"].generation = "another"
    with pytest.raises(ThreadRestoredError):
        saver.put(at, checkpoint("c2"), metadata(), {})
    saver.get_tuple(config())
    saver.put(at, checkpoint("c2"), metadata(), {})
    assert server.requests("/commit")[-1].body["generation"] == "another"


@pytest.mark.parametrize("how", ["delete", "prune", "copy"])
def test_the_generation_of_a_replaced_thread_is_forgotten(
    saver: ThreadkeepSaver, server: FakeServer, how: str
) -> None:
    saver.put(config(), checkpoint("c1"), metadata(), {})
    if how == "delete":
        saver.delete_thread("t")
    elif how == "prune":
        saver.prune(["t"], strategy="delete")
    else:
        server.store.threads.clear()
        saver.copy_thread("nothing", "t")
    saver.put(config(), checkpoint("c1"), metadata(), {})
    assert "generation" not in server.requests("/commit")[-1].body


def test_a_pruned_delta_thread_keeps_its_state(saver: ThreadkeepSaver) -> None:
    delta_thread(saver, 5)
    head = config(checkpoint_id="c004")
    before = saver.get_delta_channel_history(config=head, channels=["log"])
    saver.prune(["t"])
    assert len(list(saver.list(config()))) == 1
    after = saver.get_delta_channel_history(config=head, channels=["log"])
    assert written(after) == written(before) == ["w0", "w1", "w2", "w3"]
    assert after["log"]["seed"] == ["seed"]
    at: Any = saver.get_tuple(head)
    assert at.parent_config is None
    saver.put_writes(head, [("log", "w4")], "task-5")
    child = checkpoint("c005", channel_versions={"log": 6})
    counters = metadata(counters_since_delta_snapshot={"log": [5, 5]})
    saver.put(head, child, counters, {"log": 6})
    newest: Any = saver.get_tuple(config())
    later = saver.get_delta_channel_history(config=newest.config, channels=["log"])
    assert written(later) == ["w0", "w1", "w2", "w3", "w4"]


@pytest.mark.parametrize("missing", ["chain", "history_channels"])
def test_an_answer_that_lacks_a_field_is_an_error(
    saver: ThreadkeepSaver, server: FakeServer, missing: str
) -> None:
    saver.put(config(), checkpoint("c1"), metadata(), {})
    handle = server.store.handle

    def lacking(*arguments: Any) -> Any:
        return {k: v for k, v in handle(*arguments).items() if k != missing}

    server.store.handle = lacking  # type: ignore[method-assign]
    with pytest.raises(ProtocolError):
        saver.get_tuple(config())
