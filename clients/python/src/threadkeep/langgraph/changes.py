"""Following what happens to items: `ThreadkeepStore.changes` and `achanges`.

Both come back by themselves when the stream ends, with the last position, so that nothing is
missed; something may come twice.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Literal
from urllib.parse import urlencode

from threadkeep.errors import (
    PositionGoneError,
    ProtocolError,
    ThreadkeepError,
    TransportError,
    UnavailableError,
    error_of_problem,
)
from threadkeep.http.event_stream import Event, EventStream
from threadkeep.http.settings import Settings
from threadkeep.http.transport import SendFailedError

PATIENCE_SECONDS = 60.0
PAUSE_SECONDS_FIRST = 0.1
PAUSE_SECONDS_MAX = 5.0

_STATUS_OF_END = {
    "unauthorized": 401,
    "key_expired": 401,
    "token_expired": 401,
    "token_revoked": 401,
    "not_granted": 403,
}


@dataclass(frozen=True)
class ItemChange:
    """What happened to an item; its value is not told.

    `version` is the one that a put made, else the one that is gone. With `position` one comes back
    behind this change.
    """

    namespace: tuple[str, ...]
    key: str
    version: int
    kind: Literal["put", "delete", "expire"]
    position: str


@dataclass(frozen=True)
class Resync:
    """Changes were left out: list the items anew. What follows is behind `position`."""

    position: str | None


class Changes:
    """Changes as they become visible, for `for`. Never ends by itself; `close` it, or use `with`.

    `with` opens the stream: what is listed inside it is older than the first change that comes.
    Raises PositionGoneError where `after` does not lead on, the errors of a key that is not valid
    any more, and TransportError after `patience_seconds` without a server.
    """

    def __init__(
        self,
        settings: Settings,
        namespace: Iterable[str],
        *,
        exact: bool,
        after: str | None,
        patience_seconds: float,
    ) -> None:
        query = [("ns", str(label)) for label in namespace]
        self._path = "/v1/store/changes?" + urlencode(query + [("exact", "true")] * bool(exact))
        self._settings = settings
        self._patience_seconds = patience_seconds
        self._stream: EventStream | None = None
        self._is_closed = False
        self._was_open = False
        self.position = after
        """Behind everything that was returned; give it as `after` to go on from here."""

    def __iter__(self) -> Changes:
        return self

    def __next__(self) -> ItemChange | Resync:
        while not self._is_closed:
            if self._stream is None:
                resync = self._open()
                if resync is not None:
                    return resync
            try:
                event = self._stream.next() if self._stream is not None else None
            except SendFailedError:
                event = None
            told = self._told(event)
            if told is not None:
                return told
        raise StopIteration

    def close(self) -> None:
        """End it, also from another thread. Repeatable."""
        self._is_closed = True
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def __enter__(self) -> Changes:
        if self._stream is None:
            self._open()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _told(self, event: Event | None) -> ItemChange | Resync | None:
        if event is None or event.name == "end":
            stream, self._stream = self._stream, None
            if stream is not None:
                stream.close()
            if event is not None:
                self._raise_end(event)
            return None
        if event.id:
            self.position = event.id
        if event.name == "change":
            return _change_of(event)
        return Resync(self.position) if event.name == "resync" else None

    def _raise_end(self, event: Event) -> None:
        try:
            code = json.loads(event.data)["code"]
        except (ValueError, KeyError, TypeError):
            return
        if (status := _STATUS_OF_END.get(code)) is not None:
            detail = "the server has ended the stream of changes"
            raise error_of_problem(status, {"code": code, "detail": detail})

    def _open(self) -> Resync | None:
        """Connect, for as long as patience lasts."""
        deadline = time.monotonic() + self._patience_seconds
        pause = PAUSE_SECONDS_FIRST
        while True:
            try:
                stream = EventStream(self._settings, self._path, self.position)
                # What comes after the first event is not missed, wherever this stream breaks.
                self.position = _first_of(stream)
            except PositionGoneError:
                if not self._was_open:
                    raise
                # This follower was away for too long.
                self.position = None
                return Resync(None)
            except (SendFailedError, OSError) as error:
                failure: ThreadkeepError = TransportError(str(error))
            except UnavailableError as error:
                failure = error
            else:
                self._stream, self._was_open = stream, True
                if self._is_closed:
                    self.close()
                return None
            if self._is_closed or time.monotonic() + pause > deadline:
                raise failure
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(PAUSE_SECONDS_MAX, pause * 2)


class AsyncChanges:
    """The same for `async for` and `async with`. Waits in a thread of its own."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="threadkeep-changes")
        self._next: Future[ItemChange | Resync | None] | None = None

    @property
    def position(self) -> str | None:
        """See `Changes.position`."""
        return self._changes.position

    def __aiter__(self) -> AsyncChanges:
        return self

    async def __anext__(self) -> ItemChange | Resync:
        if self._next is None:
            try:
                self._next = self._thread.submit(next, self._changes, None)
            except RuntimeError as error:
                raise StopAsyncIteration from error  # It was closed: the thread is gone.
        # Who stops waiting, as with a timeout, gets this one when it asks again.
        try:
            told = await asyncio.shield(asyncio.wrap_future(self._next))
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._next = None
            raise
        self._next = None
        if told is None:
            raise StopAsyncIteration
        return told

    def close(self) -> None:
        """End it. Repeatable, does not wait."""
        self._changes.close()
        self._thread.shutdown(wait=False)

    async def aclose(self) -> None:
        """The same."""
        self.close()

    async def __aenter__(self) -> AsyncChanges:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._changes.__enter__)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _first_of(stream: EventStream) -> str:
    """The position where a stream begins."""
    try:
        event = stream.next()
    except SendFailedError:
        stream.close()
        raise
    if event is None or not event.id:
        stream.close()
        raise SendFailedError("the stream ended before it began")
    return event.id


def _change_of(event: Event) -> ItemChange:
    try:
        told = json.loads(event.data)
        return ItemChange(
            namespace=tuple(told["namespace"]),
            key=told["key"],
            version=told["version"],
            kind=told["kind"],
            position=event.id,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError(f"a change cannot be read: {error}") from error
