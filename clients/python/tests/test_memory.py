"""Delta histories: the walk, what is remembered of it, and when that must not be used."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from fake_server import FakeServer
from support import checkpoint, config, delta_thread, metadata, written
from threadkeep.errors import ProtocolError
from threadkeep.langgraph import ThreadkeepSaver, memory
from threadkeep.langgraph.history import Node, Target, chain_of, history_in
from threadkeep.langgraph.memory import Memory

HEAD = config(checkpoint_id="c004")
ALL = ["w0", "w1", "w2", "w3"]


def ask(saver: ThreadkeepSaver, at: Any = HEAD) -> list[Any]:
    return written(saver.get_delta_channel_history(config=at, channels=["log"]))


def count(server: FakeServer, path: str = "/checkpoints/history") -> int:
    return len(server.requests(path))


def test_the_last_get_tuple_answers(saver: ThreadkeepSaver, server: FakeServer) -> None:
    delta_thread(saver, 5)
    saver.get_tuple(config())
    history = saver.get_delta_channel_history(config=HEAD, channels=["log"])
    assert written(history) == ALL
    assert history["log"]["seed"] == ["seed"]
    assert count(server) == 0
    history["log"]["seed"].append("changed")
    again = saver.get_delta_channel_history(config=HEAD, channels=["log"])
    assert again["log"]["seed"] == ["seed"], "values are not shared"


async def test_the_last_list_answers_for_each_of_its_checkpoints(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    delta_thread(saver, 5)
    listed = [t async for t in saver.alist(config())]
    for number in range(1, 5):
        at = config(checkpoint_id=f"c{number:03}")
        history = await saver.aget_delta_channel_history(config=at, channels=["log"])
        assert written(history) == ALL[:number]
    assert len(listed) == 5
    assert count(server) == 0


def test_it_agrees_with_the_walk_of_the_base_class(saver: ThreadkeepSaver) -> None:
    delta_thread(saver, 6)
    for at in ("c000", "c001", "c003", "c005", "unknown"):
        asked = config(checkpoint_id=at)
        want = BaseCheckpointSaver.get_delta_channel_history(
            saver, config=asked, channels=["log", "other"]
        )
        got = saver.get_delta_channel_history(config=asked, channels=["log", "other"])
        assert got == want
    assert saver.get_delta_channel_history(config=config(), channels=[]) == {}


def test_one_request_when_nothing_is_remembered_and_none_after(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    delta_thread(saver, 5)
    assert ask(saver) == ALL
    assert ask(saver) == ALL
    assert count(server) == 1


def test_asked_channels_are_sent_along_from_then_on(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    at = saver.put(config(), checkpoint("c1"), metadata(), {})
    saver.put_writes(at, [("plain", "w")], "task")
    at = saver.put(at, checkpoint("c2", channel_versions={"plain": 1}), metadata(), {"plain": 1})
    for expected in (1, 1):
        saver.get_tuple(config())
        history = saver.get_delta_channel_history(config=at, channels=["plain"])
        assert written(history, "plain") == ["w"]
        assert count(server) == expected
    bodies = [seen.body.get("history_channels") for seen in server.requests("/checkpoints/get")]
    assert bodies == [None, ["plain"]]


@pytest.mark.parametrize("how", ["writes", "ancestor", "missing parent", "target"])
def test_what_this_saver_writes_is_seen_at_once(
    saver: ThreadkeepSaver, server: FakeServer, how: str
) -> None:
    delta_thread(saver, 5)
    if how == "missing parent":
        del server.store.threads["t"].checkpoints["", "c002"]
    saver.get_tuple(config())
    assert ask(saver) == (ALL if how != "missing parent" else ["w3"])
    if how == "writes":
        saver.put_writes(config(checkpoint_id="c002"), [("log", "late")], "zzz", "~z")
        assert ask(saver) == ["w0", "w1", "w2", "late", "w3"]
    elif how == "target":
        again = checkpoint("c004", channel_versions={"log": 5})
        saver.put(config(checkpoint_id="c001"), again, metadata(), {"log": 5})
        assert ask(saver) == ["w0", "w1"]
    elif how == "ancestor":
        again = checkpoint("c003", {"log": ["new"]}, channel_versions={"log": 9})
        saver.put(config(checkpoint_id="c002"), again, metadata(), {"log": 9})
        assert ask(saver) == ["w3"]
    else:
        again = checkpoint("c002", channel_versions={"log": 3})
        saver.put(config(checkpoint_id="c001"), again, metadata(), {})
        assert ask(saver) == ALL


@pytest.mark.parametrize("how", ["delete", "runs", "prune"])
def test_what_this_saver_deletes_is_gone_at_once(
    saver: ThreadkeepSaver, server: FakeServer, how: str
) -> None:
    delta_thread(saver, 5)
    saver.get_tuple(config())
    assert ask(saver) == ALL
    if how == "delete":
        saver.delete_thread("t")
        assert ask(saver) == []
    elif how == "runs":
        found = server.store.threads["t"].checkpoints["", "c002"]
        found.metadata = b'{"run_id": "r"}'
        saver.delete_for_runs(["r"])
        assert ask(saver) == ["w3"]
    else:
        saver.prune(["t"], strategy="delete")
        assert ask(saver) == []
    assert count(server) == 1


def test_a_write_that_overtakes_a_read_is_not_lost(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    delta_thread(saver, 5)
    handle = server.store.handle
    late = ThreadkeepSaver(server.url)
    late._link = saver._link

    def overtaken(method: str, path: str, *others: Any) -> Any:
        answer = handle(method, path, *others)
        if path.endswith("/get"):
            server.store.handle = handle  # type: ignore[method-assign]
            at = config(checkpoint_id="c002")
            server.store.lock.release()
            late.put_writes(at, [("log", "late")], "zzz", "~z")
            server.store.lock.acquire()
        return answer

    server.store.lock.acquire()
    server.store.lock.release()

    class Open:
        """The store's lock must not be held while the overtaking write is answered."""

        def acquire(self) -> None: ...
        def release(self) -> None: ...
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    server.store.lock = Open()  # type: ignore[assignment]
    server.store.handle = overtaken  # type: ignore[method-assign]
    saver.get_tuple(config())
    assert ask(saver) == ["w0", "w1", "w2", "late", "w3"]


def test_remembered_answers_age(
    saver: ThreadkeepSaver, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    delta_thread(saver, 5)
    saver.get_tuple(config())
    now = saver._link.memory._clock()
    saver._link.memory._clock = lambda: now + memory.ANSWER_SECONDS_MAX + 1
    assert ask(saver) == ALL
    body = server.requests("/checkpoints/history")[0].body
    assert body["have"]["checkpoint_id"] == "c003", "only the difference is asked for"


def test_a_restored_or_vanished_thread_drops_what_is_remembered(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    delta_thread(saver, 5)
    saver.get_tuple(config())
    other = ThreadkeepSaver(server.url)
    other.delete_thread("t")
    assert saver.get_tuple(config()) is None
    assert ask(saver) == []


def test_a_changed_ancestor_makes_the_chain_come_whole(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    delta_thread(saver, 5)
    saver.get_tuple(config())
    other = ThreadkeepSaver(server.url)
    other.put_writes(config(checkpoint_id="c001"), [("log", "late")], "zzz", "~z")
    saver.get_tuple(config())
    assert "have" in server.requests("/checkpoints/get")[1].body
    assert ask(saver) == ["w0", "w1", "late", "w2", "w3"]
    assert count(server) == 0


def test_the_difference_is_joined_to_what_is_held(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    delta_thread(saver, 5)
    saver.get_tuple(config())
    saver.put_writes(HEAD, [("log", "w4")], "task-5", "~p")
    child = checkpoint("c005", channel_versions={"log": 6})
    counters = metadata(counters_since_delta_snapshot={"log": [5, 5]})
    at = saver.put(HEAD, child, counters, {"log": 6})
    saver.get_tuple(config())
    body = server.requests("/checkpoints/get")[1].body
    answer = server.store.get(body)
    assert [node["checkpoint_id"] for node in answer["chain"]] == ["c004"]
    assert ask(saver, at) == [*ALL, "w4"]
    assert ask(saver) == ALL, "the chain before the last one still answers"
    assert count(server) == 0


def test_a_chain_that_continues_where_nothing_was_offered_is_an_error(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    delta_thread(saver, 3)
    handle = server.store.handle
    server.store.handle = lambda *a: {**handle(*a), "continues_at": "c000"}  # type: ignore[method-assign]
    with pytest.raises(ProtocolError):
        saver.get_tuple(config())


def test_namespaces_do_not_mix(saver: ThreadkeepSaver) -> None:
    delta_thread(saver, 5)
    at = saver.put(config(checkpoint_ns="n"), checkpoint("c003"), metadata(), {})
    child = checkpoint("c004", channel_versions={"log": 1})
    counters = metadata(counters_since_delta_snapshot={"log": [1, 1]})
    at = saver.put(at, child, counters, {"log": 1})
    list(saver.list(config(checkpoint_ns=None)))
    assert ask(saver, at) == []
    assert ask(saver) == ALL


@pytest.mark.parametrize("budget", [0, 20_000, 200_000])
def test_memory_is_bounded_in_bytes(server: FakeServer, budget: int) -> None:
    saver = ThreadkeepSaver(server.url, history_bytes_max=budget)
    for number in range(12):
        delta_thread(saver, 4, f"t{number}", size=1000)
        saver.get_tuple(config(f"t{number}"))
        assert saver._link.memory._bytes <= budget
        last = saver.get_delta_channel_history(config=config(f"t{number}"), channels=["log"])
        assert written(last) == [f"w{n}" * 1000 for n in range(3)]
    held = saver._link.memory._chains.values()
    assert saver._link.memory._bytes == sum(entry.chain.size_bytes for entry in held)
    assert (len(held) > 0) == (budget > 0)


def test_threads_are_bounded_and_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "THREADS_MAX", 3)
    kept = Memory(0)
    for number in range(5):
        kept.learn(f"t{number}", "g")
    assert [kept.generation(f"t{n}") for n in range(5)] == [None, None, "g", "g", "g"]


def test_what_goes_on_from_before_a_restore_is_of_the_generation_of_then() -> None:
    kept = Memory(0)
    one, two, three, four = (("", name) for name in ("1", "2", "3", "4"))
    kept.learn("t", "before")
    kept.touch("t", [(one, True), (two, True)])
    assert kept.generation_for("t", [(one, two)]) == "before"
    kept.learn("t", "after")
    assert kept.generation_for("t", [(None, four)]) == "after"
    assert kept.generation_for("t", [(None, four), (two, three)]) == "before"
    assert kept.generation_for("t", [(three, four)]) == "before", "what follows it, too"
    assert kept.generation_for("t", [(("n", "2"), ("n", "3"))]) == "after"
    kept.seen("t", [two, ("n", "3")])
    assert kept.generation_for("t", [(two, ("", "5"))]) == "after"
    assert kept.generation_for("t", [(three, ("", "5"))]) == "before"
    many = [(("", f"many {n}"), True) for n in range(3 * memory.TOUCHES_MAX)]
    kept.touch("t", many)
    kept.learn("t", "later")
    kept.touch("t", many)
    kept.learn("t", "last")
    assert len(kept._threads["t"].former) <= memory.FORMER_MAX


def test_more_writes_than_are_noted_count_as_a_disturbance() -> None:
    kept = Memory(1000)
    mark = kept.begin_read("t")
    chain = chain_of([], {("", "c1"): Target(None, {}, frozenset({"a"}))})
    kept.keep("t", "", chain, mark)
    assert kept.answer("t", ("", "c1"), ["a"]) is chain
    mark = kept.begin_read("t")
    kept.touch("t", [(("", f"x{n}"), True) for n in range(memory.TOUCHES_MAX + 1)])
    later = chain_of([], {("", "c2"): Target(None, {}, frozenset({"a"}))})
    kept.keep("t", "", later, mark)
    assert kept.answer("t", ("", "c2"), ["a"]) is None
    kept.keep("t", "", later, kept.begin_read("t"))
    assert kept.answer("t", ("", "c2"), ["a"]) is later


def test_a_circle_in_the_chain_ends() -> None:
    nodes = [("", Node(a, b, {}, {}, {}, 1)) for a, b in (("x", "y"), ("y", "x"))]
    chain = chain_of(nodes, {("", "t"): Target("x", {}, frozenset({"a"}))})
    with pytest.raises(ProtocolError):
        history_in(chain, ("", "t"), "a")
