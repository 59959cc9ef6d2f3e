"""Ids are free text: what a path, a proxy or a URL parser would change comes back as it was sent."""

from itertools import pairwise

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from threadkeep import Client
from threadkeep.langgraph import ThreadkeepSaver

from support.native import Native, checkpoint, writes
from support.server import Server

ODD = [
    ".",
    "..",
    "a/b",
    "a//b",
    "/",
    "%2F",
    "%2e%2e",
    "%00",
    "a%2Fb",
    "a\\b",
    "?a=b&c#d",
    " ",
    " leading and trailing ",
    "line\nbreak\ttab\rreturn",
    "'; drop table checkpoints; --",
    '"quoted"',
    "{}",
    "null",
    "0",
    "*",
    "_",
    "a|b:c|d",
    "ü",
    "u\u0308",  # looks like the one before and is another
    "\u202e right to left",
    "\U0001f9f5" * 10,
    "\x01\x7f",
    "x" * 256,
]


def config_of(thread_id: str, ns: str = "") -> dict:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}


def put(saver: ThreadkeepSaver, config: dict, text: str) -> dict:
    point = empty_checkpoint()
    point["channel_values"] = {text: f"value of {text}"}
    point["channel_versions"] = {text: 1}
    return saver.put(config, point, {"source": "loop", "step": 0, "parents": {}}, {text: 1})


def test_odd_thread_ids_each_keep_their_own(saver: ThreadkeepSaver) -> None:
    for text in ODD:
        put(saver, config_of(text), text)

    for text in ODD:
        found = saver.get_tuple(config_of(text))
        assert found.config["configurable"]["thread_id"] == text
        assert found.checkpoint["channel_values"] == {text: f"value of {text}"}


def test_what_odd_threads_take_is_told_by_channel(
    saver: ThreadkeepSaver, server: Server, api_key: str
) -> None:
    client = Client(server.url, api_key=api_key)
    for text in ODD:
        put(saver, config_of(text), text)

    for text in ODD:
        takes = client.get_thread_storage(text)
        assert [(it.channel, it.versions) for it in takes.channels] == [(text, 1)]
        assert (takes.checkpoints, takes.shared_with) == (1, 0)
    assert client.get_thread_storage("never was") is None


def test_deleting_one_odd_thread_leaves_the_others(saver: ThreadkeepSaver) -> None:
    for text in ODD:
        put(saver, config_of(text), text)

    for text, following in pairwise(ODD):
        saver.delete_thread(text)
        assert saver.get_tuple(config_of(text)) is None
        assert saver.get_tuple(config_of(following)) is not None


def test_odd_namespaces_and_the_empty_one_each_keep_their_own(saver: ThreadkeepSaver) -> None:
    names = ["", *ODD]
    for text in names:
        put(saver, config_of("thread", text), text)

    for text in names:
        (found,) = saver.list(config_of("thread", text))
        assert found.config["configurable"]["checkpoint_ns"] == text
        assert found.checkpoint["channel_values"] == {text: f"value of {text}"}


def test_odd_ids_of_checkpoints_tasks_and_channels_come_back(native: Native) -> None:
    for text in ODD:
        op = writes(text, text, [text.encode()])
        op["writes"]["writes"][0]["channel"] = text
        native.commit("thread", checkpoint(text, {text: text.encode()}), op)

    for text in ODD:
        view = native.get("thread", text)["checkpoint"]
        assert view["checkpoint_id"] == text
        assert [(v["channel"], bytes(v["data"])) for v in view["values"]] == [(text, text.encode())]
        (write,) = view["writes"]
        assert (write["task_id"], write["channel"]) == (text, text)


def test_the_latest_checkpoint_is_the_greatest_id_by_bytes(native: Native) -> None:
    for text in ODD:
        native.commit("thread", checkpoint(text, {"a": b"1"}))

    latest = native.get("thread")["checkpoint"]["checkpoint_id"]
    listed = [view["checkpoint_id"] for view in native.list(thread_id="thread")]

    assert latest == max(ODD, key=str.encode)
    assert listed == sorted(ODD, key=str.encode, reverse=True)


@pytest.mark.parametrize("page", [1, 7])
def test_pages_neither_skip_nor_repeat_odd_ids(native: Native, page: int) -> None:
    for text in ODD:
        native.commit(text, checkpoint(text, {"a": b"1"}))

    views = []
    arguments: dict = {"limit": page}
    while True:
        answer = native.call("/v1/checkpoints/list", arguments)
        assert len(answer["checkpoints"]) <= page
        views += answer["checkpoints"]
        if not answer.get("next_cursor"):
            break
        arguments["cursor"] = answer["next_cursor"]

    assert [view["thread_id"] for view in views] == sorted(ODD, key=str.encode, reverse=True)
