"""A small sandbox manager: sandboxes that are made, talked to, saved, removed and restored by HTTP.

    THREADKEEP_URL=… python endpoints.py [--port 8787]

Processes and temporary folders stand for sandboxes. With API_AUTH_USER and API_AUTH_PASS set, it asks
for them (Basic).
"""

import argparse
import base64
import hmac
import json
import os
import re
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from threadkeep.errors import ThreadkeepError

from memory import Memory
from sandbox import HARNESSES, Busy, Gone, Purpose, Sandbox, new_id

BODY_BYTES_MAX = 1 << 20
Answer = tuple[int, dict[str, Any]]


class Refused(Exception):
    """A request that cannot be done: status, code, and a word of why."""

    def __init__(self, status: int, code: str, message: str = "") -> None:
        super().__init__(code)
        self.status = status
        self.body = {"error": {"code": code, "message": message}}


class Endpoints:
    """What they do, without HTTP."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._sandboxes: dict[str, Sandbox] = {}

    def create(self, body: dict[str, Any]) -> Answer:
        harness, session_id = body.get("harness"), body.get("sessionId") or new_id()
        if not harness:
            raise Refused(400, "MISSING_HARNESS")
        if harness not in HARNESSES:
            raise Refused(400, "HARNESS_NOT_SUPPORTED", ", ".join(HARNESSES))
        purpose = Purpose(harness, body.get("user") or session_id, session_id)
        return 201, self._shown(Sandbox(purpose, self._memory.environment(purpose)))

    def chat(self, sandbox_id: str, body: dict[str, Any]) -> Answer:
        if not isinstance(body.get("message"), str):
            raise Refused(400, "MISSING_MESSAGE")
        try:
            return 200, {"answer": self._sandbox(sandbox_id).chat(body["message"])}
        except Busy:
            raise Refused(409, "BUSY") from None
        except Gone:
            raise Refused(410, "GONE") from None

    def snapshot(self, sandbox_id: str, body: dict[str, Any]) -> Answer:
        sandbox = self._sandbox(sandbox_id)
        asked = body.get("snapshotId") or f"snap_{uuid.uuid4().hex[:12]}"
        try:
            taken = self._memory.save(sandbox, asked)
        except ThreadkeepError as error:
            raise Refused(500, "SNAPSHOT_FAILED", str(error)) from error
        return 200, {
            "snapshotId": taken.snapshot_id,
            "sizeBytes": taken.size_bytes,
            "takenAt": taken.taken_at,
            "fileCount": taken.archive.file_count if taken.archive else 0,
        }

    def delete(self, sandbox_id: str) -> Answer:
        sandbox = self._sandboxes.pop(sandbox_id, None)
        if sandbox is None:
            raise Refused(404, "NOT_FOUND")
        sandbox.remove()
        return 200, {"ok": True, "sandboxId": sandbox_id, "turnCount": sandbox.turns}

    def restore(self, body: dict[str, Any]) -> Answer:
        snapshot_id = str(body.get("snapshotId") or "")
        purpose = self._memory.find(snapshot_id) if snapshot_id else None
        if purpose is None:
            raise Refused(404, "SNAPSHOT_NOT_FOUND")
        conversation = body.get("restoreConversation", "snapshot")
        folder = self._memory.restore(snapshot_id, conversation)
        made = self._shown(Sandbox(purpose, self._memory.environment(purpose), folder))
        return 201, {**made, "restored": True, "fromSnapshotId": snapshot_id}

    def close(self) -> None:
        while self._sandboxes:
            self._sandboxes.popitem()[1].remove()

    def _shown(self, sandbox: Sandbox) -> dict[str, Any]:
        self._sandboxes[sandbox.sandbox_id] = sandbox
        return {
            "sandboxId": sandbox.sandbox_id,
            "sessionId": sandbox.purpose.session_id,
            "state": "booting",
            "pid": sandbox.pid,
        }

    def _sandbox(self, sandbox_id: str) -> Sandbox:
        found = self._sandboxes.get(sandbox_id)
        if found is None:
            raise Refused(404, "NOT_FOUND")
        if found.is_gone:
            raise Refused(410, "GONE")
        return found


class Handler(BaseHTTPRequestHandler):
    """Routes, bodies and events."""

    protocol_version = "HTTP/1.1"
    endpoints: Endpoints

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def log_message(self, *_: Any) -> None:
        """Nothing: the lines of the example are its own."""

    def _serve(self) -> None:
        try:
            body = self._body()
            if not self._is_allowed():
                raise Refused(401, "UNAUTHORIZED")
            status, answer = self._routed(body)
        except Refused as refused:
            status, answer = refused.status, refused.body
        if "answer" in answer:
            self._send(status, "text/event-stream", _events(answer["answer"]))
        else:
            self._send(status, "application/json", json.dumps(answer))

    def _routed(self, body: dict[str, Any]) -> Answer:
        endpoints, route = self.endpoints, f"{self.command} {self.path}"
        if route == "POST /sandboxes":
            return endpoints.create(body)
        if route == "POST /sandboxes/restore":
            return endpoints.restore(body)
        if found := re.fullmatch(r"POST /sandboxes/(\w+)/chat", route):
            return endpoints.chat(found[1], body)
        if found := re.fullmatch(r"POST /sandboxes/(\w+)/snapshot", route):
            return endpoints.snapshot(found[1], body)
        if found := re.fullmatch(r"DELETE /sandboxes/(\w+)", route):
            return endpoints.delete(found[1])
        raise Refused(404, "NOT_FOUND")

    def _body(self) -> dict[str, Any]:
        size = int(self.headers.get("content-length") or 0)
        if size > BODY_BYTES_MAX:
            self.close_connection = True
            raise Refused(413, "TOO_LARGE")
        try:
            found = json.loads(self.rfile.read(size) or b"{}")
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Refused(400, "INVALID_JSON")
        return found

    def _is_allowed(self) -> bool:
        user, password = os.environ.get("API_AUTH_USER"), os.environ.get("API_AUTH_PASS")
        if not user or not password:
            return True
        asked = base64.b64encode(f"{user}:{password}".encode()).decode()
        given = self.headers.get("authorization") or ""
        return hmac.compare_digest(given.encode(), f"Basic {asked}".encode())

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _events(answer: str) -> str:
    events = [
        ("ca_session_started", {}),
        ("sdk_message", {"role": "assistant", "text": answer}),
        ("ca_session_ended", {}),
        ("ca_done", {}),
    ]
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)


def listening(endpoints: Endpoints, port: int) -> ThreadingHTTPServer:
    """A server on this machine; port 0 takes a free one."""
    return ThreadingHTTPServer(
        ("127.0.0.1", port), type("Handler", (Handler,), {"endpoints": endpoints})
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=8787)
    url = os.environ.get("THREADKEEP_URL", "http://127.0.0.1:7070")
    endpoints = Endpoints(Memory(url, os.environ.get("THREADKEEP_API_KEY")))
    with listening(endpoints, arguments.parse_args().port) as server:
        print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            endpoints.close()


if __name__ == "__main__":
    main()
