"""`client.sessions`: what is sent, and what the answers become."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from fake_server import FakeServer, Fault
from threadkeep import AsyncClient, Client
from threadkeep.errors import (
    HeadMovedError,
    InvalidError,
    NotFoundError,
    ProtocolError,
    UnserializableError,
    VersionConflictError,
    error_of_problem,
)
from threadkeep.sessions import NewEntry

KIND, KEY = "test", ("a/b", "-s")
Call = Callable[..., Any]


@pytest.fixture(params=["blocking", "async"])
def call(request: pytest.FixtureRequest, server: FakeServer, transport: str) -> Call:
    """Calls a method of `client.sessions`, or its asynchronous twin."""
    blocking = Client(server.url, transport=transport).sessions
    other = AsyncClient(server.url, transport=transport).sessions

    async def made(name: str, *args: Any, **more: Any) -> Any:
        chosen: Any = other if request.param == "async" else blocking
        found = getattr(chosen, name)(*args, **more)
        return await found if inspect.isawaitable(found) else found

    return made


async def test_entries_come_back_in_order_and_exact(call: Call) -> None:
    data = {"text": "nul \x00, lone \ud800, big", "n": 10**30, "f": 1.0, "deep": [None, True]}
    done = await call("append", KIND, KEY, [NewEntry(data, "e1"), NewEntry(["x"])])
    assert (done.first_seq, done.last_seq, done.head, done.appended) == (1, 2, 2, 2)
    log = await call("load", KIND, KEY)
    assert [(one.seq, one.id, one.data) for one in log.entries] == [
        (1, "e1", data),
        (2, None, ["x"]),
    ]
    again = await call("append", KIND, KEY, [NewEntry(data, "e1")])
    assert (again.appended, again.head, again.first_seq) == (0, 2, None)


async def test_a_log_comes_in_pages_and_from_its_end(call: Call) -> None:
    await call("append", KIND, KEY, [NewEntry(n) for n in range(5)], stream="s")
    page = await call("load", KIND, KEY, stream="s")
    assert ([one.data for one in page.entries], page.more, page.head) == ([0, 1, 2], True, 5)
    rest = await call("load", KIND, KEY, stream="s", after_seq=3)
    assert ([one.data for one in rest.entries], rest.more) == ([3, 4], False)
    tail = await call("load", KIND, KEY, stream="s", tail=1)
    assert [one.data for one in tail.entries] == [4]


async def test_what_was_never_written_is_none_and_other_absences_raise(
    call: Call, server: FakeServer
) -> None:
    assert await call("load", KIND, KEY) is None
    assert await call("get_document", KIND, KEY, "d") is None
    assert await call("streams", KIND, KEY) == []
    for name, arguments in (("load", ()), ("get_document", ("d",)), ("streams", ())):
        server.faults = [Fault(status=404, code="not_found")]
        with pytest.raises(NotFoundError):
            await call(name, KIND, KEY, *arguments)


async def test_documents_and_counters(call: Call) -> None:
    put = await call("put_document", KIND, KEY, "notes/a", "ä", if_version=0)
    assert (put.version, put.size) == (1, 2)
    with pytest.raises(VersionConflictError):
        await call("put_document", KIND, KEY, "notes/a", "x", if_version=0)
    assert (await call("append_document", KIND, KEY, "notes/a", "!")).version == 2
    assert (await call("get_document", KIND, KEY, "notes/a")).content == "ä!"
    (listed,) = await call("list_documents", KIND, KEY, name_prefix="notes/")
    assert (listed.name, listed.version) == ("notes/a", 2)
    (found,) = await call("find_documents", KIND, "notes/a", key_prefix=KEY[:1])
    assert (found.key, found.content) == (list(KEY), "ä!")
    await call("delete_document", KIND, KEY, "notes/a")
    assert await call("get_document", KIND, KEY, "notes/a") is None
    assert [await call("add", KIND, KEY, "turns"), await call("add", KIND, KEY, "turns", 2)] == [
        1,
        3,
    ]


async def test_a_document_may_be_any_text(call: Call, server: FakeServer) -> None:
    for content in ("nul \0 🎈", "lone \ud800", '"\ud800'):
        await call("put_document", KIND, KEY, "d", content)
        assert (await call("get_document", KIND, KEY, "d")).content == content
        document = {"name": "d", "content": content[::-1]}
        await call("append", KIND, KEY, [], document=document)
        (found,) = await call("find_documents", KIND, "d")
        assert found.content == content[::-1]
    kinds = [type(seen.body["content"]) for seen in server.requests("documents/put")]
    assert kinds == [str, bytes, bytes]


async def test_sessions_are_listed_and_deleted(call: Call) -> None:
    assert await call("create", KIND, ("p", "0"), user="ann", title="T") is True
    assert await call("create", KIND, ("p", "0")) is False
    for n in range(5):
        await call("append", KIND, ("p", str(n)), [NewEntry(n)])
    await call("append", KIND, ("q", "0"), [NewEntry(0)], stream="sub")
    page = await call("list", KIND, key_prefix=("p",), stream="")
    rest = await call("list", KIND, key_prefix=("p",), stream="", cursor=page.next_cursor)
    assert [one.key[1] for one in page.sessions + rest.sessions] == ["4", "3", "2", "1", "0"]
    await call("delete", KIND, ("p", "4"))
    assert await call("load", KIND, ("p", "4")) is None
    await call("delete", KIND, ("q", "0"), stream="sub")
    assert await call("load", KIND, ("q", "0"), stream="sub") is None


async def test_a_stream_is_compacted_by_whoever_knows_its_head(call: Call) -> None:
    await call("append", KIND, KEY, [NewEntry(n) for n in range(4)])
    with pytest.raises(HeadMovedError):
        await call("append", KIND, KEY, [NewEntry(9)], if_head=3)
    archive, head = await call(
        "compact", KIND, KEY, through_seq=2, expected_head=4, replacement=[NewEntry("short")]
    )
    assert (archive, head) == ("0001", 3)
    old = await call("load", KIND, KEY, stream="archive/0001")
    assert [one.data for one in old.entries] == [0, 1]


async def test_a_lost_reply_appends_once(call: Call, server: FakeServer) -> None:
    server.faults = [Fault(drop=True, apply=True)]
    await call("append", KIND, KEY, [NewEntry("without an id")])
    assert (await call("load", KIND, KEY)).head == 1


@pytest.mark.parametrize("data", [{"at": object()}, float("nan"), {1: {2}}])
async def test_what_is_not_json_is_refused_before_it_is_sent(
    call: Call, server: FakeServer, data: Any
) -> None:
    with pytest.raises(UnserializableError):
        await call("append", KIND, KEY, [NewEntry(data)])
    assert server.seen == []


async def test_a_key_is_a_sequence_of_texts(call: Call) -> None:
    with pytest.raises(InvalidError) as caught:
        await call("load", KIND, "key")
    assert caught.value.field == "key"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("append", ([],)),
        ("load", ()),
        ("streams", ()),
        ("put_document", ("d", "")),
        ("get_document", ("d",)),
        ("list_documents", ()),
        ("add", ("c",)),
    ],
)
async def test_half_an_answer_is_an_error(
    call: Call, server: FakeServer, name: str, arguments: Any
) -> None:
    server.faults = [Fault(raw=b"\x80")]
    with pytest.raises(ProtocolError):
        await call(name, KIND, KEY, *arguments)


def test_a_moved_head_says_where_it_is() -> None:
    error = error_of_problem(409, {"code": "head_moved", "current_head": 7})
    assert isinstance(error, HeadMovedError)
    assert error.current_head == 7
