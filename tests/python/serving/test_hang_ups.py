"""Callers that leave in the middle change nothing for the others, and leave nothing half done."""

import socket
import uuid

import msgpack
import pytest

from support import settings
from support.committers import Crowd
from support.http import MSGPACK
from support.native import Native, checkpoint, writes
from support.server import Server
from support.waiting import wait_until

HANG_UPS = 100


def commit_bytes(server: Server, key: str, thread_id: str) -> bytes:
    """A whole commit request as it goes over the wire: one checkpoint and its writes."""
    ops = [checkpoint("c1", {"a": b"value"}), writes("c1", "task", [b"one", b"two"])]
    body = msgpack.packb({"thread_id": thread_id, "ops": ops})
    head = (
        f"POST /v1/checkpoints/commit HTTP/1.1\r\nHost: {server.listen}\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: {MSGPACK}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def send_and_leave(server: Server, data: bytes) -> None:
    assert server.listen is not None
    host, port = server.listen.split(":")
    with socket.create_connection((host, int(port)), settings.PATIENCE_SECONDS) as connection:
        connection.sendall(data)


@pytest.mark.parametrize("part", [0.3, 0.9, 1.0], ids=["in the head", "in the body", "after it"])
def test_callers_that_hang_up_change_nothing_for_the_others(
    server: Server, api_key: str, part: float
) -> None:
    left = [f"left-{uuid.uuid4().hex[:8]}" for _ in range(HANG_UPS)]

    with Crowd(server, api_key) as crowd:
        for thread_id in left:
            data = commit_bytes(server, api_key, thread_id)
            send_and_leave(server, data[: int(len(data) * part)])
        goal = crowd.acknowledged + settings.COMMITS_BETWEEN_FAULTS
        wait_until(lambda: crowd.acknowledged >= goal, "the others to go on")

    native = Native(server.url, api_key)
    crowd.check_stored(native)
    assert crowd.retries == 0
    for thread_id in left:
        view = native.get(thread_id).get("checkpoint")
        # A request that never came whole did nothing; one that did may be stored, but whole.
        assert view is None or part == 1.0
        if view is not None:
            assert [bytes(value["data"]) for value in view["values"]] == [b"value"]
            assert [bytes(write["data"]) for write in view["writes"]] == [b"one", b"two"]
