"""A reply gets lost after the server did the work: the client's own retry must change nothing."""

from collections.abc import Iterator

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from threadkeep.langgraph import ThreadkeepSaver

from support.native import Native
from support.proxy import Proxy
from support.server import Server

THREAD = "thread"


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def far_saver(proxy: Proxy, api_key: str) -> ThreadkeepSaver:
    """The product's saver, behind the proxy."""
    return ThreadkeepSaver(proxy.url, api_key=api_key)


def put_checkpoint(saver: ThreadkeepSaver) -> dict:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"a": "value"}
    checkpoint["channel_versions"] = {"a": 1}
    config = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
    return saver.put(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {"a": 1})


def test_a_put_whose_reply_was_lost_is_there_once(
    far_saver: ThreadkeepSaver, proxy: Proxy, native: Native
) -> None:
    proxy.lose(1)

    config = put_checkpoint(far_saver)

    assert proxy.lost == 1
    assert [view["checkpoint_id"] for view in native.list(thread_id=THREAD)] == [
        config["configurable"]["checkpoint_id"]
    ]
    assert native.thread(THREAD)["checkpoint_count"] == 1


def test_writes_whose_reply_was_lost_are_there_once(
    far_saver: ThreadkeepSaver, proxy: Proxy, native: Native
) -> None:
    config = put_checkpoint(far_saver)
    proxy.lose(1)

    far_saver.put_writes(config, [("a", 1), ("b", 2)], "task")

    assert proxy.lost == 1
    stored = native.get(THREAD)["checkpoint"]["writes"]
    assert [(write["task_id"], write["channel"]) for write in stored] == [
        ("task", "a"),
        ("task", "b"),
    ]


def test_the_size_of_a_thread_counts_a_retried_commit_once(
    far_saver: ThreadkeepSaver, proxy: Proxy, native: Native
) -> None:
    config = put_checkpoint(far_saver)
    far_saver.put_writes(config, [("a", 1)], "task")
    before = native.thread(THREAD)["size_bytes"]
    proxy.lose(1)

    far_saver.put_writes(config, [("a", 1)], "task")

    assert proxy.lost == 1
    assert native.thread(THREAD)["size_bytes"] == before


def test_a_copy_whose_reply_was_lost_succeeds_on_its_retry(
    far_saver: ThreadkeepSaver, proxy: Proxy, native: Native
) -> None:
    put_checkpoint(far_saver)
    proxy.lose(1)

    far_saver.copy_thread(THREAD, "copy")

    assert proxy.lost == 1
    assert native.thread("copy")["checkpoint_count"] == 1


@pytest.mark.parametrize("act", ["delete_thread", "prune", "delete_for_runs"])
def test_a_removal_whose_reply_was_lost_succeeds_on_its_retry(
    far_saver: ThreadkeepSaver, proxy: Proxy, native: Native, act: str
) -> None:
    put_checkpoint(far_saver)
    removal = {
        "delete_thread": lambda: far_saver.delete_thread(THREAD),
        "prune": lambda: far_saver.prune([THREAD], strategy="delete"),
        "delete_for_runs": lambda: far_saver.delete_for_runs(["unknown"]),
    }[act]
    proxy.lose(1)

    removal()

    assert proxy.lost == 1
    assert len(native.list(thread_id=THREAD)) == (1 if act == "delete_for_runs" else 0)
