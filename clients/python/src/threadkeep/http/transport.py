"""Defines the interface of an HTTP core, and chooses the core of a client.

Where the server is reached by plain HTTP, calls use sockets of their own. Everything else goes
through `pyreqwest` where it can be imported. Where it cannot, the standard library's client is
used, which is always there; that is logged once per process. `transport` on every client names the
one in use.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from queue import Queue
from typing import Literal, NamedTuple, Protocol

from threadkeep.http.settings import Settings, budget_of

logger = logging.getLogger("threadkeep")
_said: set[str] = set()
_FAST_CORE = "threadkeep.http.pyreqwest_transport"


class Answer(NamedTuple):
    """A complete HTTP answer, whatever its status. `body` is read-only bytes or a view of them."""

    status: int
    content_type: str
    retry_after: str | None
    body: bytes | memoryview


class Request(NamedTuple):
    """One HTTP request. `path` begins with a slash; `body` is None for a GET or a DELETE.

    `content_type` is that of a body that is no MessagePack.
    """

    method: str
    path: str
    body: bytes | None = None
    idempotency_key: str | None = None
    content_type: str | None = None


Failure = Literal["unreached", "silent", "lost", "no_tls", "untrusted"]
"""Why no answer arrived: no connection was made; a wait ended; the connection broke; the server
does not speak TLS; its certificate is not accepted. The first and the last two sent nothing."""


class SendFailedError(Exception):
    """No complete answer arrived."""

    def __init__(self, detail: str, kind: Failure = "lost") -> None:
        super().__init__(detail)
        self.kind = kind


class Limits(NamedTuple):
    """When one attempt is given up, and how long the server has to begin a write (None: as long
    as the transport's settings say)."""

    seconds: float
    budget_seconds: float | None = None


class Transport(Protocol):
    """Sends one request once. Usable from many threads and from many event loops."""

    name: str

    def send(self, request: Request, limits: Limits | None = None) -> Answer:
        """Send and wait for the whole answer, as long as the settings say unless there are limits.

        Raises SendFailedError.
        """

    async def asend(self, request: Request, limits: Limits | None = None) -> Answer:
        """The same without blocking the running event loop."""

    def close(self) -> None:
        """Close idle connections. Repeatable."""


BUDGET_HEADER = "threadkeep-budget-ms"


def budget_text(seconds: float) -> str:
    """The time that the server has to begin a write, as its header says it."""
    return str(max(1, int(seconds * 1000)))


def headers_of(settings: Settings) -> dict[str, str]:
    """The headers that are the same for every request of a client."""
    headers = {
        "accept": "application/msgpack",
        "content-type": "application/msgpack",
        "user-agent": "threadkeep-python",
        BUDGET_HEADER: budget_text(budget_of(settings.seconds)),
    }
    if settings.api_key:
        headers["authorization"] = f"Bearer {settings.api_key}"
    return headers


def own_headers_of(request: Request, limits: Limits | None) -> dict[str, str]:
    """The headers of one request, which stand before those of the client."""
    headers = {}
    if request.content_type is not None:
        headers["content-type"] = request.content_type
    if request.idempotency_key is not None:
        headers["idempotency-key"] = request.idempotency_key
    if limits is not None and limits.budget_seconds is not None:
        headers[BUDGET_HEADER] = budget_text(limits.budget_seconds)
    return headers


def open_transport(settings: Settings) -> Transport:
    """Build the transport. Opens no connection yet; the first request does."""
    from threadkeep.http.asyncio_transport import AsyncioTransport, reaches

    if settings.transport in ("auto", "asyncio") and reaches(settings):
        return AsyncioTransport(settings, partial(_other_core, settings))
    return _other_core(settings)


def _other_core(settings: Settings) -> Transport:
    """For TLS, proxies and loops that cannot watch a socket."""
    from threadkeep.http.stdlib_transport import StdlibTransport

    if settings.transport == "stdlib":
        return StdlibTransport(settings)
    try:
        return _fast_core()(settings)
    except (ImportError, RuntimeError) as error:
        # RuntimeError: its runtime was started before a fork and cannot run in the child.
        if settings.transport == "pyreqwest" and isinstance(error, ImportError):
            raise
        _say_once(
            "threadkeep: the HTTP core pyreqwest cannot be used here "
            f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}); "
            "using the slower one of the standard library"
        )
        return StdlibTransport(settings)


def _fast_core() -> Callable[[Settings], Transport]:
    """The class of the fast core, imported by a thread that stays.

    Measured with pyreqwest 0.15: once the thread that imported it has ended, its next use ends the
    process.
    """
    found: Queue[Callable[[Settings], Transport] | BaseException] = Queue()

    def look() -> None:
        try:
            from threadkeep.http.pyreqwest_transport import PyreqwestTransport

            found.put(PyreqwestTransport)
        except BaseException as error:
            found.put(error)

    def look_and_stay() -> None:
        look()
        threading.Event().wait()

    is_here = _FAST_CORE in sys.modules
    if is_here or threading.current_thread() is threading.main_thread():
        look()
    else:
        threading.Thread(target=look_and_stay, name="threadkeep-import", daemon=True).start()
    outcome = found.get()
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        logger.warning(text)
