"""Clients that hold what a server has little of: connections, memory, streams. Each comes again when it is cut off."""

import asyncio
import os
from collections.abc import Awaitable, Callable

import msgpack  # type: ignore[import-untyped]

from support.asking import UNREAD_BYTES_MAX, Client
from support.http import JSON, MSGPACK
from support.native import checkpoint

MIB = 1 << 20
DRIP_SECONDS = 1.0
# How long a client keeps an answer that it does not read before it asks for another.
HELD_SECONDS = 20.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
BYTES = "application/octet-stream"


async def _drip(it: Client, head: bytes, piece: bytes) -> None:
    """Sends a head, then a piece a second until the server ends it."""
    reader, writer = await it.connect()
    end = asyncio.create_task(reader.read())
    try:
        writer.write(head)
        while not end.done():
            writer.write(piece)
            await writer.drain()
            await asyncio.wait([end], timeout=DRIP_SECONDS)
        it.outcomes[_status(end.result())] += 1
    finally:
        end.cancel()
        writer.close()


def _status(answer: bytes) -> str:
    return answer.split()[1].decode() if answer.startswith(b"HTTP/1.1 ") else "closed"


async def _hold(it: Client, begun: bytes) -> None:
    """Sends what it begins with, and waits until the server ends it."""
    reader, writer = await it.connect()
    try:
        writer.write(begun)
        it.outcomes[_status(await reader.read())] += 1
    finally:
        writer.close()


async def _read_slowly(it: Client, head: bytes) -> None:
    """Asks, and takes a byte a second for as long as it is let."""
    reader, writer = await it.connect(UNREAD_BYTES_MAX)
    try:
        writer.write(head)
        deadline = asyncio.get_running_loop().time() + HELD_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            if not await reader.read(1):
                break
            await asyncio.sleep(DRIP_SECONDS)
    finally:
        writer.transport.abort()


async def idle_parts(it: Client) -> None:
    """Parts of an upload that come one byte a second."""
    place = {"namespace": [it.subject, "uploads"], "path": "/large"}
    begun = (await it.must("POST", "/v1/files/uploads", place)).json()["upload_id"]
    part = iter(range(1 << 62))

    async def one() -> None:
        path = f"/v1/files/uploads/{begun}/parts/{next(part) % 9_999 + 1}"
        await _drip(it, it.head("PUT", path, content_type=BYTES, content_length="1000000"), b"x")

    await it.for_ever(64, one)


async def slow_downloads(it: Client) -> None:
    """A large file by its signed address, without any key, a byte a second."""
    place = f"/v1/files/content?ns={it.subject}&ns=workspace&path=/film"
    await it.must("PUT", place, os.urandom(MIB) * 12, content_type=BYTES)
    address = (await it.must("GET", "/api/storage/url?path=/film", b"")).json()["url"]
    head = it.head("GET", address, authorization="none").replace(b"authorization: none\r\n", b"")
    await it.for_ever(64, lambda: _read_slowly(it, head))


async def unread_answers(it: Client) -> None:
    """Answers of many megabytes that nobody takes."""
    thread = f"{it.subject}:unread"
    ops = [checkpoint("1", {"messages": os.urandom(8 * MIB)})]
    body = msgpack.packb({"thread_id": thread, "ops": ops})
    await it.must("POST", "/v1/checkpoints/commit", body, content_type=MSGPACK)
    question = msgpack.packb({"thread_id": thread})
    head = it.head(
        "POST",
        "/v1/checkpoints/get",
        content_type=MSGPACK,
        accept=MSGPACK,
        content_length=str(len(question)),
    )
    await it.for_ever(40, lambda: _read_slowly(it, head + question))


async def connections(it: Client) -> None:
    """Connections that say nothing, that never end their first line, and of HTTP/2 that ask for nothing."""
    kinds: list[Callable[[], Awaitable[None]]] = [
        lambda: _hold(it, b""),
        lambda: _hold(it, PREFACE + SETTINGS),
        lambda: _hold(
            it, it.head("POST", "/v1/threads/get", content_type=JSON, content_length="9")
        ),
        lambda: _drip(it, b"GET /v1/whoami HTTP/1.1\r\n", b"x-more: 1\r\n"),
    ]
    await asyncio.gather(*[it.for_ever(250, kind) for kind in kinds])


async def followers(it: Client) -> None:
    """Followers of a feed in which nothing happens."""
    head = it.head("GET", f"/v1/store/changes?ns={it.subject}", accept="text/event-stream")
    await it.for_ever(120, lambda: _hold(it, head))
