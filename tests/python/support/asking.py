"""A client of the hostile suite: a token, an address of this machine, and requests that take every answer as it comes."""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from support.http import JSON
from support.overtaking import Requests, now

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
# After every answer, so that the clients of the suite leave the processors to the server.
PAUSE_SECONDS = 0.05
# So that what a client does not read stays with the server.
UNREAD_BYTES_MAX = 4_096


@dataclass(frozen=True)
class Reply:
    """`closed` is a connection that ended without an answer."""

    status: str
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """Goes to 127.0.0.1 alone. The addresses that it comes from are this machine's, too."""

    url: str
    token: str
    subject: str
    address: str = "127.0.0.1"
    outcomes: Counter[str] = field(default_factory=Counter)
    requests: Requests = field(default_factory=Requests)
    # Set when everything is there that the attack needs.
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def connect(self, unread_bytes_max: int | None = None) -> Streams:
        parts = urlsplit(self.url)
        assert parts.hostname == "127.0.0.1"
        made = socket.socket()
        made.setblocking(False)
        if unread_bytes_max is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, unread_bytes_max)
        try:
            made.bind((self.address, 0))
            await asyncio.get_running_loop().sock_connect(made, (parts.hostname, parts.port))
        except BaseException:
            made.close()
            raise
        self.outcomes["connected"] += 1
        # The reader takes no more than this ahead of who asks it.
        limit = unread_bytes_max or 1 << 16
        return await asyncio.open_connection(sock=made, limit=limit)

    def head(self, method: str, path: str, **headers: str) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"host: {urlsplit(self.url).netloc}"]
        if "authorization" not in headers:
            lines.append(f"authorization: Bearer {self.token}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        """One request on a connection of its own."""
        headers = {"content_type": JSON, "connection": "close"} | headers
        head = self.head(method, path, content_length=str(len(body)), **headers)
        try:
            reader, writer = await self.connect()
        except OSError:
            return self._noted(Reply("closed", b""))
        sent = now()
        try:
            return self._noted(await _exchange(reader, writer, head, body))
        finally:
            self.requests.note(sent)
            writer.close()

    async def post(self, path: str, body: Any, **headers: str) -> Reply:
        return await self.ask("POST", path, json.dumps(body).encode(), **headers)

    async def must(self, method: str, path: str, body: Any, **headers: str) -> Reply:
        """What an attack needs before it can begin. Under other attacks it may have to be asked for again."""
        packed = body if isinstance(body, bytes) else json.dumps(body).encode()
        while True:
            reply = await self.ask(method, path, packed, **headers)
            if reply.status.startswith("2"):
                return reply
            if reply.status[:3] not in ("429", "503", "clo"):
                raise RuntimeError(f"{method} {path}: {reply.status} {reply.body[:500]!r}")
            await asyncio.sleep(0.5)

    def _noted(self, reply: Reply) -> Reply:
        self.outcomes[reply.status] += 1
        return reply

    async def for_ever(self, count: int, one: Callable[[], Awaitable[object]]) -> None:
        """So many at one time, each again as soon as it ended."""

        self.begun.set()

        async def again() -> None:
            while True:
                try:
                    await one()
                except (OSError, EOFError):
                    self.outcomes["closed"] += 1
                await asyncio.sleep(PAUSE_SECONDS)

        await asyncio.gather(*[again() for _ in range(count)])


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes, body: bytes
) -> Reply:
    sending = asyncio.create_task(_send(writer, head + body))
    try:
        answered = await reader.readuntil(b"\r\n\r\n")
        content = await reader.read()
    except (OSError, EOFError):
        return Reply("closed", b"")
    finally:
        sending.cancel()
    status = answered.split()[1].decode()
    if b"application/problem+json" in answered.lower():
        status += f" {json.loads(content)['code']}"
    return Reply(status, content)


async def _send(writer: asyncio.StreamWriter, request: bytes) -> None:
    try:
        writer.write(request)
        await writer.drain()
    except OSError:
        # What is not read any more cannot be sent; the answer is there all the same.
        pass
