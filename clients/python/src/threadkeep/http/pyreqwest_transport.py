"""The fast HTTP core: one pyreqwest client for threads, one for coroutines.

Both are driven by a runtime of their own, outside Python, so the asynchronous one belongs to no
event loop: its connections outlive a loop and are shared between loops. That runtime does not
survive a fork; `Connection` never lets a child use a transport of its parent.

Threads of that runtime hand answers to the event loop. One that is still at it while the
interpreter is taken down aborts the process (CPython before 3.14), so the exit waits for them.
"""

from __future__ import annotations

import atexit
import time
from datetime import timedelta
from typing import TypeVar

from pyreqwest.client import BaseClientBuilder, ClientBuilder, SyncClientBuilder
from pyreqwest.exceptions import PyreqwestError, RequestTimeoutError

from threadkeep.http.settings import CONNECT_SECONDS_MAX, Settings
from threadkeep.http.transport import (
    Answer,
    Failure,
    Limits,
    Request,
    SendFailedError,
    headers_of,
    own_headers_of,
)

HAND_OVER_SECONDS_MAX = 0.1
"""How long such a thread may be at it. Measured: one exit of six aborted without waiting."""

ENDLESS_SECONDS = 365 * 86_400.0
"""For a call without a deadline."""

Builder = TypeVar("Builder", bound=BaseClientBuilder)


class PyreqwestTransport:
    """See the module."""

    name = "pyreqwest"

    def __init__(self, settings: Settings) -> None:
        self._url = settings.url
        self._sync = _configured(SyncClientBuilder(), settings).build()
        self._async = _configured(ClientBuilder(), settings).build()

    def send(self, request: Request, limits: Limits | None = None) -> Answer:
        builder = self._sync.request(request.method, self._url + request.path)
        if request.body is not None:
            builder = builder.body_bytes(request.body)
        if limits is not None:
            builder = builder.timeout(_timedelta(limits.seconds))
        for name, value in own_headers_of(request, limits).items():
            builder = builder.header(name, value)
        try:
            response = builder.build().send()
            body = memoryview(response.bytes())
        except PyreqwestError as error:
            raise _failure(error) from error
        return Answer(
            response.status,
            response.get_header("content-type") or "",
            response.get_header("retry-after"),
            body,
        )

    async def asend(self, request: Request, limits: Limits | None = None) -> Answer:
        builder = self._async.request(request.method, self._url + request.path)
        if request.body is not None:
            builder = builder.body_bytes(request.body)
        if limits is not None:
            builder = builder.timeout(_timedelta(limits.seconds))
        for name, value in own_headers_of(request, limits).items():
            builder = builder.header(name, value)
        try:
            response = await builder.build().send()
            body = memoryview(await response.bytes())
        except PyreqwestError as error:
            raise _failure(error) from error
        finally:
            _handed_over.at = time.monotonic()
        return Answer(
            response.status,
            response.get_header("content-type") or "",
            response.get_header("retry-after"),
            body,
        )

    def close(self) -> None:
        """Close the client for threads. The other one's connections close when it is dropped."""
        self._sync.close()


class _HandedOver:
    """When an answer was handed to an event loop last."""

    at = 0.0

    def wait(self) -> None:
        """Until the thread that did it has left Python."""
        time.sleep(max(0.0, self.at + HAND_OVER_SECONDS_MAX - time.monotonic()))


_handed_over = _HandedOver()
atexit.register(_handed_over.wait)


def _configured(builder: Builder, settings: Settings) -> Builder:
    # Redirects are not followed: a POST would arrive as a GET, and a key would travel elsewhere.
    builder = (
        builder.default_headers(headers_of(settings))
        .connect_timeout(_timedelta(min(CONNECT_SECONDS_MAX, settings.seconds)))
        .timeout(_timedelta(settings.seconds))
        .follow_redirects(False)
    )
    if not settings.is_loopback:
        return builder
    # On one machine bytes cost less than compressing them: a state of 5 MB comes in half the time.
    plain: Builder = builder.no_proxy().gzip(False).zstd(False).brotli(False).deflate(False)
    return plain


def _timedelta(seconds: float) -> timedelta:
    return timedelta(seconds=min(seconds, ENDLESS_SECONDS))


def _failure(error: PyreqwestError) -> SendFailedError:
    details = getattr(error, "details", None) or {}
    causes = [str(cause["message"]) for cause in details.get("causes") or ()]
    # The last cause says what happened, the others where in the client; the class may mislead.
    return SendFailedError(causes[-1] if causes else str(error.message), _kind_of(error, causes))


def _kind_of(error: PyreqwestError, causes: list[str]) -> Failure:
    """The classes do not tell: each wait that ended is a ConnectTimeoutError."""
    if any("(Connect)" in cause for cause in causes):
        if any("InvalidContentType" in cause for cause in causes):
            return "no_tls"
        return "untrusted" if any("certificate" in it for it in causes) else "unreached"
    return "silent" if isinstance(error, RequestTimeoutError) else "lost"
