"""The native protocol by hand (clients/PROTOCOL.md): hides no failure, retries nothing."""

import http.client
import json
from typing import Any

import msgpack  # type: ignore[import-untyped]

from support.http import MSGPACK, connect, send

CODEC = "msgpack"


class Refused(Exception):
    """The server answered, and the answer is not a success."""

    def __init__(self, status: int, body: bytes):
        super().__init__(f"{status}: {body[:500]!r}")
        self.status = status
        self.code = json.loads(body)["code"]


class Native:
    """One connection, opened when needed, used by one thread."""

    def __init__(self, url: str, key: str | None):
        self.url = url
        self.key = key
        self._connection: http.client.HTTPConnection | None = None

    def call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post and return the answer. Raises Refused; OSError or HTTPException if none came."""
        headers = {"Content-Type": MSGPACK, "Accept": MSGPACK}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        if self._connection is None:
            self._connection = connect(self.url)
        try:
            answer = send(self._connection, "POST", path, msgpack.packb(body), headers)
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.status != 200:
            raise Refused(answer.status, answer.body)
        decoded: dict[str, Any] = msgpack.unpackb(answer.body)
        return decoded

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def commit(self, thread_id: str, *ops: dict[str, Any], **more: Any) -> dict[str, Any]:
        body = {"thread_id": thread_id, "ops": list(ops), **more}
        return self.call("/v1/checkpoints/commit", body)

    def get(self, thread_id: str, checkpoint_id: str | None = None, ns: str = "") -> dict[str, Any]:
        body: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": ns}
        if checkpoint_id is not None:
            body["checkpoint_id"] = checkpoint_id
        return self.call("/v1/checkpoints/get", body)

    def list(self, **arguments: Any) -> list[dict[str, Any]]:
        """All pages."""
        views: list[dict[str, Any]] = []
        while True:
            page = self.call("/v1/checkpoints/list", arguments)
            views += page["checkpoints"]
            if not page.get("next_cursor"):
                return views
            arguments["cursor"] = page["next_cursor"]

    def thread(self, thread_id: str) -> dict[str, Any] | None:
        return self.call("/v1/threads/get", {"thread_id": thread_id}).get("thread")


def checkpoint(
    checkpoint_id: str,
    values: dict[str, bytes],
    *,
    parent: str | None = None,
    ns: str = "",
    step: int = 0,
) -> dict[str, Any]:
    """A checkpoint op in which every channel is new, at version `step + 1`."""
    version = step + 1
    skeleton = {
        "v": 4,
        "id": checkpoint_id,
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_versions": dict.fromkeys(values, version),
        "versions_seen": {},
    }
    op: dict[str, Any] = {
        "checkpoint_ns": ns,
        "checkpoint_id": checkpoint_id,
        "skeleton": json.dumps(skeleton).encode(),
        "metadata": json.dumps({"source": "loop", "step": step, "parents": {}}).encode(),
        "values": [
            {"channel": name, "version": str(version).encode(), "tag": CODEC, "data": data}
            for name, data in values.items()
        ],
    }
    if parent is not None:
        op["parent_checkpoint_id"] = parent
    return {"checkpoint": op}


def writes(
    checkpoint_id: str, task_id: str, values: list[bytes], *, ns: str = ""
) -> dict[str, Any]:
    """A writes op: one write per value, on channels w0, w1, …"""
    entries = [
        {"idx": index, "channel": f"w{index}", "tag": CODEC, "data": data}
        for index, data in enumerate(values)
    ]
    op = {
        "checkpoint_ns": ns,
        "checkpoint_id": checkpoint_id,
        "task_id": task_id,
        "writes": entries,
    }
    return {"writes": op}
