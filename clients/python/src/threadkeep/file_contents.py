"""Bytes of files of any size, streamed: neither side ever holds a file whole. Blocking.

Goes over the standard library whichever HTTP core the client uses.
"""

from __future__ import annotations

import http.client
import mimetypes
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from threadkeep.file_plans import UNKNOWN_TYPE, content_target
from threadkeep.files import Namespace
from threadkeep.http.connection import decoded
from threadkeep.http.retry import Attempts
from threadkeep.http.settings import Settings
from threadkeep.http.stdlib_transport import StdlibTransport, failure_of
from threadkeep.http.transport import Answer, SendFailedError

CHUNK_BYTES = 1 << 20
BREAKS_MAX = 4
"""How often a connection may break in a row before that is an error."""


def put_content(
    settings: Settings,
    namespace: Namespace,
    path: str,
    file: BinaryIO,
    media_type: str | None = None,
    if_version: int | None = None,
) -> int | None:
    """Create or replace a file from what is left of `file`, which must be seekable.

    With `if_version` only the file that has this version; 0: only where there is none. Returns the
    version, if the server says it. After a lost connection it begins again, and is put once.
    """
    kind = media_type or mimetypes.guess_type(path)[0] or UNKNOWN_TYPE
    target = content_target(namespace, path, if_version)
    version = send(settings, target, file, kind, key=uuid.uuid4().hex).get("version")
    return version if isinstance(version, int) else None


def get_content(settings: Settings, namespace: Namespace, path: str, file: BinaryIO) -> int:
    """Write a file's bytes to `file`, from where it stands; how many they are.

    After a lost connection the rest is asked for, of the same state of the file; where that is
    gone, all of it again.
    """
    return receive(settings, content_target(namespace, path), file)


def send(
    settings: Settings,
    target: str,
    file: BinaryIO,
    media_type: str,
    *,
    method: str = "PUT",
    key: str | None = None,
) -> dict[str, Any]:
    """Send what is left of a seekable file; what the server answers.

    Sent again after a lost connection: without an idempotency key only for what may be there twice.
    """
    start = file.tell()
    size = file.seek(0, os.SEEK_END) - start
    headers = {"content-type": media_type, "content-length": str(size)}
    if key is not None:
        headers["idempotency-key"] = key
    attempts = Attempts(settings, is_write=True, body_bytes=size, breaks_max=BREAKS_MAX)
    while True:
        file.seek(start)
        seconds = attempts.limits().seconds
        outcome = _sent(settings, (method, target), headers, file, seconds)
        if isinstance(outcome, Answer) and 200 <= outcome.status < 300:
            return decoded(outcome)
        time.sleep(attempts.seconds_until_next(outcome))


def receive(settings: Settings, target: str, file: BinaryIO) -> int:
    """Write what is at `target` to `file`, from where it stands; how many bytes that are."""
    start = file.tell()
    attempts = Attempts(settings, is_write=False, breaks_max=BREAKS_MAX)
    received = _Received(file, start)
    while True:
        had = received.count
        outcome = received.go_on(settings, target)
        if outcome is None:
            return received.count
        if received.count > had:
            # The time of a call is for silence, not for what takes long.
            attempts = Attempts(settings, is_write=False, breaks_max=BREAKS_MAX)
        time.sleep(attempts.seconds_until_next(outcome))


class _Received:
    """What has come of a file so far."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file = file
        self._start = start
        self._etag: str | None = None
        self.count = 0

    def go_on(self, settings: Settings, target: str) -> Answer | SendFailedError | None:
        """Receive the rest; what went wrong, None when it is complete."""
        headers = {"accept": "*/*", "accept-encoding": "identity"}
        if self.count and self._etag:
            headers |= {"range": f"bytes={self.count}-", "if-range": self._etag}
        try:
            with opened(settings, target, headers) as response:
                if response.status not in (200, 206):
                    return answer_of(response)
                if response.status == 200 or not self.count:
                    self._begin()
                self._etag = response.getheader("etag")
                self._take(response)
        except SendFailedError as error:
            return error
        return None

    def _begin(self) -> None:
        self._file.seek(self._start)
        self._file.truncate()
        self.count = 0

    def _take(self, response: http.client.HTTPResponse) -> None:
        for chunk in chunks_of(response):
            self._file.write(chunk)
            self.count += len(chunk)


def chunks_of(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The body as it arrives. Raises SendFailedError where it breaks off."""
    while True:
        try:
            chunk = response.read(CHUNK_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise failure_of(error) from error
        if not chunk:
            if response.length:
                raise SendFailedError("the answer ended too early")
            return
        yield chunk


def _sent(
    settings: Settings,
    line: tuple[str, str],
    headers: dict[str, str],
    file: BinaryIO,
    seconds: float,
) -> Answer | SendFailedError:
    method, target = line
    sent = opened(settings, target, headers, method=method, body=file, seconds=seconds)
    try:
        with sent as response:
            return answer_of(response)
    except SendFailedError as error:
        return error


@contextmanager
def opened(
    settings: Settings,
    target: str,
    headers: dict[str, str],
    *,
    method: str = "GET",
    body: BinaryIO | None = None,
    seconds: float | None = None,
) -> Iterator[http.client.HTTPResponse]:
    """An answer that is read as it comes. Raises SendFailedError.

    Nothing may stand still for longer than `seconds`, by default the time of a call.
    """
    transport = StdlibTransport(settings)
    answer = transport.open(target, headers, method=method, body=body, seconds=seconds)
    try:
        yield answer.response
    finally:
        answer.connection.close()
        transport.close()


def answer_of(response: http.client.HTTPResponse) -> Answer:
    """The answer, with its whole body. Raises SendFailedError."""
    try:
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise failure_of(error) from error
    header = response.getheader
    return Answer(response.status, header("content-type") or "", header("retry-after"), body)
