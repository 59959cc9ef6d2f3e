"""Listing and erasing subjects by the real program, over HTTP and beside the server from the command line."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from threadkeep import Client
from threadkeep.errors import NotGrantedError, UnauthorizedError
from threadkeep.langgraph import ThreadkeepSaver
from threadkeep.sessions import NewEntry

from support.server import Server
from support.waiting import wait_until

TENANT = "acme"


def key_of(server: Server, subject: str) -> str:
    done = server.command("keys", "create", "--tenant", TENANT, "--subject", subject)
    key = done.stdout.strip()
    wait_until(partial(server._knows, key), "the server to see a new key")
    return key


def remember(server: Server, key: str, name: str) -> None:
    saver = ThreadkeepSaver(server.url, api_key=key)
    config: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
    checkpoint: Any = {
        "v": 4,
        "id": "1",
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": {"m": f"{name} " * 900},
        "channel_versions": {"m": 1},
        "versions_seen": {},
    }
    saver.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {"m": 1})


def test_an_erased_subject_is_gone_and_others_are_not(start_server: Callable[..., Server]) -> None:
    server = start_server()
    (owner,) = server.make_keys([TENANT])
    ann, bob = key_of(server, "ann"), key_of(server, "bob")
    for key, name in [(ann, "ann-1"), (ann, "ann-2"), (bob, "bob-1"), (owner, "nobodys")]:
        remember(server, key, name)
    client = Client(server.url, api_key=owner)
    client.sessions.append("claude", ["s"], [NewEntry("nobody's")])
    Client(server.url, api_key=ann).sessions.append("claude", ["ann"], [NewEntry(1)])
    with pytest.raises(NotGrantedError):
        Client(server.url, api_key=bob).subjects.list()
    first = client.subjects.list(limit=1)
    rest = client.subjects.list(cursor=first.next_cursor)
    has = [(it.subject, it.keys, it.threads, it.sessions) for it in first.subjects + rest.subjects]
    assert has == [("ann", 1, 2, 1), ("bob", 1, 1, 0)]
    assert first.subjects[0].size_bytes > 2 * 900 * len("ann-1 ")
    assert (rest.next_cursor, rest.subjects[0].partial) == (None, False)
    with pytest.raises(NotGrantedError):
        Client(server.url, api_key=bob).subjects.delete("ann")
    receipt = client.subjects.delete("ann")
    assert (receipt.threads, receipt.keys) == (2, 1)
    assert receipt.checkpoints == 2
    assert receipt.size_bytes > 2 * 900 * len("ann-1 ")
    left = {it.thread_id for it in client.list_threads().threads}
    assert left == {"bob-1", "nobodys"}
    assert client.get_thread("ann-1") is None
    assert [it.subject for it in client.subjects.list().subjects] == ["bob"]
    again = client.subjects.delete("ann")
    assert set(vars(again).values()) == {0}

    def refused() -> bool:
        try:
            Client(server.url, api_key=ann).whoami()
        except UnauthorizedError:
            return True
        return False

    wait_until(refused, "the key of an erased subject to be refused")
    done = server.command("erase", "--tenant", TENANT, "--subject", "bob")
    assert json.loads(done.stdout)["threads"] == 1, done.stderr
    assert [it.thread_id for it in client.list_threads().threads] == ["nobodys"]
    assert server.command("doctor").returncode == 0
    assert "ann" not in server.all_output()
