"""A server whose memory is looked at around each request.

It is a process of its own. Its highest memory is forgotten before a request (`clear_refs`) and read after it (`VmHWM`).
"""

import http.client
import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from support.http import JSON, Answer, connect, send
from support.server import Place, Server

# What does not end by itself, and for how long it is read.
EVENTS = "text/event-stream"
EVENTS_SECONDS = 0.3


class Taken(NamedTuple):
    answer: Answer
    sent_bytes: int
    # More than the server had when it had answered nothing yet.
    bytes: int

    def bound(self, times: int, beside_bytes: int) -> int:
        return times * (self.sent_bytes + len(self.answer.body)) + beside_bytes

    def told(self, times: int, beside_bytes: int) -> str:
        both = self.sent_bytes + len(self.answer.body)
        bound = self.bound(times, beside_bytes)
        return f"{self.bytes >> 20} MiB of {bound >> 20} for {both >> 10} KiB: {self.answer.status}"


class Measured:
    """Memory is told against what a server takes that was just started, so that none is hidden by what others gave back."""

    def __init__(self, place: Place, key: str):
        self.place, self.key = place, key
        self.server = Server(place)
        self.operator = self.server.command("keys", "create", "--operator").stdout.strip()
        self.fresh_kib = 0

    def start(self) -> None:
        """A server that has done nothing but what the first request of all needs."""
        self.stop()
        self.server.start()
        body = b'{"thread_id":"t"}'
        self.send("POST", "/v1/threads/get", body, {"Content-Type": JSON})
        self.fresh_kib = self.kib("VmRSS")

    def stop(self) -> None:
        if self.server.running():
            self.server.stop()

    def end(self) -> None:
        self.stop()
        self.place.remove()

    def kept_bytes(self) -> int:
        """More than it had when it was started."""
        return (self.kib("VmRSS") - self.fresh_kib) << 10

    def kib(self, name: str) -> int:
        lines = Path(f"/proc/{self.server.pid}/status").read_text().splitlines()
        return int(next(it for it in lines if it.startswith(f"{name}:")).split()[1])

    def measure(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Taken:
        self.forget()
        answer = self.send(method, path, body, headers)
        taken = (self.kib("VmHWM") - self.fresh_kib) << 10
        return Taken(answer, len(path) + len(body or b""), taken)

    def forget(self) -> None:
        """The highest memory is what there is now."""
        Path(f"/proc/{self.server.pid}/clear_refs").write_text("5")

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection = connect(self.server.url)
        try:
            if headers.get("Accept") == EVENTS:
                return _listen(connection, method, path, body, headers | self.credential(path))
            return send(connection, method, path, body, headers | self.credential(path))
        finally:
            connection.close()

    def credential(self, path: str) -> dict[str, str]:
        return {"X-Api-Key": self.operator if path.startswith("/v1/operator/") else self.key}

    def do(self, path: str, body: object, method: str = "POST") -> Any:
        """A request that is not measured and that has to be done."""
        return self.done(method, path, json.dumps(body).encode(), JSON)

    def done(self, method: str, path: str, body: bytes, media: str) -> Any:
        answer = self.send(method, path, body, {"Content-Type": media, "Accept": JSON})
        assert answer.status in (200, 201), answer
        return json.loads(answer.body)


def copy_of(folder: Path) -> Place:
    """The same data in a place of its own. No server runs on it."""
    copy = Place()
    shutil.copytree(folder / "data", copy.folder / "data")
    return copy


def _listen(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str],
) -> Answer:
    """What comes of an answer in a moment."""
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    read = b""
    if connection.sock is not None:
        connection.sock.settimeout(EVENTS_SECONDS)
    try:
        while more := response.read1(1 << 16):
            read += more
    except (TimeoutError, ValueError):
        pass
    return Answer(response.status, dict(response.getheaders()), read)
