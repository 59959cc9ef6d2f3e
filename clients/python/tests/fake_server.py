"""A server of the protocol in memory, for the tests of the client alone.

It keeps to the documented meaning (chain walks, digests, bases, carried values), refuses unknown
fields, notes every request, and can be told to fail. It is not fast and knows no tenants.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import ormsgpack

from fake_chain import Problem
from fake_contents import Contents
from fake_store import FakeStore

PROBLEM = "application/problem+json"


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    begun: float
    ended: float = 0.0
    client_port: int = 0


@dataclass
class Fault:
    """What to do to a request instead of, or beside, answering it.

    `seconds` waits first. `apply` says whether the request takes effect. `drop` closes without an
    answer; `status` answers that; `raw` answers this body as `content_type`.
    """

    seconds: float = 0.0
    apply: bool = False
    drop: bool = False
    status: int | None = None
    code: str = "unavailable"
    retry_after: str | None = None
    raw: bytes | None = None
    content_type: str = "application/msgpack"
    cut: int | None = None
    gate: threading.Event | None = None


@dataclass
class FakeServer:
    """Runs in a thread. `faults` are used up one per request that `fault_path` is in."""

    store: FakeStore = field(default_factory=FakeStore)
    seen: list[Seen] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    fault_path: str = ""
    on_commit: Callable[[dict[str, Any]], None] | None = None
    hold: threading.Event | None = None
    on_content: Callable[[], Any] | None = None
    """Called once, after bytes of a file were sent."""
    discard_content: bool = False
    """Bytes of files are read and forgotten."""
    zeros: int = 0
    """Instead of a file, so many of them."""
    port: int = 0
    """Where to listen; 0: wherever there is room."""

    def start(self) -> FakeServer:
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"fake": self})
        self.http = _Server(("127.0.0.1", self.port), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def stop(self) -> None:
        if self.hold is not None:
            self.hold.set()
        self.http.shutdown()
        self.http.server_close()

    def requests(self, path: str) -> list[Seen]:
        return [seen for seen in self.seen if path in seen.path]

    def commits(self) -> list[list[dict[str, Any]]]:
        """The operations of each commit that arrived."""
        return [seen.body["ops"] for seen in self.requests("/commit")]

    def wait_for(self, count: int, path: str = "/commit") -> None:
        """Until that many requests have arrived."""
        until = time.monotonic() + 10
        while len(self.requests(path)) < count:
            assert time.monotonic() < until, f"{len(self.requests(path))} of {count} arrived"
            time.sleep(0.002)

    def take_fault(self, path: str) -> Fault | None:
        with self.lock:
            if self.faults and self.fault_path in path:
                return self.faults.pop(0)
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_: Any) -> None:
        """Clients that go away are part of the tests."""


class _Handler(Contents, BaseHTTPRequestHandler):
    fake: FakeServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path.startswith("/v1/files/content"):
            self.get_content()
        else:
            self.handle_request(b"")

    def do_DELETE(self) -> None:
        self.handle_request(b"")

    def do_POST(self) -> None:
        self.handle_request(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def handle_request(self, raw: bytes) -> None:
        fake, path = self.fake, self.path.split("?")[0]
        body = ormsgpack.unpackb(raw) if raw else {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, self.path, body, headers, time.monotonic())
        seen.client_port = self.client_address[1]
        with fake.lock:
            fake.seen.append(seen)
        fault = fake.take_fault(path)
        if fake.hold is not None and "/commit" in path:
            fake.hold.wait(10)
        try:
            self.answer(path, body, headers, fault)
        finally:
            seen.ended = time.monotonic()

    def answer(self, path: str, body: Any, headers: Any, fault: Fault | None) -> None:
        if fault is not None:
            time.sleep(fault.seconds)
            if fault.gate is not None:
                fault.gate.wait(10)
            faulty = fault.drop or fault.status or fault.raw is not None
            if fault.apply and faulty:
                self.fake.store.handle(self.command, path, body, headers)
            if fault.drop:
                self.close_connection = True
                self.connection.close()
                return
            if fault.raw is not None:
                self.reply(fault.status or 200, fault.content_type, fault.raw)
                return
            if fault.status is not None:
                self.problem(Problem(fault.status, fault.code), fault.retry_after)
                return
        try:
            if path == "/v1/checkpoints/commit" and self.fake.on_commit is not None:
                self.fake.on_commit(body)
            result = self.fake.store.handle(self.command, path, body, headers)
        except Problem as problem:
            self.problem(problem, None)
            return
        packed = ormsgpack.packb(result)
        if fault is not None and fault.cut is not None:
            packed = packed[: fault.cut]
        self.reply(200, "application/msgpack", packed)

    def problem(self, problem: Problem, retry_after: str | None) -> None:
        text = {
            "type": "about:blank",
            "title": problem.code,
            "status": problem.status,
            "detail": problem.detail,
            "code": problem.code,
            "request_id": "r-1",
            **({"field": problem.field} if problem.field else {}),
            **({"limit": problem.limit} if problem.limit else {}),
        }
        self.reply(problem.status, PROBLEM, json.dumps(text).encode(), retry_after)

    def reply(
        self, status: int, content_type: str, body: bytes, retry_after: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        if retry_after is not None:
            self.send_header("retry-after", retry_after)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Quiet."""
