"""The HTTP core without threads: coroutines send on their own event loop, blocking calls in theirs.

It speaks plain HTTP without a proxy; everything else goes through another core: `https://`,
proxies, and loops that cannot watch a socket. A connection belongs to no loop and no thread: while
nobody uses it, it is a socket that does not block and that no loop knows of.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
import weakref
import zlib
from collections.abc import Callable
from urllib.parse import urlsplit

from threadkeep.http.answers import AnswerReader, BrokenAnswerError
from threadkeep.http.settings import CONNECT_SECONDS_MAX, Settings
from threadkeep.http.stdlib_transport import (
    close_all,
    detail_of,
    is_readable,
    is_ready,
    proxy_of,
)
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
        seconds = self._settings.seconds if limits is None else limits.seconds
        sock = self._take() or _connected(self._address, min(CONNECT_SECONDS_MAX, seconds))
        exchange = _Exchange(sock, self._bytes_of(request, limits))
        reader: AnswerReader | None = None
        try:
            reader = exchange.answered(seconds)
        finally:
            self._give_back(sock, exchange, reader)
        return answer_of(reader)

    async def asend(self, request: Request, limits: Limits | None = None) -> Answer:
        loop = asyncio.get_running_loop()
        if not _watches_sockets(loop):
            return await self._others().asend(request, limits)
        seconds = self._settings.seconds if limits is None else limits.seconds
        sock = self._take()
        if sock is None:
            sock = await self._connected(loop, min(CONNECT_SECONDS_MAX, seconds))
        exchange = _LoopExchange(loop, sock, self._bytes_of(request, limits))
        reader: AnswerReader | None = None
        try:
            reader = await exchange.aanswered(seconds)
        finally:
            self._give_back(sock, exchange, reader)
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

    def _give_back(
        self, sock: socket.socket, exchange: _Exchange, reader: AnswerReader | None
    ) -> None:
        """`reader` has the whole answer; None: there is none."""
        keeps = reader is not None and reader.leaves_connection and exchange.is_sent
        if keeps and len(self._idle) < IDLE_MAX:
            self._idle.append(sock)
        else:
            sock.close()

    async def _connected(self, loop: asyncio.AbstractEventLoop, seconds: float) -> socket.socket:
        try:
            return await asyncio.wait_for(self._connect(loop), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            raise _not_connected() from None

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
    """One request on a connection that does not block, and its answer."""

    def __init__(self, sock: socket.socket, data: bytes) -> None:
        self._sock = sock
        self._unsent = memoryview(data)
        self._reader = AnswerReader()
        self._broken: OSError | None = None

    @property
    def is_sent(self) -> bool:
        """The whole request left: a server may refuse it before it ends."""
        return not self._unsent

    @property
    def _is_writing(self) -> bool:
        return not self.is_sent and self._broken is None

    def answered(self, seconds: float) -> AnswerReader:
        """Waits in this thread. Raises SendFailedError."""
        until = time.monotonic() + seconds
        self._write()
        while not self._reader.is_whole:
            left = until - time.monotonic()
            if left <= 0 or not is_ready(self._sock, left, writes=self._is_writing):
                raise _too_late()
            if self._is_writing:
                self._write()
            self._receive()
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

    def _receive(self) -> None:
        """What is there, if anything is. Raises SendFailedError."""
        try:
            data = self._sock.recv(RECEIVED_AT_ONCE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            raise SendFailedError(detail_of(self._broken or error)) from error
        try:
            if data:
                self._reader.feed(data)
            else:
                self._reader.end()
        except BrokenAnswerError as error:
            detail = detail_of(self._broken) if self._broken else str(error)
            raise SendFailedError(detail) from error


class _LoopExchange(_Exchange):
    """The same for a coroutine. The loop watches the socket meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, data: bytes) -> None:
        super().__init__(sock, data)
        self._loop = loop
        self._done: asyncio.Future[None] = loop.create_future()

    async def aanswered(self, seconds: float) -> AnswerReader:
        """Raises SendFailedError."""
        timer = None if seconds == math.inf else self._loop.call_later(seconds, self._late)
        self._write()
        is_writing = self._is_writing
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

    def _write_on(self) -> None:
        self._write()
        if not self._is_writing:
            self._loop.remove_writer(self._sock)

    def _read(self) -> None:
        try:
            self._receive()
        except SendFailedError as error:
            self._fail(error)
            return
        if self._reader.is_whole and not self._done.done():
            self._done.set_result(None)

    def _late(self) -> None:
        self._fail(_too_late())

    def _fail(self, error: SendFailedError) -> None:
        if not self._done.done():
            self._done.set_exception(error)


def _connected(address: tuple[str, int], seconds: float) -> socket.socket:
    """To the first address of the host that takes it, each within so many seconds."""
    try:
        sock = socket.create_connection(address, None if seconds == math.inf else seconds)
    except TimeoutError:
        raise _not_connected() from None
    except OSError as error:
        raise SendFailedError(detail_of(error), "unreached") from error
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    return sock


def _not_connected() -> SendFailedError:
    return SendFailedError("the connection timed out", "unreached")


def _too_late() -> SendFailedError:
    return SendFailedError("timed out", "silent")


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
