"""One call to the server: send, retry, check the answer, decode it. Blocking and not.

Shared by all copies of a saver; usable from many threads and event loops, and after a fork.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import threading
import time
from typing import Any

import ormsgpack

from threadkeep.errors import ProtocolError
from threadkeep.http.retry import FIRST_READ_SHARE, Attempts
from threadkeep.http.settings import (
    BYTES_PER_SECOND_MIN,
    Settings,
    TransportName,
    budget_of,
    settings_of,
)
from threadkeep.http.transport import (
    Answer,
    Limits,
    Request,
    SendFailedError,
    Transport,
    open_transport,
)

logger = logging.getLogger("threadkeep")
AWAY_SECONDS = 1.0
"""After so long without a server, one line in the log says what is waited for."""

_inherited: list[Transport] = []
"""Transports of a parent process. Kept, so that no destructor touches what the parent uses."""


class Connection:
    """Calls of one client. Nothing is opened before the first one.

    A deep copy is the same object. A pickle holds the settings: the key only if it was given.
    """

    def __init__(self, settings: Settings, pool: _Pool | None = None) -> None:
        self.settings = settings
        self._pool = pool or _Pool(settings)
        # The limits of a first attempt. A write's are those that the transport was opened with.
        self._read = Limits(settings.seconds * FIRST_READ_SHARE)
        is_own = settings.timeout == self._pool.settings.timeout
        self._write = None if is_own else Limits(settings.seconds, budget_of(settings.seconds))

    def with_timeout(self, timeout: float | None) -> Connection:
        """The same transport for calls that may take so many seconds."""
        return Connection(dataclasses.replace(self.settings, timeout=timeout), self._pool)

    @property
    def transport_name(self) -> str:
        """The HTTP core in use, opening it if need be: "asyncio", "pyreqwest" or "stdlib"."""
        return self._pool.open().name

    @property
    def described(self) -> str:
        """Address, HTTP core and time of a call, never the key. Opens nothing."""
        transport = self._pool.transport
        core = self.settings.transport if transport is None else transport.name
        return f"url={self.settings.url!r}, transport={core!r}, timeout={self.settings.timeout!r}"

    def __repr__(self) -> str:
        return f"Connection({self.described})"

    def call(
        self, request: Request, *, is_write: bool, ends: float | None = None
    ) -> dict[str, Any]:
        """The answer's map. Raises a typed error; never returns a failure.

        `ends` is the time.monotonic() of the deadline; None: that of the settings.
        """
        return decoded(self.probe(request, is_write=is_write, ends=ends))

    async def acall(
        self, request: Request, *, is_write: bool, ends: float | None = None
    ) -> dict[str, Any]:
        """The same without blocking the running event loop."""
        return decoded(await self.aprobe(request, is_write=is_write, ends=ends))

    def probe(
        self, request: Request, *, is_write: bool = False, ends: float | None = None
    ) -> Answer:
        """Send until the answer is a success, whatever it holds."""
        attempts, limits = self._begin(request, is_write, ends)
        while True:
            transport = self._pool.open()
            try:
                outcome: Answer | SendFailedError = transport.send(request, limits)
            except SendFailedError as error:
                outcome = error
            if isinstance(outcome, Answer) and 200 <= outcome.status < 300:
                self._pool.is_away = False
                return outcome
            self._pool.failed(transport, outcome, attempts)
            wait = attempts.seconds_until_next(outcome)
            time.sleep(wait)
            limits = attempts.limits()

    async def aprobe(
        self, request: Request, *, is_write: bool = False, ends: float | None = None
    ) -> Answer:
        """The same without blocking the running event loop."""
        attempts, limits = self._begin(request, is_write, ends)
        while True:
            transport = self._pool.open()
            try:
                outcome: Answer | SendFailedError = await transport.asend(request, limits)
            except SendFailedError as error:
                outcome = error
            if isinstance(outcome, Answer) and 200 <= outcome.status < 300:
                self._pool.is_away = False
                return outcome
            self._pool.failed(transport, outcome, attempts)
            wait = attempts.seconds_until_next(outcome)
            await asyncio.sleep(wait)
            limits = attempts.limits()

    def close(self) -> None:
        """Close idle connections. Repeatable; a later call opens new ones."""
        self._pool.close()

    def forget_parent(self) -> None:
        """In a forked child: let go of the parent's sockets and locks without touching them."""
        self._pool.forget_parent()

    def __deepcopy__(self, memo: dict[int, Any]) -> Connection:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        told = self.settings
        key = told.api_key if told.is_key_given else None
        return _unpickled, (told.url, key, told.timeout, told.transport)

    def _begin(
        self, request: Request, is_write: bool, ends: float | None
    ) -> tuple[Attempts, Limits | None]:
        size = 0 if request.body is None else len(request.body)
        attempts = Attempts(self.settings, is_write=is_write, ends=ends, body_bytes=size)
        if size > BYTES_PER_SECOND_MIN or not attempts.has_all_its_time:
            return attempts, attempts.limits()
        return attempts, self._write if is_write else self._read


class _Pool:
    """The transport of a connection and of all that share it, in the process that it is used in."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.transport: Transport | None = None
        self.is_away = False
        """Nobody answers at the address, and the log says so."""
        self.lock = threading.Lock()
        self._process_id = os.getpid()

    def open(self) -> Transport:
        if self._process_id != os.getpid():
            self.forget_parent()
        transport = self.transport
        if transport is None:
            with self.lock:
                transport = self.transport
                if transport is None:
                    transport = self.transport = open_transport(self.settings)
        return transport

    def failed(
        self, transport: Transport, outcome: Answer | SendFailedError, attempts: Attempts
    ) -> None:
        """An attempt failed."""
        if isinstance(outcome, Answer):
            return
        if outcome.kind == "silent":
            # Whatever is between here and there may have forgotten the other connections, too.
            with self.lock:
                if self.transport is transport:
                    self.transport = None
        if not self.is_away and attempts.seconds_passed > AWAY_SECONDS:
            self.is_away = True
            logger.warning(
                "no server answers at %s (%s): calls try again until their time is over",
                self.settings.url,
                outcome,
            )

    def close(self) -> None:
        if self._process_id != os.getpid():
            return
        with self.lock:
            transport, self.transport = self.transport, None
        if transport is not None:
            transport.close()

    def forget_parent(self) -> None:
        if self.transport is not None:
            _inherited.append(self.transport)
        self.transport = None
        self._process_id = os.getpid()
        self.lock = threading.Lock()


def _unpickled(
    url: str, api_key: str | None, timeout: float | None, transport: TransportName
) -> Connection:
    """A key that was not given is that of the environment, here as there."""
    return Connection(settings_of(url, api_key, timeout, transport))


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
