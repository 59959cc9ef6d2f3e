"""The session store of ComputerAgent in Python."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from fake_server import FakeServer, Fault
from threadkeep import computeragent
from threadkeep.computeragent import SessionStoreEntry, ThreadkeepSessionStore
from threadkeep.errors import ProtocolError, UnserializableError

AT: Any = {"project_key": "p", "session_id": "s/1"}


@pytest.fixture
def store(server: FakeServer, transport: str) -> ThreadkeepSessionStore:
    return ThreadkeepSessionStore(server.url, transport=transport)  # type: ignore[arg-type]


async def test_a_conversation_comes_back_in_order(store: ThreadkeepSessionStore) -> None:
    assert await store.load(**AT) == []
    await store.create(**AT)
    await store.create(**AT)
    assert await store.load(**AT) == []
    entries = [
        SessionStoreEntry("user", "hi", 1.5),
        SessionStoreEntry("assistant", [{"type": "text", "text": "\x00"}], 2.0, {"cost": 0.1}),
        SessionStoreEntry("user", "hi", 1.5),
        SessionStoreEntry("tool", None, 3.0, {}),
    ]
    for entry in entries:
        await store.append(**AT, entry=entry)
    found = await store.load(**AT)
    assert [(e.role, e.content, e.timestamp, e.metadata) for e in found] == [
        (e.role, e.content, e.timestamp, e.metadata) for e in entries
    ]
    await store.delete(**AT)
    assert await store.load(**AT) == []
    await store.delete(**AT)


async def test_it_is_a_store_of_the_package() -> None:
    package = pytest.importorskip("computeragent")
    store = ThreadkeepSessionStore()
    assert isinstance(store, package.SessionStore)
    from computeragent.session_stores import register_session_store, resolve_session_store

    register_session_store("threadkeep", store)
    assert resolve_session_store("threadkeep").kind == "threadkeep"


async def test_entries_are_of_the_packages_class(store: ThreadkeepSessionStore) -> None:
    package = pytest.importorskip("computeragent")
    entry = package.SessionStoreEntry("user", "hi", 1.0)
    await store.append(**AT, entry=entry)
    assert await store.load(**AT) == [entry]


async def test_without_the_package_they_are_of_our_own(
    store: ThreadkeepSessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "computeragent.protocol_types", None)
    entry = SessionStoreEntry("user", "hi", 1.0)
    await store.append(**AT, entry=entry)
    assert await store.load(**AT) == [entry]


async def test_a_lost_reply_appends_once(store: ThreadkeepSessionStore, server: FakeServer) -> None:
    server.faults = [Fault(drop=True, apply=True)]
    await store.append(**AT, entry=SessionStoreEntry("user", "hi", 1.0))
    assert len(await store.load(**AT)) == 1


async def test_a_pinned_project_is_used_for_every_call(server: FakeServer) -> None:
    await ThreadkeepSessionStore(server.url, project_key="x").append(
        project_key="one", session_id="s", entry=SessionStoreEntry("user", "hi", 1.0)
    )
    pinned = ThreadkeepSessionStore(server.url, project_key="x")
    assert len(await pinned.load(project_key="two", session_id="s")) == 1
    assert await ThreadkeepSessionStore(server.url).load(project_key="one", session_id="s") == []


async def test_what_is_not_json_is_refused(store: ThreadkeepSessionStore) -> None:
    with pytest.raises(UnserializableError):
        await store.append(**AT, entry=SessionStoreEntry("user", object(), 1.0))
    assert await store.load(**AT) == []


async def test_an_entry_of_somebody_else_is_an_error(
    store: ThreadkeepSessionStore, server: FakeServer
) -> None:
    server.store.sessions.append(
        {"kind": computeragent.KIND, "key": ["p", "s/1"], "entries": [{"data": b"[]"}]}
    )
    with pytest.raises(ProtocolError):
        await store.load(**AT)
