"""Raw bytes over HTTP, sent and taken as streams: none is in memory whole."""

import http.client
import random
import threading
from collections.abc import Iterator

from support import settings
from support.server import Server

MIB = 1 << 20


def pieces(mebibytes: int, seed: int = 1) -> Iterator[bytes]:
    """Bytes that do not repeat, the same for the same seed: a MiB at a time."""
    for number in range(mebibytes):
        yield random.Random(f"{seed}:{number}").randbytes(MIB)


def send(server: Server, method: str, path: str, key: str, body: Iterator[bytes]) -> bytes:
    """Sends a body as it is made. Answers the body of a 200."""
    with_key = {"x-api-key": key, "content-type": "application/octet-stream"}
    connection = http.client.HTTPConnection(
        server.url.removeprefix("http://"), timeout=settings.PATIENCE_SECONDS
    )
    connection.request(method, path, body=body, headers=with_key, encode_chunked=True)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    assert answer.status in (200, 201), (answer.status, content)
    return content


def take(
    server: Server, path: str, key: str, headers: dict[str, str] | None = None
) -> Iterator[bytes]:
    """Takes a body as it comes, a MiB at a time."""
    connection = http.client.HTTPConnection(
        server.url.removeprefix("http://"), timeout=settings.PATIENCE_SECONDS
    )
    connection.request("GET", path, headers={"x-api-key": key} | (headers or {}))
    answer = connection.getresponse()
    assert answer.status in (200, 206), (answer.status, answer.read())
    while piece := answer.read(MIB):
        yield piece
    connection.close()


class Watched:
    """The most memory that a server took while the block ran."""

    def __init__(self, server: Server):
        self._server = server
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.idle = server.resident_bytes()
        self.most = self.idle

    def __enter__(self) -> "Watched":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.05):
            self.most = max(self.most, self._server.resident_bytes())

    @property
    def grown(self) -> int:
        return self.most - self.idle
