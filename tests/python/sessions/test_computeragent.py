"""ComputerAgent's Python protocol, with its own classes and its own registry."""

import uuid
from typing import Any

import pytest
from computeragent import SessionStore, SessionStoreEntry
from computeragent.session_stores import (
    InMemorySessionStore,
    register_session_store,
    resolve_session_store,
)
from threadkeep.computeragent import ThreadkeepSessionStore
from threadkeep.errors import UnserializableError

from support.proxy import Proxy
from support.server import Server

ENTRIES = [
    SessionStoreEntry("user", "nul \0, lone \ud800", 1.5),
    SessionStoreEntry("assistant", [{"type": "text", "text": "hi"}], 2.0, {"cost": 0.1}),
    SessionStoreEntry("tool", None, 3.25, {}),
    SessionStoreEntry("user", "nul \0, lone \ud800", 1.5),
]


@pytest.fixture
def store(server: Server, api_key: str) -> ThreadkeepSessionStore:
    return ThreadkeepSessionStore(server.url, api_key=api_key)


async def test_it_answers_as_the_store_in_memory_does(store: ThreadkeepSessionStore) -> None:
    assert isinstance(store, SessionStore)
    name = f"threadkeep-{uuid.uuid4().hex}"
    register_session_store(name, store)
    ours, theirs = resolve_session_store(name), InMemorySessionStore()
    one: Any = {"project_key": "p", "session_id": "-s/1"}
    other: Any = {"project_key": "q", "session_id": "-s/1"}
    for at in (one, other):
        assert await ours.load(**at) == await theirs.load(**at) == []
        for each in (ours, theirs):
            await each.create(**at)
            for entry in ENTRIES:
                await each.append(**at, entry=entry)
            await each.create(**at)
        assert await ours.load(**at) == await theirs.load(**at) == ENTRIES
    for each in (ours, theirs):
        await each.delete(**one)
        await each.delete(**one)
    assert await ours.load(**one) == await theirs.load(**one) == []
    assert await ours.load(**other) == await theirs.load(**other) == ENTRIES


async def test_a_lost_reply_appends_once(
    proxy: Proxy, api_key: str, store: ThreadkeepSessionStore
) -> None:
    at: Any = {"project_key": "p", "session_id": "s"}
    proxy.lose(1)
    await ThreadkeepSessionStore(proxy.url, api_key=api_key).append(**at, entry=ENTRIES[0])
    assert proxy.lost == 1
    assert await store.load(**at) == ENTRIES[:1]


async def test_what_is_not_json_is_refused(store: ThreadkeepSessionStore) -> None:
    at: Any = {"project_key": "p", "session_id": "s"}
    with pytest.raises(UnserializableError):
        await store.append(**at, entry=SessionStoreEntry("user", object(), 1.0))
    assert await store.load(**at) == []
