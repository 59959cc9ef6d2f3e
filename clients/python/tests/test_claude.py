"""The session store of the Claude Agent SDK: its published contracts, and what they leave open."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk.testing import run_session_store_conformance

from fake_server import FakeServer, Fault
from fake_sessions import FakeSessions
from threadkeep import claude
from threadkeep.claude import ThreadkeepSessionStore
from threadkeep.errors import NotFoundError, UnavailableError, VersionConflictError

KEY: Any = {"project_key": "-tmp-proj", "session_id": "s1"}
SUB: Any = {**KEY, "subpath": "subagents/agent-1"}


@pytest.fixture
def store(server: FakeServer, transport: str) -> ThreadkeepSessionStore:
    return ThreadkeepSessionStore(server.url, transport=transport)  # type: ignore[arg-type]


async def test_all_contracts_hold(server: FakeServer, transport: str) -> None:
    made = itertools.count()

    def make() -> Any:
        # The same keys are used for every contract.
        next(made)
        server.store.sessions = FakeSessions()
        return ThreadkeepSessionStore(server.url, transport=transport)  # type: ignore[arg-type]

    await run_session_store_conformance(make)
    assert next(made) > 14


async def test_an_entry_with_an_id_is_stored_once(store: ThreadkeepSessionStore) -> None:
    entries: Any = [{"type": "a", "uuid": "b", "n": 1}, {"type": "b"}]
    await store.append(KEY, entries)
    await store.append(KEY, entries)
    assert await store.load(KEY) == [*entries, {"type": "b"}]


async def test_nothing_appended_leaves_nothing(
    store: ThreadkeepSessionStore, server: FakeServer
) -> None:
    await store.append(KEY, [])
    assert await store.load(KEY) is None
    assert not server.requests("/append")


async def test_a_session_of_subagents_only_is_not_listed(store: ThreadkeepSessionStore) -> None:
    await store.append(SUB, [{"type": "x"}])
    assert await store.list_sessions("-tmp-proj") == []
    assert await store.list_session_summaries("-tmp-proj") == []
    assert await store.list_subkeys(KEY) == ["subagents/agent-1"]


async def test_an_append_is_one_request_when_the_summary_is_known(
    store: ThreadkeepSessionStore, server: FakeServer
) -> None:
    for n in range(5):
        await store.append(KEY, [{"type": "x", "customTitle": f"t{n}"}])
    assert [len(server.requests(f"/{name}")) for name in ("documents/get", "append")] == [1, 5]
    (summary,) = await store.list_session_summaries("-tmp-proj")
    assert summary["data"]["custom_title"] == "t4"


async def test_writers_of_one_session_lose_no_entry_and_no_field(server: FakeServer) -> None:
    stores = [ThreadkeepSessionStore(server.url) for _ in range(4)]

    async def write(number: int, n: int) -> None:
        entry: Any = {"type": "x", "uuid": f"{number}-{n}"}
        if number == 0 and n == 0:
            entry |= {"customTitle": "title"}
        if number == 1 and n == 0:
            entry |= {"type": "tag", "tag": "tag"}
        await stores[number].append(KEY, [entry])

    # In turns: from the second round on each knows a summary that the others have replaced.
    for n, number in itertools.product(range(2), range(4)):
        await write(number, n)
    assert len(server.requests("/append")) > 8, "no conflict: nothing was shown"

    async def write_more(number: int) -> None:
        for n in range(2, 5):
            await write(number, n)

    await asyncio.gather(*map(write_more, range(4)))
    found = await stores[0].load(KEY)
    assert found is not None
    assert len(found) == 20
    (summary,) = await stores[0].list_session_summaries("-tmp-proj")
    assert (summary["data"]["custom_title"], summary["data"]["tag"]) == ("title", "tag")


async def test_a_summary_that_never_fits_is_given_up(
    store: ThreadkeepSessionStore, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude, "FOLDS_MAX", 3)
    server.fault_path = "/append"
    server.faults = [Fault(status=409, code="version_conflict")] * 3
    with pytest.raises(VersionConflictError):
        await store.append(KEY, [{"type": "x"}])
    assert len(server.requests("/append")) == 3


async def test_a_lost_reply_appends_once(store: ThreadkeepSessionStore, server: FakeServer) -> None:
    server.fault_path = "/append"
    server.faults = [Fault(drop=True, apply=True)]
    await store.append(KEY, [{"type": "x"}])
    assert await store.load(KEY) == [{"type": "x"}]


async def test_large_batches_travel_in_parts(
    store: ThreadkeepSessionStore, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude, "APPEND_BYTES_MAX", 1_000)
    monkeypatch.setattr(claude, "APPEND_ENTRIES_MAX", 4)
    entries: Any = [
        {"type": "x", "uuid": str(n), "text": "y" * (5_000 if n == 5 else 1)} for n in range(9)
    ]
    await store.append(KEY, entries)
    assert [len(seen.body["entries"]) for seen in server.requests("/append")] == [4, 1, 1, 3]
    assert await store.load(KEY) == entries


async def test_entries_are_exact(store: ThreadkeepSessionStore) -> None:
    entry: Any = {"type": "x", "text": "\x00 \ud83d \U0001f600", "n": 10**25, "f": 1.0, "z": None}
    await store.append(KEY, [entry])
    (found,) = await store.load(KEY) or []
    assert json.dumps(found) == json.dumps(entry)


async def test_a_pinned_project_is_found_from_another_directory(server: FakeServer) -> None:
    key: Any = {"project_key": "-tmp-one", "session_id": "s"}
    await ThreadkeepSessionStore(server.url, project_key="agent").append(key, [{"type": "x"}])
    other: Any = {"project_key": "-tmp-two", "session_id": "s"}
    pinned = ThreadkeepSessionStore(server.url, project_key="agent")
    assert await pinned.load(other) == [{"type": "x"}]
    assert [one["session_id"] for one in await pinned.list_sessions("-tmp-two")] == ["s"]
    assert len(await pinned.list_session_summaries("-tmp-two")) == 1
    assert await ThreadkeepSessionStore(server.url).load(other) is None
    await pinned.delete(other)
    assert await pinned.load(key) is None


async def test_what_cannot_be_read_is_not_absent(
    store: ThreadkeepSessionStore, server: FakeServer
) -> None:
    for code in ("not_found", "document_not_found"):
        server.faults = [Fault(status=404, code=code)]
        with pytest.raises(NotFoundError):
            await store.load(KEY)
    server.faults = [Fault(status=503, retry_after="60")]
    with pytest.raises(UnavailableError):
        await store.list_subkeys(KEY)


async def test_a_deleted_session_begins_anew(store: ThreadkeepSessionStore) -> None:
    await store.append(KEY, [{"type": "x", "customTitle": "old"}])
    await store.delete(KEY)
    await store.append(KEY, [{"type": "x"}])
    (summary,) = await store.list_session_summaries("-tmp-proj")
    assert "custom_title" not in summary["data"]


async def test_one_deleted_elsewhere_begins_anew(
    store: ThreadkeepSessionStore, server: FakeServer
) -> None:
    await store.append(KEY, [{"type": "x", "customTitle": "old"}])
    await ThreadkeepSessionStore(server.url).delete(KEY)
    await store.append(KEY, [{"type": "x"}])
    (summary,) = await store.list_session_summaries("-tmp-proj")
    assert "custom_title" not in summary["data"]


async def test_few_summaries_are_remembered(
    store: ThreadkeepSessionStore, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude, "SUMMARIES_KEPT", 2)
    for name in ("a", "b", "c", "c", "a"):
        await store.append({"project_key": "p", "session_id": name}, [{"type": "x"}])
    assert len(server.requests("documents/get")) == 4
