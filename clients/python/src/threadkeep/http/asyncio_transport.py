"""The HTTP core for coroutines: sends on their own event loop, without a thread in between.

It speaks plain HTTP without a proxy; everything else goes through another core: blocking calls,
`https://`, proxies, and loops that cannot watch a socket. A connection belongs to no loop: while
nobody uses it, it is a socket that no loop knows of.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import weakref
import zlib
from collections.abc import Callable
from urllib.parse import urlsplit

from threadkeep.http.answers import AnswerReader, BrokenAnswerError
from threadkeep.http.settings import CONNECT_SECONDS_MAX, Settings
from threadkeep.http.stdlib_transport import close_all, detail_of, is_readable, proxy_of
from threadkeep.http.transport import (
    Answer,
    Limits,
    Request,
    SendFailedError,
    Transport,
    headers_of,
    own_headers_of,
)

IDLE_MAX = 64
"""Connections kept alive."""
RECEIVED_AT_ONCE = 256 << 10


def reaches(settings: Settings) -> bool:
    """Whether the server is reached by plain HTTP and without a proxy."""
    parts = urlsplit(settings.url)
    if parts.scheme != "http":
        return False
    return settings.is_loopback or proxy_of(parts.scheme, parts.hostname or "") is None


class AsyncioTransport:
    """See the module. Its idle connections close when nobody refers to it any more."""

    name = "asyncio"

    def __init__(self, settings: Settings, other: Callable[[], Transport]) -> None:
        """`other` makes the core for everything else, when it is needed first."""
        self._settings = settings
        self._make_other = other
        self._other: Transport | None = None
        self._lock = threading.Lock()
        parts = urlsplit(settings.url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._prefix = parts.path
        self._headers = {"host": parts.netloc, **headers_of(settings)}
        if not settings.is_loopback:
            self._headers["accept-encoding"] = "gzip"
        self._head = _lines(self._headers)
        self._idle: list[socket.socket] = []
        weakref.finalize(self, close_all, self._idle)

    def send(self, request: Request, limits: Limits | None = None) -> Answer:
        return self._others().send(request, limits)

    async def asend(self, request: Request, limits: Limits | None = None) -> Answer:
        loop = asyncio.get_running_loop()
        if not _watches_sockets(loop):
            return await self._others().asend(request, limits)
        seconds = self._settings.seconds if limits is None else limits.seconds
        sock = self._take()
        if sock is None:
            sock = await self._connected(loop, min(CONNECT_SECONDS_MAX, seconds))
        exchange = _Exchange(loop, sock, self._bytes_of(request, limits))
        keeps = False
        try:
            reader = await exchange.answered(seconds)
            keeps = reader.leaves_connection and exchange.is_sent
        finally:
            if keeps and len(self._idle) < IDLE_MAX:
                self._idle.append(sock)
            else:
                sock.close()
        return answer_of(reader)

    def close(self) -> None:
        close_all(self._idle)
        with self._lock:
            other, self._other = self._other, None
        if other is not None:
            other.close()

    def _others(self) -> Transport:
        other = self._other
        if other is None:
            with self._lock:
                other = self._other = self._other or self._make_other()
        return other

    def _take(self) -> socket.socket | None:
        while self._idle:
            try:
                sock = self._idle.pop()
            except IndexError:  # Another thread was faster.
                break
            if not is_readable(sock):
                return sock
            sock.close()
        return None

    async def _connected(self, loop: asyncio.AbstractEventLoop, seconds: float) -> socket.socket:
        try:
            return await asyncio.wait_for(self._connect(loop), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            raise SendFailedError("the connection timed out", "unreached") from None

    async def _connect(self, loop: asyncio.AbstractEventLoop) -> socket.socket:
        """To the first address of the host that takes it."""
        failure: OSError | None = None
        try:
            found = await loop.getaddrinfo(*self._address, type=socket.SOCK_STREAM)
        except OSError as error:
            raise SendFailedError(detail_of(error), "unreached") from error
        for family, kind, protocol, _, address in found:
            sock = socket.socket(family, kind, protocol)
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await loop.sock_connect(sock, address)
            except OSError as error:
                sock.close()
                failure = error
            except BaseException:
                sock.close()
                raise
            else:
                return sock
        assert failure is not None, "a look-up that succeeds finds an address"
        raise SendFailedError(detail_of(failure), "unreached") from failure

    def _bytes_of(self, request: Request, limits: Limits | None) -> bytes:
        own = own_headers_of(request, limits)
        head = self._head if not own else _lines({**self._headers, **own})
        first = f"{request.method} {self._prefix}{request.path} HTTP/1.1\r\n".encode()
        if request.body is None:
            return b"%s%s\r\n" % (first, head)
        return b"%s%scontent-length: %d\r\n\r\n%s" % (first, head, len(request.body), request.body)


class _Exchange:
    """One request on a connection, and its answer. The loop watches the socket meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, data: bytes) -> None:
        self._loop = loop
        self._sock = sock
        self._unsent = memoryview(data)
        self._reader = AnswerReader()
        self._done: asyncio.Future[None] = loop.create_future()
        self._broken: OSError | None = None

    @property
    def is_sent(self) -> bool:
        """The whole request left: a server may refuse it before it ends."""
        return not self._unsent

    async def answered(self, seconds: float) -> AnswerReader:
        """Raises SendFailedError."""
        timer = None if seconds == math.inf else self._loop.call_later(seconds, self._late)
        self._write()
        is_writing = not self.is_sent and self._broken is None
        self._loop.add_reader(self._sock, self._read)
        try:
            if is_writing:
                self._loop.add_writer(self._sock, self._write_on)
            await self._done
        finally:
            self._loop.remove_reader(self._sock)
            if is_writing:
                self._loop.remove_writer(self._sock)
            if timer is not None:
                timer.cancel()
        return self._reader

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            # The answer may be there all the same.
            self._broken = error

    def _write_on(self) -> None:
        self._write()
        if self.is_sent or self._broken is not None:
            self._loop.remove_writer(self._sock)

    def _read(self) -> None:
        try:
            data = self._sock.recv(RECEIVED_AT_ONCE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._fail(SendFailedError(detail_of(self._broken or error)))
            return
        try:
            if data:
                self._reader.feed(data)
            else:
                self._reader.end()
        except BrokenAnswerError as error:
            self._fail(SendFailedError(detail_of(self._broken) if self._broken else str(error)))
            return
        if self._reader.is_whole and not self._done.done():
            self._done.set_result(None)

    def _late(self) -> None:
        self._fail(SendFailedError("timed out", "silent"))

    def _fail(self, error: SendFailedError) -> None:
        if not self._done.done():
            self._done.set_exception(error)


def answer_of(reader: AnswerReader) -> Answer:
    """The answer, decompressed. Raises SendFailedError."""
    headers, body = reader.headers, reader.body
    if (coding := headers.get(b"content-encoding")) is not None:
        if coding.lower() != b"gzip":
            raise SendFailedError("the answer has a coding that was not asked for")
        try:
            body = zlib.decompress(body, wbits=31)
        except zlib.error as error:
            raise SendFailedError(f"the answer cannot be decompressed: {error}") from error
    retry_after = headers.get(b"retry-after")
    return Answer(
        reader.status,
        headers.get(b"content-type", b"").decode("latin-1"),
        None if retry_after is None else retry_after.decode("latin-1"),
        body,
    )


def _lines(headers: dict[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")


def _watches_sockets(loop: asyncio.AbstractEventLoop) -> bool:
    """The loop of Windows that starts processes does not."""
    proactor = getattr(asyncio, "ProactorEventLoop", None)
    return proactor is None or not isinstance(loop, proactor)
