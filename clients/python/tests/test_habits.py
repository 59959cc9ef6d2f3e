"""Tests habits from other savers, stores and clients, and the errors of the first minute."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import pickle
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.graph import START, StateGraph

from fake_server import FakeServer, Fault
from support import checkpoint, config, metadata
from threadkeep import AsyncClient, Client
from threadkeep.computeragent import ThreadkeepSessionStore
from threadkeep.errors import InvalidError, ProtocolError, TransportError, UnauthorizedError
from threadkeep.langgraph import ThreadkeepSaver, ThreadkeepStore

KEY = "tk_secret"
MADE: list[Any] = [ThreadkeepSaver, ThreadkeepStore, Client, AsyncClient, ThreadkeepSessionStore]
if sys.version_info >= (3, 11):
    from threadkeep.deepagents import ThreadkeepBackend

    def backend(*args: Any, **options: Any) -> Any:
        return ThreadkeepBackend(*args, namespace=("ann", "filesystem"), **options)

    MADE.append(backend)


def connection_of(made: Any) -> Any:
    return (
        made._link.connection
        if hasattr(made, "_link")
        else vars(made).get("_connection", vars(made).get("connection"))
    )


@pytest.mark.parametrize("make", MADE)
def test_address_and_key_need_no_names(make: Callable[..., Any]) -> None:
    settings = connection_of(make("http://host:1", KEY)).settings
    assert (settings.url, settings.api_key) == ("http://host:1", KEY)


@pytest.mark.parametrize("make", MADE)
def test_a_repr_has_address_and_core_and_no_key(make: Callable[..., Any]) -> None:
    made = make("http://host:1", KEY, transport="stdlib")
    assert "url='http://host:1', transport='stdlib'" in repr(made)
    assert repr(made).startswith(f"{type(made).__name__}(")
    assert KEY not in f"{made!r} {made!s} {connection_of(made)!r} {connection_of(made).settings!r}"
    shorter = made.with_options(timeout=1.5)
    assert "timeout=1.5" in repr(shorter)
    assert type(shorter) is type(made)
    assert "timeout=30.0" in repr(made)


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgres://u:secret@db/x", "not of a database.*threadkeep serve --database-url"),
        ("postgresql+psycopg://u:secret@db/x", "not of a database.*threadkeep serve"),
        ("sqlite:///x.db", "not of a database.*threadkeep serve"),
        ("localhost:7070", "try http://localhost:7070"),
        ("http://localhost:7070/v1", "leave /v1 out"),
        ("http://localhost:7070/v1/", "leave /v1 out"),
        ("http://u:secret@host", "http"),
        ("", "http"),
    ],
)
def test_a_wrong_address_says_what_to_write(make: Callable[..., Any], url: str, says: str) -> None:
    with pytest.raises(InvalidError, match=says) as raised:
        make(url)
    assert raised.value.field == "url"
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("make", MADE)
def test_an_empty_key_is_not_that_of_the_environment(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THREADKEEP_API_KEY", KEY)
    with pytest.raises(InvalidError, match="THREADKEEP_API_KEY") as raised:
        make("http://host:1", api_key="")
    assert raised.value.field == "api_key"
    assert connection_of(make("http://host:1")).settings.api_key == KEY


def test_https_to_an_http_port_says_so_at_once(server: FakeServer, transport: Any) -> None:
    url = server.url.replace("http://", "https://")
    if transport == "asyncio":
        with pytest.raises(InvalidError, match="transport asyncio speaks http:// alone"):
            ThreadkeepSaver(url, transport=transport)
        transport = "auto"
    begun = time.monotonic()
    with pytest.raises(TransportError, match=f"{url} does not speak TLS: try {server.url}"):
        ThreadkeepSaver(url, transport=transport).get_tuple(config())
    assert time.monotonic() - begun < 5


def test_something_else_at_the_address_is_named(server: FakeServer, transport: Any) -> None:
    server.faults = [Fault(raw=b"<html>", status=404, content_type="text/html")]
    with pytest.raises(ProtocolError, match=server.url):
        ThreadkeepSaver(server.url, transport=transport).setup()


# As with PostgresSaver and PostgresStore


def graph_with(saver: Any, store: Any) -> Any:
    builder = StateGraph(dict)
    builder.add_node("node", lambda state: {"seen": True})
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=saver, store=store)


def test_a_conn_string_and_setup_as_usual(server: FakeServer, transport: Any) -> None:
    with (
        ThreadkeepSaver.from_conn_string(server.url, transport=transport) as saver,
        ThreadkeepStore.from_conn_string(server.url, ttl={"default_ttl": 5}) as store,
    ):
        saver.setup()
        store.setup()
        graph_with(saver, store).invoke({}, {"configurable": {"thread_id": "t"}})
        assert saver.get_tuple(config()) is not None
    assert [type(made).__name__ for made in (saver, store)] == [
        "ThreadkeepSaver",
        "ThreadkeepStore",
    ]
    assert {seen.path for seen in server.seen[:2]} == {"/v1/whoami"}


async def test_a_conn_string_and_setup_as_usual_for_coroutines(
    server: FakeServer, transport: Any
) -> None:
    async with (
        ThreadkeepSaver.from_conn_string(server.url, transport=transport) as saver,
        ThreadkeepStore.from_conn_string(server.url) as store,
    ):
        await saver.asetup()
        await store.asetup()
        # AsyncPostgresSaver's name for it.
        await saver.setup()
        await store.setup()
        await graph_with(saver, store).ainvoke({}, {"configurable": {"thread_id": "t"}})
    assert [seen.path for seen in server.seen[:4]] == ["/v1/whoami"] * 4


@pytest.mark.parametrize("kind", [ThreadkeepSaver, ThreadkeepStore])
async def test_setup_raises_what_is_wrong(kind: Any, server: FakeServer) -> None:
    server.faults = [Fault(status=401, code="unauthorized")] * 2
    with pytest.raises(UnauthorizedError):
        kind(server.url).setup()
    with pytest.raises(UnauthorizedError):
        await kind(server.url).asetup()


# Copies


@pytest.mark.parametrize("make", MADE)
def test_copies_share_connections(make: Callable[..., Any]) -> None:
    made = make("http://host:1", KEY)
    for twin in (copy.copy(made), copy.deepcopy({"deep": made})["deep"]):
        assert type(twin) is type(made)
        assert connection_of(twin)._pool is connection_of(made)._pool


@pytest.mark.parametrize("make", [it for it in MADE if it is not ThreadkeepSaver])
def test_a_pickle_has_the_settings_and_a_key_that_was_given(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pickle.dumps(make("http://host:1", KEY, timeout=7))
    assert connection_of(pickle.loads(data)).settings.api_key == KEY
    monkeypatch.setenv("THREADKEEP_API_KEY", "tk_of_here")
    data = pickle.dumps(make("http://host:1", timeout=7).with_options(timeout=8))
    assert b"tk_of_here" not in data
    monkeypatch.setenv("THREADKEEP_API_KEY", "tk_of_there")
    settings = connection_of(pickle.loads(data)).settings
    assert (settings.url, settings.api_key) == ("http://host:1", "tk_of_there")
    assert settings.timeout == 8


# Settings that cannot be honoured


def test_showing_what_has_expired_is_refused() -> None:
    assert ThreadkeepStore(ttl={"omit_expired": True}).ttl_config == {"omit_expired": True}
    with pytest.raises(InvalidError, match="never shows what has expired") as raised:
        ThreadkeepStore(ttl={"omit_expired": False})
    assert raised.value.field == "ttl.omit_expired"


# Cancelling


@pytest.fixture
def silent() -> Iterator[tuple[str, threading.Event, threading.Event]]:
    """A server that reads and never answers: its address, when a request came, when it left."""
    came, left = threading.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                while connection.recv(65536):
                    came.set()
            left.set()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", came, left
        listener.close()
        thread.join(10)


@pytest.fixture(params=["head", "body"])
def trickling(request: pytest.FixtureRequest) -> Iterator[tuple[str, threading.Event]]:
    """A server that answers byte by byte, without end: its address, when nobody reads any more."""
    left = threading.Event()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n"
    head += b"x-slow: " if request.param == "head" else b"\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(head)
                for _ in range(3_000):
                    connection.sendall(b" ")
                    if left.wait(0.01):
                        return
                return
            left.set()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", left
        listener.close()
        left.set()
        thread.join(10)


def test_an_answer_that_trickles_ends_with_the_time_of_the_call(trickling: Any) -> None:
    url, left = trickling
    client = Client(url, transport="stdlib", timeout=0.3)
    with pytest.raises(TransportError, match=re.escape(url)):
        client.limits()
    assert left.wait(10), "the server does not see that nobody reads"


CALLS: dict[str, Callable[[str], Any]] = {
    "read": lambda url: ThreadkeepSaver(url, transport="stdlib").aget_tuple(config()),
    "commit": lambda url: ThreadkeepSaver(url, transport="stdlib").aput(
        config(), checkpoint("c1", {"a": 1}), metadata(), {"a": 1}
    ),
    "item": lambda url: ThreadkeepStore(url, transport="stdlib").aget(("a",), "k"),
    "client": lambda url: AsyncClient(url, transport="stdlib").list_threads(),
}


@pytest.mark.parametrize("call", CALLS)
async def test_a_cancelled_call_ends_its_request(call: str, silent: Any) -> None:
    url, came, left = silent
    task = asyncio.create_task(CALLS[call](url))
    assert await asyncio.to_thread(came.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(left.wait, 10), "the server does not see that nobody waits"


async def test_a_cancelled_call_leaves_the_others_alone(server: FakeServer, transport: Any) -> None:
    client = AsyncClient(server.url, transport=transport)
    server.faults, server.fault_path = [Fault(seconds=1)], "/v1/limits"
    task = asyncio.create_task(client.limits())
    await asyncio.to_thread(server.wait_for, 1, "/v1/limits")
    other = asyncio.create_task(client.list_threads())
    task.cancel()
    assert (await other).threads == []
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await client.limits() == {"ops": 256}
