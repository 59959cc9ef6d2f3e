"""The change feed through the client: typed, from where it was left, on two servers, bounded."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from itertools import islice
from urllib.parse import urlsplit

import pytest
from langgraph.store.base import PutOp
from threadkeep import Client
from threadkeep.errors import PositionGoneError, TokenRevokedError, TransportError
from threadkeep.langgraph import ItemChange, ThreadkeepStore

from support import settings
from support.server import Server
from support.waiting import wait_until

NAMESPACE = ("users", "ann")
BATCH_OPS = 500


def test_changes_are_told_in_order_and_without_values(store: ThreadkeepStore) -> None:
    store.put(NAMESPACE, "before", {"a": 1})
    with store.changes(("users",)) as changes:
        version = store.put(NAMESPACE, "k\x00\ud800", {"secret": 1}, if_version=0)
        store.put(("elsewhere",), "k", {})
        store.delete(NAMESPACE, "before")
        first, second = islice(changes, 2)
    assert first == ItemChange(NAMESPACE, "k\x00\ud800", version, "put", first.position)
    assert (second.key, second.kind) == ("before", "delete")
    assert list(changes) == []
    with store.changes(NAMESPACE, exact=True, after=first.position) as again:
        assert next(again) == second


async def test_the_same_for_coroutines_that_lose_their_patience(store: ThreadkeepStore) -> None:
    async with store.achanges(("users",)) as changes:
        # Who stops waiting loses nothing.
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(changes), 0.05)
        for at in range(5):
            await store.aput(NAMESPACE, str(at), {})
        seen = [await asyncio.wait_for(anext(changes), settings.PATIENCE_SECONDS) for _ in range(5)]
        assert [it.key for it in seen] == ["0", "1", "2", "3", "4"]
        waiting = asyncio.create_task(anext(changes, None))
        await asyncio.sleep(0.1)
        changes.close()
        assert await asyncio.wait_for(waiting, settings.PATIENCE_SECONDS) is None


def test_a_follower_survives_the_restart_of_its_server(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    with ThreadkeepStore(server.url, api_key=server.new_key()) as store:
        changes = store.changes(("n",))
        seen: list[str] = []

        def follow() -> None:
            for it in islice(changes, 4):
                seen.append(it.key)

        follower = threading.Thread(target=follow)
        with changes:
            follower.start()
            store.put(("n",), "a", {})
            wait_until(lambda: seen, "the first change")
            begun = time.monotonic()
            server.stop()
            # A follower does not hold up the stop.
            assert time.monotonic() - begun < 10
            server.start()
            for key in "bcd":
                store.put(("n",), key, {})
            follower.join(settings.PATIENCE_SECONDS)
        assert seen == ["a", "b", "c", "d"]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_follower_of_one_server_sees_what_another_one_writes(
    start_server: Callable[..., Server],
) -> None:
    """An embedded database has one server."""
    servers = [start_server(), start_server()]
    key = servers[0].new_key()
    wait_until(lambda: servers[1].get("/v1/whoami", key).status == 200, "the key to be known")
    stores = [ThreadkeepStore(it.url, api_key=key) for it in servers]
    with stores[0].changes() as here, stores[1].changes() as there:
        for at in range(20):
            stores[at % 2].put(("n",), str(at), {})
        for changes in (here, there):
            assert [it.key for it in islice(changes, 20)] == [str(at) for at in range(20)]
    for it in stores:
        it.close()


def test_a_revoked_token_ends_the_stream(server: Server, api_key: str) -> None:
    with Client(server.url, api_key=api_key) as client:
        token = client.tokens.mint(subject="ann")
        with ThreadkeepStore(server.url, api_key=token.token) as store, store.changes() as changes:
            client.tokens.revoke(token=token.token)
            begun = time.monotonic()
            with pytest.raises(TokenRevokedError):
                next(changes)
            assert time.monotonic() - begun < 5


def test_positions_that_do_not_lead_on(
    store: ThreadkeepStore, other_store: ThreadkeepStore
) -> None:
    with other_store.changes() as elsewhere:
        position = elsewhere.position
    with pytest.raises(PositionGoneError):
        next(store.changes(after=position))
    nowhere = ThreadkeepStore("http://127.0.0.1:9", api_key="tk_x")
    with pytest.raises(TransportError):
        next(nowhere.changes(patience_seconds=0.5))


def test_readers_that_stall_do_not_grow_the_server(start_server: Callable[..., Server]) -> None:
    """Twenty that take nothing, and far more changes than their queues may hold."""
    server = start_server()
    key = server.new_key()
    parts = urlsplit(server.url)
    ops = [PutOp(("n" * 300, "m" * 300), f"{at}{'x' * 900}", {}) for at in range(BATCH_OPS)]
    with ThreadkeepStore(server.url, api_key=key) as store:
        # The server's memory for writes grows once, and not again.
        for _ in range(3):
            store.batch(ops)
        stalled = [stalled_follower(parts.hostname, parts.port, key) for _ in range(20)]
        with store.changes() as changes:
            store.put(("n",), "live", {})
            assert next(changes).key == "live"
        # The queues, and what is on its way to the sockets, are full after few.
        for _ in range(10):
            store.batch(ops)
        before = server.resident_bytes()
        for _ in range(settings.STALL_CHANGES // BATCH_OPS):
            store.batch(ops)
        grown = server.resident_bytes() - before
        assert grown < settings.STALL_GROWTH_BYTES_MAX, f"{grown >> 20} MiB"
        # What was left out is told.
        text = stalled[0].makefile("rb")
        assert any(line == b"event: resync\n" for line in text)
        for sock in stalled:
            sock.close()


def stalled_follower(host: str | None, port: int | None, key: str) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect((host, port))
    sock.settimeout(settings.PATIENCE_SECONDS)
    head = f"GET /v1/store/changes HTTP/1.1\r\nhost: {host}\r\nx-api-key: {key}\r\n\r\n"
    sock.sendall(head.encode())
    return sock
