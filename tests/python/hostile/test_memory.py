"""What one request takes of the server's memory: no more than eight times its body and 16 MiB, whatever it asks for.

The server is a process of its own. Its highest memory is forgotten before each request (`clear_refs`) and read after it (`VmHWM`).
"""

import gzip
import http.client
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.http import JSON, MSGPACK, connect, send
from support.server import Place, Server

MIB = 1 << 20
# Of the body once it is unpacked, and beside it.
TIMES, BESIDE_BYTES = 8, 16 * MIB
MANY = 4_000_000


class Measured:
    """A server whose memory is looked at around each request."""

    def __init__(self, server: Server):
        self.server = server
        self.key = server.new_key()
        self.process = Path(f"/proc/{server.pid}")

    def kib(self, name: str) -> int:
        lines = (self.process / "status").read_text().splitlines()
        return int(next(it for it in lines if it.startswith(f"{name}:")).split()[1])

    def post(self, path: str, media: str, body: bytes) -> tuple[int, dict[str, object], int]:
        """Status, answer, and the bytes that the request took at the worst."""
        (self.process / "clear_refs").write_text("5")
        before = self.kib("VmRSS")
        headers = {"Content-Type": media, "Accept": JSON, "X-Api-Key": self.key}
        packed = gzip.compress(body, 1)
        if len(packed) < len(body) // 2:
            headers["Content-Encoding"] = "gzip"
            body = packed
        connection: http.client.HTTPConnection = connect(self.server.url)
        answer = send(connection, "POST", path, body, headers)
        connection.close()
        return answer.status, json.loads(answer.body), (self.kib("VmHWM") - before) << 10


@pytest.fixture(scope="module")
def measured() -> Iterator[Measured]:
    place = Place()
    server = Server(place).start()
    try:
        it = Measured(server)
        # What is made once, for the first request.
        it.post("/v1/checkpoints/prune", JSON, b'{"thread_ids":["t"],"strategy":"delete"}')
        it.post("/v1/threads/get", JSON, b'{"thread_id":"t"}' + b" " * (4 * MIB))
        yield it
    finally:
        server.stop()
        place.remove()


def text(value: str) -> bytes:
    return bytes([0xA0 | len(value)]) + value.encode()


def many(field: str, entry: bytes, count: int) -> bytes:
    return b"\x81" + text(field) + b"\xdd" + struct.pack(">I", count) + entry * count


def zeros(count: int) -> bytes:
    return b"[" + b"0," * count + b"0]"


def writes() -> bytes:
    write = b'{"idx":%d,"channel":"c","tag":"t","data":"eA=="}'
    group = b'{"writes":{"checkpoint_id":"1","task_id":"%d","writes":[%s]}}'
    all_writes = b",".join(write % at for at in range(2_000))
    return b'{"thread_id":"t","ops":[%s]}' % b",".join(group % (at, all_writes) for at in range(50))


def metadata() -> bytes:
    checkpoint = b'"checkpoint_id":"1","skeleton":{"v":4},"values":[],"metadata":{"a":%s}' % zeros(
        MANY
    )
    return b'{"thread_id":"t","ops":[{"checkpoint":{%s}}]}' % checkpoint


COMMIT = "/v1/checkpoints/commit"
# Made when they are sent.
HOSTILE: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "thread_ids": ("/v1/checkpoints/prune", MSGPACK, lambda: many("thread_ids", b"\xa0", MANY)),
    "run_ids": (
        "/v1/checkpoints/delete-for-runs",
        MSGPACK,
        lambda: many("run_ids", b"\xa1a", MANY),
    ),
    "channels": ("/v1/checkpoints/history", MSGPACK, lambda: many("channels", b"\xa1a", MANY)),
    "have_values": ("/v1/checkpoints/get", MSGPACK, lambda: many("have_values", b"\xc4\x00", MANY)),
    "store ops": ("/v1/store/batch", MSGPACK, lambda: many("ops", b"\x81\xa5count\x80", MANY // 2)),
    "commit ops": (COMMIT, MSGPACK, lambda: many("ops", b"\x81\xa6writes\x80", MANY // 2)),
    "writes": (COMMIT, JSON, writes),
    "threads of a restore": (
        "/v1/snapshots/restore",
        MSGPACK,
        lambda: many("threads", b"\x91\x00", MANY),
    ),
    "lists in a restore": (
        "/v1/snapshots/restore",
        MSGPACK,
        lambda: many("threads", many("x", b"\x00", MANY), 1),
    ),
    "subjects": (
        "/v1/snapshots/restore",
        JSON,
        lambda: b'{"subjects":{%s}}' % (b'"a":"b",' * MANY)[:-1],
    ),
    "namespace": ("/v1/store/get", MSGPACK, lambda: many("namespace", b"\xa0", MANY)),
    "grants": (
        "/v1/tokens/narrow",
        JSON,
        lambda: b'{"grants":{"threads":[%s]}}' % (b"{}," * MANY)[:-1],
    ),
    "entries": (
        "/v1/sessions/append",
        JSON,
        lambda: b'{"kind":"k","key":["a"],"entries":%s}' % zeros(MANY),
    ),
    "files": ("/v1/files/upload", MSGPACK, lambda: many("files", b"\x80", MANY)),
    "paths": ("/v1/files/download", MSGPACK, lambda: many("paths", b"\xa0", MANY)),
    "numbers": ("/v1/store/search", JSON, lambda: b'{"query_vector":%s}' % zeros(MANY)),
    "filter": (
        "/v1/store/search",
        JSON,
        lambda: b'{"prefix":["a"],"filter":{"a":{"$in":%s}}}' % zeros(MANY),
    ),
    "filter of a list": (
        "/v1/checkpoints/list",
        JSON,
        lambda: b'{"filter":{"a":%s}}' % zeros(MANY),
    ),
    "metadata": (COMMIT, JSON, metadata),
    "value": (
        "/v1/store/put",
        JSON,
        lambda: b'{"namespace":["a"],"key":"k","value":{"a":%s}}' % zeros(MANY),
    ),
    "a long name": ("/v1/threads/get", JSON, lambda: b'{"%s":1}' % (b"x" * (20 * MIB))),
    "a long text": ("/v1/threads/get", JSON, lambda: b'{"thread_id":"%s"}' % (b"x" * (20 * MIB))),
    "4 G": (
        "/v1/checkpoints/prune",
        MSGPACK,
        lambda: many("thread_ids", b"", 0)[:-4] + b"\xff" * 4,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_takes_little_more_than_itself(measured: Measured, name: str) -> None:
    path, media, made = HOSTILE[name]
    body = made()
    status, answer, taken = measured.post(path, media, body)

    assert status in (400, 413, 422), answer
    assert answer["code"] in ("malformed_body", "too_large", "invalid"), answer
    # Lists are refused while they are read: beside the body, with room to grow, nothing is made of them.
    times = TIMES if name.startswith("a long") else 3
    assert taken <= times * len(body) + BESIDE_BYTES, f"{taken >> 20} MiB for {len(body) >> 20} MiB"


def test_an_edit_that_would_make_gigabytes_takes_no_memory(measured: Measured) -> None:
    file = {"namespace": ["ann"], "path": "/a", "content": "a" * 100_000}
    status, answer, _ = measured.post("/v1/files/write", JSON, json.dumps(file).encode())
    assert status == 200, answer
    edit = {"namespace": ["ann"], "path": "/a", "old_string": "a", "replace_all": True}
    body = json.dumps({**edit, "new_string": "b" * 100_000}).encode()
    status, answer, taken = measured.post("/v1/files/edit", JSON, body)

    assert (status, answer["code"], answer["field"]) == (413, "too_large", "new_string")
    assert answer["limit"] == 16 * MIB
    assert taken <= TIMES * len(body) + BESIDE_BYTES, f"{taken >> 20} MiB"


@pytest.mark.parametrize("read", ["get", "search"])
def test_a_batch_that_reads_one_value_many_times_takes_no_memory(
    measured: Measured, read: str
) -> None:
    namespace = [f"read by {read}"]
    size = 24 * MIB if read == "get" else MIB
    item = {"namespace": namespace, "key": "k", "value": {"a": "a" * size}}
    status, answer, _ = measured.post("/v1/store/put", JSON, json.dumps(item).encode())
    assert status == 200, answer
    place = {"namespace": namespace, "key": "k"} if read == "get" else {"prefix": namespace}
    body = json.dumps({"ops": [{read: place}] * 1_000}).encode()
    status, answer, taken = measured.post("/v1/store/batch", JSON, body)

    assert (status, answer["code"], answer["limit"]) == (413, "too_large", 64 * MIB), answer
    assert taken <= 4 * 64 * MIB, f"{taken >> 20} MiB"
