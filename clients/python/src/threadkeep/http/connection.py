"""One call to the server: send, retry, check the answer, decode it. Blocking and not.

Shared by all copies of a saver; usable from many threads and event loops, and after a fork.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from typing import Any

import ormsgpack

from threadkeep.errors import ProtocolError
from threadkeep.http.retry import Attempts
from threadkeep.http.settings import Settings
from threadkeep.http.transport import Answer, Request, SendFailedError, Transport, open_transport

_inherited: list[Transport] = []
"""Transports of a parent process. Kept, so that no destructor touches what the parent uses."""


class Connection:
    """Calls of one client. Nothing is opened before the first one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._transport: Transport | None = None
        self._process_id = os.getpid()
        self._lock = threading.Lock()

    @property
    def transport_name(self) -> str:
        """The HTTP core in use, opening it if need be: "pyreqwest" or "stdlib"."""
        return self._open().name

    def call(self, request: Request, *, is_write: bool) -> dict[str, Any]:
        """The answer's map. Raises a typed error; never returns a failure."""
        return decoded(self.probe(request, is_write=is_write))

    async def acall(self, request: Request, *, is_write: bool) -> dict[str, Any]:
        """The same without blocking the running event loop."""
        return decoded(await self.aprobe(request, is_write=is_write))

    def probe(self, request: Request, *, is_write: bool = False) -> Answer:
        """Send until the answer is a success, whatever it holds."""
        attempts = Attempts(self.settings, is_write=is_write)
        while True:
            begun = time.monotonic()
            try:
                outcome: Answer | SendFailedError = self._open().send(request)
            except SendFailedError as error:
                outcome = error
            if isinstance(outcome, Answer) and 200 <= outcome.status < 300:
                return outcome
            time.sleep(attempts.seconds_until_next(outcome, time.monotonic() - begun))

    async def aprobe(self, request: Request, *, is_write: bool = False) -> Answer:
        """The same without blocking the running event loop."""
        attempts = Attempts(self.settings, is_write=is_write)
        while True:
            begun = time.monotonic()
            try:
                outcome: Answer | SendFailedError = await self._open().asend(request)
            except SendFailedError as error:
                outcome = error
            if isinstance(outcome, Answer) and 200 <= outcome.status < 300:
                return outcome
            await asyncio.sleep(attempts.seconds_until_next(outcome, time.monotonic() - begun))

    def close(self) -> None:
        """Close idle connections. Repeatable; a later call opens new ones."""
        if self._process_id != os.getpid():
            return
        with self._lock:
            transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()

    def forget_parent(self) -> None:
        """In a forked child: let go of the parent's sockets and locks without touching them."""
        if self._transport is not None:
            _inherited.append(self._transport)
        self._transport = None
        self._process_id = os.getpid()
        self._lock = threading.Lock()

    def _open(self) -> Transport:
        if self._process_id != os.getpid():
            self.forget_parent()
        transport = self._transport
        if transport is None:
            with self._lock:
                transport = self._transport
                if transport is None:
                    transport = self._transport = open_transport(self.settings)
        return transport


def decoded(answer: Answer) -> dict[str, Any]:
    """The body of a successful answer, which is always a map."""
    media_type = answer.content_type.split(";")[0].strip().lower()
    try:
        if media_type == "application/msgpack":
            body = ormsgpack.unpackb(answer.body)
        elif media_type == "application/json":
            body = json.loads(bytes(answer.body))
        else:
            raise ProtocolError(
                f"the answer is {media_type or 'of no media type'}, not MessagePack or JSON",
                status=answer.status,
            )
    except ValueError as error:
        if isinstance(error, ProtocolError):
            raise
        raise ProtocolError(
            f"the answer cannot be decoded: {error}", status=answer.status
        ) from error
    if not isinstance(body, dict):
        raise ProtocolError("the answer is not a map", status=answer.status)
    return body
