"""Clients that mean no good: each holds connections open, or sends more than anybody may, and says how it ended."""

import asyncio
import gzip
import json
import resource
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import zstandard

JSON = "application/json"
# What an attacker waits for before it gives up: the test has failed then.
GIVE_UP_SECONDS = 120
DRIP_SECONDS = 1.0


class Target:
    """Where they go, with what they were given."""

    def __init__(self, url: str, key: str):
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self.host, self.port, self.key = parts.hostname, parts.port, key

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port)

    def head(self, method: str, path: str, **headers: str) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"host: {self.host}:{self.port}"]
        lines.append(f"authorization: Bearer {self.key}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def allow_connections(count: int) -> None:
    """Raise this process's own limit of open files, as far as it may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    assert hard == resource.RLIM_INFINITY or hard > count + 200, "ulimit -Hn is too low"


async def answer_of(reader: asyncio.StreamReader) -> str:
    """`status code` of a problem, `status` of what is none, `closed` when nothing came."""
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), GIVE_UP_SECONDS)
    except (asyncio.IncompleteReadError, ConnectionError):
        return "closed"
    status = head.split()[1].decode()
    headers = head.decode().lower()
    if "application/problem+json" not in headers:
        return status
    length = int(headers.split("content-length:")[1].split()[0])
    return f"{status} {json.loads(await reader.readexactly(length))['code']}"


async def many(count: int, one: Callable[[], Awaitable[str]]) -> set[str]:
    """So many at one time, and how they ended."""
    return set(await asyncio.gather(*[one() for _ in range(count)]))


async def idle(target: Target, begun: bytes = b"") -> str:
    """Connects, sends what it has begun with, and waits."""
    reader, writer = await target.connect()
    try:
        writer.write(begun)
        await asyncio.wait_for(reader.read(), GIVE_UP_SECONDS)
    except ConnectionError:
        pass
    finally:
        writer.close()
    return "closed"


async def slowloris(target: Target) -> str:
    """A head that never ends, one header at a time."""
    reader, writer = await target.connect()
    end = asyncio.create_task(answer_of(reader))
    try:
        writer.write(target.head("GET", "/v1/whoami")[:-2])
        while not end.done():
            writer.write(b"x-more: 1\r\n")
            await writer.drain()
            await asyncio.wait([end], timeout=DRIP_SECONDS)
    except ConnectionError:
        pass
    finally:
        writer.close()
    return await end


async def sends(target: Target, head: bytes, body: bytes = b"") -> str:
    """A request whose rest, if it announces one, never comes."""
    reader, writer = await target.connect()
    end = asyncio.create_task(answer_of(reader))
    try:
        writer.write(head + body)
        await writer.drain()
    except ConnectionError:
        # What is not read any more cannot be sent; the answer is there all the same.
        pass
    try:
        return await end
    finally:
        writer.close()


def stops(target: Target, path: str, length: int) -> Callable[[], Awaitable[str]]:
    """A body that is announced, begun, and stops."""
    head = target.head("POST", path, content_type=JSON, content_length=str(length))
    return lambda: sends(target, head, b'{"thread_id":')


def bomb(target: Target, encoding: str, size: int) -> Callable[[], Awaitable[str]]:
    """A small body that stands for a large one."""
    spaces = bytes(size)
    packed = gzip.compress(spaces, 9) if encoding == "gzip" else zstandard.compress(spaces)
    assert len(packed) < size / 500
    head = target.head(
        "POST",
        "/v1/checkpoints/get",
        content_type=JSON,
        content_encoding=encoding,
        content_length=str(len(packed)),
    )
    return lambda: sends(target, head, packed)
