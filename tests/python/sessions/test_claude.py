"""The Claude Agent SDK on our session store: its published contracts, and its own helpers."""

import asyncio
import itertools
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from claude_agent_sdk import (
    delete_session_via_store,
    fork_session_via_store,
    get_session_messages_from_store,
    list_sessions_from_store,
    project_key_for_directory,
    rename_session_via_store,
    tag_session_via_store,
)
from claude_agent_sdk.testing import run_session_store_conformance
from threadkeep.claude import ThreadkeepSessionStore

from support.proxy import Proxy
from support.server import Server

Make = Callable[..., ThreadkeepSessionStore]
KEY: Any = {"project_key": "-home-ann-proj", "session_id": str(uuid.UUID(int=7))}
SUB: Any = {**KEY, "subpath": "subagents/agent-a/b"}
OPTIONAL = ("list_sessions", "list_session_summaries", "delete", "list_subkeys")


@pytest.fixture
def make(server: Server, api_key: str) -> Make:
    def made(**more: Any) -> ThreadkeepSessionStore:
        return ThreadkeepSessionStore(server.url, **{"api_key": api_key, **more})

    return made


@pytest.fixture
def store(make: Make) -> ThreadkeepSessionStore:
    return make()


async def test_all_published_contracts_hold(server: Server, make: Make) -> None:
    # Once for each of the 14 contracts, and once to see which methods there are.
    calls = itertools.count()

    def fresh() -> Any:
        next(calls)
        return make(api_key=server.new_key())

    assert all(callable(getattr(ThreadkeepSessionStore, name, None)) for name in OPTIONAL)
    await run_session_store_conformance(fresh)
    assert next(calls) == 15


async def test_nothing_appended_is_nothing_written(store: ThreadkeepSessionStore) -> None:
    await store.append(KEY, [])
    await store.append(SUB, [])
    assert await store.load(KEY) is None
    assert await store.list_sessions(KEY["project_key"]) == []
    assert await store.list_subkeys(KEY) == []


async def test_a_session_of_subagents_only_is_not_listed(store: ThreadkeepSessionStore) -> None:
    await store.append(SUB, [{"type": "x"}])
    assert await store.list_sessions(KEY["project_key"]) == []
    assert await store.load(KEY) is None
    assert await store.list_subkeys(KEY) == ["subagents/agent-a/b"]
    await store.delete(KEY)
    assert await store.load(SUB) is None


async def test_an_entry_with_an_id_is_stored_once_where_it_was(
    store: ThreadkeepSessionStore,
) -> None:
    first: Any = [{"type": "a", "uuid": "b"}, {"type": "t"}, {"type": "a", "uuid": "c" * 64}]
    await store.append(KEY, first)
    await store.append(KEY, [{"type": "a", "uuid": "new"}, *first])
    assert await store.load(KEY) == [*first, {"type": "a", "uuid": "new"}, {"type": "t"}]
    # A fork repeats the ids of another session, and a sub-agent those of its parent.
    fork: Any = {**KEY, "session_id": "fork"}
    for other in (fork, SUB):
        await store.append(other, first)
        assert await store.load(other) == first


async def test_entries_are_exact(store: ThreadkeepSessionStore) -> None:
    entries: Any = [
        {"type": "x", "uuid": "1", "text": "nul \0, lone \ud800, 🎈", "unknown": {"deep": [None]}},
        {"type": "x", "int": 2**70, "float": 1.0, "tiny": 5e-324, "\0": "\ud83d"},
        {"type": "x", "text": "m" * 10_000_000},
    ]
    odd: Any = {"project_key": "-a/b\0", "session_id": "../s", "subpath": "-x//y/../z 🎈"}
    await store.append(odd, entries)
    found = await store.load(odd)
    assert json.dumps(found) == json.dumps(entries)
    assert await store.list_subkeys(odd) == [odd["subpath"]]


async def test_a_long_transcript_comes_back_whole(store: ThreadkeepSessionStore) -> None:
    """Of more bytes than one answer has."""
    entries: Any = [{"type": "x", "uuid": str(at), "text": "t" * 5_000} for at in range(4_000)]
    for start in range(0, len(entries), 500):
        await store.append(KEY, entries[start : start + 500])
    assert await store.load(KEY) == entries


async def test_writers_of_one_session_lose_no_entry_and_no_field(make: Make) -> None:
    stores = [make() for _ in range(8)]

    async def write(number: int) -> None:
        for at in range(10):
            entry: Any = {"type": "x", "uuid": f"{number}-{at}"}
            if at == 0:
                entry |= {"aiTitle": "t"} if number % 2 else {"gitBranch": f"b{number}"}
            await stores[number].append(KEY, [entry])

    await asyncio.gather(*(write(number) for number in range(8)))
    found = await stores[0].load(KEY)
    assert found is not None
    assert len({entry["uuid"] for entry in found}) == len(found) == 80
    for number in range(8):
        own = [entry["uuid"] for entry in found if entry["uuid"].startswith(f"{number}-")]
        assert own == [f"{number}-{at}" for at in range(10)]
    (summary,) = await stores[0].list_session_summaries(KEY["project_key"])
    assert summary["data"]["ai_title"] == "t"
    assert summary["data"]["git_branch"].startswith("b")
    (listed,) = await stores[0].list_sessions(KEY["project_key"])
    assert summary["mtime"] >= listed["mtime"] > 1e12


async def test_many_sessions_are_all_listed(store: ThreadkeepSessionStore) -> None:
    names = [f"s{at:04}" for at in range(600)]
    for start in range(0, len(names), 20):
        keys: Any = [{**KEY, "session_id": name} for name in names[start : start + 20]]
        await asyncio.gather(*(store.append(key, [{"type": "x"}]) for key in keys))
    listed = await store.list_sessions(KEY["project_key"])
    assert sorted(one["session_id"] for one in listed) == names
    summaries = await store.list_session_summaries(KEY["project_key"])
    assert sorted(one["session_id"] for one in summaries) == names


async def test_a_lost_reply_appends_once(
    proxy: Proxy, make: Make, api_key: str, store: ThreadkeepSessionStore
) -> None:
    far = ThreadkeepSessionStore(proxy.url, api_key=api_key)
    await far.append(KEY, [{"type": "x", "customTitle": "one"}])
    proxy.lose(1)
    await far.append(KEY, [{"type": "without an id", "customTitle": "two"}])
    proxy.lose(1)
    await far.append(SUB, [{"type": "without an id"}])
    assert proxy.lost == 2
    assert len(await store.load(KEY) or []) == 2
    assert len(await store.load(SUB) or []) == 1
    (summary,) = await store.list_session_summaries(KEY["project_key"])
    assert summary["data"]["custom_title"] == "two"


async def test_the_helpers_of_the_sdk_work_on_it(make: Make, tmp_path: Any) -> None:
    store, folder = make(), str(tmp_path)
    session = str(uuid.uuid4())
    key: Any = {"project_key": project_key_for_directory(folder), "session_id": session}
    messages = [
        ("user", {"role": "user", "content": "Remember AURORA-42"}),
        ("assistant", {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}),
    ]
    parent, entries = None, []
    for kind, message in messages:
        entry: Any = {
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "parentUuid": parent,
            "sessionId": session,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": message,
        }
        parent = entry["uuid"]
        entries.append(entry)
    await store.append(key, entries)
    store_: Any = store
    await rename_session_via_store(store_, session, "A title", directory=folder)
    await tag_session_via_store(store_, session, "tagged", directory=folder)
    (listed,) = await list_sessions_from_store(store_, directory=folder)
    assert (listed.session_id, listed.custom_title, listed.tag) == (session, "A title", "tagged")
    assert listed.first_prompt == "Remember AURORA-42"
    told = await get_session_messages_from_store(store_, session, directory=folder)
    assert [message.type for message in told] == ["user", "assistant"]
    forked = await fork_session_via_store(store_, session, directory=folder)
    copy = await get_session_messages_from_store(store_, forked.session_id, directory=folder)
    assert [message.message for message in copy] == [message.message for message in told]
    await delete_session_via_store(store_, session, directory=folder)
    assert [it.session_id for it in await list_sessions_from_store(store_, directory=folder)] == [
        forked.session_id
    ]
