"""What every HTTP core looks like to the rest of the package, and which one is used.

`pyreqwest` is used where it can be imported. Where it cannot, the standard library's client is
used, which is always there; that is said once per process, and `transport` on every client names
the one in use.
"""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Callable
from queue import Queue
from typing import NamedTuple, Protocol

from threadkeep.http.settings import Settings

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


class SendFailedError(Exception):
    """No complete answer arrived. `timed_out` tells a wait that ended from a connection lost."""

    def __init__(self, detail: str, *, timed_out: bool = False) -> None:
        super().__init__(detail)
        self.timed_out = timed_out


class Transport(Protocol):
    """Sends one request once. Usable from many threads and from many event loops."""

    name: str

    def send(self, request: Request) -> Answer:
        """Send and wait for the whole answer. Raises SendFailedError."""

    async def asend(self, request: Request) -> Answer:
        """The same without blocking the running event loop."""

    def close(self) -> None:
        """Close idle connections. Repeatable."""


def headers_of(settings: Settings) -> dict[str, str]:
    """The headers that are the same for every request of a client."""
    headers = {
        "accept": "application/msgpack",
        "content-type": "application/msgpack",
        "user-agent": "threadkeep-python",
        "threadkeep-budget-ms": str(max(1, int(settings.budget_seconds * 1000))),
    }
    if settings.api_key:
        headers["authorization"] = f"Bearer {settings.api_key}"
    return headers


def own_headers_of(request: Request) -> dict[str, str]:
    """The headers of one request, which stand before those of the client."""
    headers = {"content-type": request.content_type, "idempotency-key": request.idempotency_key}
    return {name: value for name, value in headers.items() if value is not None}


def open_transport(settings: Settings) -> Transport:
    """Build the transport. Opens no connection yet; the first request does."""
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
        warnings.warn(text, UserWarning, stacklevel=2)
