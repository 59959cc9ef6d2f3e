"""Server-sent events: one long answer, read as it comes. Blocking; sends nothing twice.

Goes over the standard library whichever HTTP core the client uses: a stream is read line by line,
and waits far longer than it works.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections import deque
from typing import NamedTuple

from threadkeep.http.retry import error_of
from threadkeep.http.settings import Settings
from threadkeep.http.stdlib_transport import StdlibTransport
from threadkeep.http.transport import Answer, SendFailedError

SILENCE_SECONDS_MAX = 45.0
"""The server shows every 15 seconds that it lives."""
CHUNK_BYTES = 64 << 10
EVENT_BYTES_MAX = 1 << 20


class Event(NamedTuple):
    """One event. `name` and `data` are empty where only the `id` moves on."""

    id: str
    name: str
    data: str


class EventStream:
    """An open stream. Usable from one thread at a time; `close` may come from any."""

    def __init__(self, settings: Settings, path: str, last_event_id: str | None) -> None:
        """Connect. Raises the typed error of an answer that is no stream, or SendFailedError."""
        self._transport = StdlibTransport(settings)
        headers = {"accept": "text/event-stream", "cache-control": "no-store"}
        if last_event_id:
            headers["last-event-id"] = last_event_id
        self._connection, self._response, self._sock = self._transport.open(path, headers)
        self._unread = b""
        self._events: deque[Event] = deque()
        if self._response.status != 200:
            raise error_of(self._refusal(), settings.url, 0.0)
        self._sock.settimeout(SILENCE_SECONDS_MAX)

    def next(self) -> Event | None:
        """The next event; None when the server has ended the stream. Raises SendFailedError."""
        while not self._events:
            try:
                chunk = self._response.read1(CHUNK_BYTES)
            # A stream that another thread closed has no file any more.
            except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
                raise SendFailedError(f"{type(error).__name__}: {error}") from error
            if not chunk:
                return None
            *whole, self._unread = (self._unread + chunk).split(b"\n\n")
            if len(self._unread) > EVENT_BYTES_MAX:
                raise SendFailedError("an event does not end")
            self._events.extend(event_of(it.decode("utf-8", "replace")) for it in whole)
        return self._events.popleft()

    def close(self) -> None:
        """Close the connection; a reader that waits is woken. Repeatable."""
        with contextlib.suppress(OSError):  # The other side was faster, or it is closed already.
            self._sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._transport.close()

    def _refusal(self) -> Answer:
        try:
            body = self._response.read()
        except (OSError, http.client.HTTPException):
            body = b""
        self.close()
        header = self._response.getheader
        kind, retry_after = header("content-type") or "", header("retry-after")
        return Answer(self._response.status, kind, retry_after, body)


def event_of(text: str) -> Event:
    """The event of its lines. Comments, and fields that are not known, are left out."""
    fields = {"id": "", "event": "", "data": ""}
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        if name in fields:
            fields[name] = value.removeprefix(" ")
    return Event(fields["id"], fields["event"], fields["data"])
