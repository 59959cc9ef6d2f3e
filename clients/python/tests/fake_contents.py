"""Bytes of files over the fake server: PUT and GET of `/v1/files/content`, with faults."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import ormsgpack

from fake_chain import Problem

CHUNK = 64 << 10


class Contents:
    """Part of the fake server's handler."""

    def do_PUT(self: Any) -> None:
        length = int(self.headers["content-length"])
        parts: list[bytes] = []
        while length:
            chunk = self.rfile.read(min(CHUNK, length))
            length -= len(chunk)
            if not self.fake.discard_content:
                parts.append(chunk)
        namespace, path = self.noted()
        fault = self.fake.take_fault("/v1/files/content")
        files = self.fake.store.files
        if fault is None or fault.apply:
            body = {"files": [{"path": path, "bytes": b"".join(parts)}], "namespace": namespace}
            files.handle("upload", body, {"idempotency-key": str(time.monotonic_ns())})
        if self.failed(fault):
            return
        self.reply(200, "application/msgpack", ormsgpack.packb({"path": path, "version": 1}))

    def get_content(self: Any) -> None:
        namespace, path = self.noted()
        fault = self.fake.take_fault("/v1/files/content")
        if fault is not None and fault.cut is None and self.failed(fault):
            return
        if self.fake.zeros:
            self.send_zeros()
            return
        found = self.fake.store.files.places.get(tuple(namespace), {}).get(path)
        if found is None:
            self.problem(Problem(404, "not_found"), None)
            return
        from fake_files import raw

        data, etag = raw(found), f'"{found["version"]}"'
        start, status = 0, 200
        if self.headers.get("range") and self.headers.get("if-range") == etag:
            start, status = int(self.headers["range"][6:-1]), 206
        part = data[start:]
        self.send_response(status)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(part)))
        self.send_header("etag", etag)
        self.end_headers()
        self.wfile.write(part if fault is None else part[: fault.cut])
        self.wfile.flush()
        if fault is not None:
            self.close_connection = True
            self.connection.close()
            change, self.fake.on_content = self.fake.on_content, None
            if change is not None:
                change()

    def send_zeros(self: Any) -> None:
        self.send_response(200)
        self.send_header("content-length", str(self.fake.zeros))
        self.end_headers()
        for _ in range(self.fake.zeros // CHUNK):
            self.wfile.write(bytes(CHUNK))
        self.wfile.flush()

    def noted(self: Any) -> tuple[list[str], str]:
        """Notes the request; the namespace and the path that it names."""
        from fake_server import Seen

        headers = {name.lower(): value for name, value in self.headers.items()}
        self.fake.seen.append(Seen(self.command, self.path, {}, headers, time.monotonic()))
        query = parse_qs(urlsplit(self.path).query)
        return query["ns"], query["path"][0]

    def failed(self: Any, fault: Any) -> bool:
        """Does what the fault says; whether that was the answer."""
        if fault is None:
            return False
        if fault.drop:
            self.close_connection = True
            self.connection.close()
        elif fault.raw is not None:
            self.reply(200, fault.content_type, fault.raw)
        else:
            self.problem(Problem(fault.status, fault.code), fault.retry_after)
        return True
