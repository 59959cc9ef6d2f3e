"""Measures the memory that one request takes: at most eight times its body and 16 MiB, whatever it asks for. A read takes a bounded
amount however much is stored.

The server is a process of its own. Its highest memory is forgotten before each request (`clear_refs`) and read after it (`VmHWM`).
"""

import gzip
import http.client
import json
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.http import JSON, MSGPACK, connect, send
from support.large_things import ITEMS, WIDE, Stored
from support.server import Place, Server

MIB = 1 << 20
# Of the body once it is unpacked, and beside it.
TIMES, BESIDE_BYTES = 8, 16 * MIB
MANY = 4_000_000
# What a read takes at the most, whatever is stored: a value or two, and the answer.
READ_BYTES = 112 * MIB
# Reads at one time.
READERS = 12


class Measured:
    """A server whose memory is looked at around each request."""

    def __init__(self, server: Server, key: str | None = None):
        self.server = server
        self.key = key or server.new_key()
        self.process = Path(f"/proc/{server.pid}")

    def kib(self, name: str) -> int:
        lines = (self.process / "status").read_text().splitlines()
        return int(next(it for it in lines if it.startswith(f"{name}:")).split()[1])

    def get(self, path: str) -> tuple[int, Any, int]:
        return self.send("GET", path, None, {})

    def post(self, path: str, media: str, body: bytes) -> tuple[int, Any, int]:
        """Status, answer, and the bytes that the request took at the worst."""
        headers = {"Content-Type": media}
        packed = gzip.compress(body, 1)
        if len(packed) < len(body) // 2:
            headers["Content-Encoding"] = "gzip"
            body = packed
        return self.send("POST", path, body, headers)

    def send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, Any, int]:
        before = self.forget()
        headers = {"Accept": JSON, "X-Api-Key": self.key} | headers
        connection: http.client.HTTPConnection = connect(self.server.url)
        answer = send(connection, method, path, body, headers)
        connection.close()
        return answer.status, json.loads(answer.body), self.taken_since(before)

    def forget(self) -> int:
        """Forgets the highest memory. KiB that there are now."""
        (self.process / "clear_refs").write_text("5")
        return self.kib("VmRSS")

    def taken_since(self, before: int) -> int:
        """Bytes at the worst."""
        return (self.kib("VmHWM") - before) << 10

    def do(self, path: str, body: object) -> Any:
        """A request that is not measured and that has to be done."""
        status, answer, _ = self.post(path, JSON, json.dumps(body).encode())
        assert status == 200, answer
        return answer

    def read(self, path: str, body: object) -> tuple[int, Any, int]:
        return self.post(path, JSON, json.dumps(body).encode())


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


@pytest.fixture
def reading(stored: Stored) -> Iterator[Measured]:
    """A server that has read nothing yet."""
    server = Server(stored.place).start()
    try:
        it = Measured(server, stored.large)
        it.do("/v1/threads/get", {"thread_id": "none"})
        yield it
    finally:
        server.stop()


@pytest.mark.parametrize("value_parts", [False, True])
def test_a_checkpoint_that_no_answer_holds_is_refused_before_it_is_opened(
    reading: Measured, value_parts: bool
) -> None:
    body = {"thread_id": WIDE, "value_parts": value_parts}
    status, answer, taken = reading.read("/v1/checkpoints/get", body)

    assert (status, answer["code"], answer["limit"]) == (413, "too_large", 128 * MIB), answer
    assert answer["field"] == "value_parts"
    assert taken <= READ_BYTES, f"{taken >> 20} MiB"


def test_reads_of_one_tenant_share_its_memory(reading: Measured) -> None:
    """80 MiB each: one at a time has room, with its answer beside it."""
    body = json.dumps({"thread_id": WIDE, "checkpoint_id": "0001"}).encode()
    headers = {"X-Api-Key": reading.key, "Content-Type": JSON, "Accept": MSGPACK}

    def read(_: int) -> int:
        connection = connect(reading.server.url)
        answer = send(connection, "POST", "/v1/checkpoints/get", body, headers)
        connection.close()
        assert answer.status in (200, 503), answer
        assert answer.status == 503 or len(answer.body) > 80 * MIB
        return answer.status

    assert read(0) == 200
    before = reading.forget()
    with ThreadPoolExecutor(READERS) as readers:
        statuses = list(readers.map(read, range(READERS)))

    taken = reading.taken_since(before)
    assert 200 in statuses
    assert taken <= 2 * 128 * MIB, f"{taken >> 20} MiB for {statuses}"
    assert read(0) == 200, "what was refused holds nothing"


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/state?thread_id={WIDE}",
        f"/v1/checkpoints/values?thread_id={WIDE}",
        f"/threads/{WIDE}/state",
        f"/threads/{WIDE}/history",
    ],
)
def test_what_is_too_large_to_be_shown_is_told_by_its_size(reading: Measured, path: str) -> None:
    status, answer, taken = reading.get(path)

    assert status == 200, answer
    assert f'"size_bytes": {40 * MIB}' in json.dumps(answer)
    assert taken <= READ_BYTES, f"{taken >> 20} MiB"


def test_the_state_of_a_large_thread_is_derived_all_the_same(reading: Measured) -> None:
    body = {"status": ["idle"], "include": ["preview"]}
    status, answer, taken = reading.read("/v1/threads/search", body)

    assert status == 200, answer
    assert WIDE in [it["thread_id"] for it in answer["threads"]]
    assert taken <= READ_BYTES, f"{taken >> 20} MiB"


def test_a_page_of_large_checkpoints_opens_few_of_them(reading: Measured) -> None:
    status, answer, taken = reading.read("/v1/checkpoints/list", {"thread_id": "page"})

    assert status == 200, answer.keys()
    assert len(answer["checkpoints"]) == 1 and answer["next_cursor"]
    assert taken <= READ_BYTES, f"{taken >> 20} MiB"


def test_a_page_of_large_documents_opens_few_of_them(reading: Measured) -> None:
    body = {"thread_id": "documents", "values": False}
    status, answer, taken = reading.read("/v1/checkpoints/list", body)

    assert status == 200, answer.keys()
    assert len(answer["checkpoints"]) == 1 and answer["next_cursor"]
    assert taken <= READ_BYTES, f"{taken >> 20} MiB"


ITEM_READS: dict[str, tuple[str, dict[str, object]]] = {
    "a filter": ("/v1/store/search", {"filter": {"content": "other"}}),
    "words": ("/v1/store/search", {"mode": "text", "query": "word", "filter": {"content": "b"}}),
    "vectors": ("/v1/store/search", {"query_vector": [1, 0], "filter": {"content": "b"}}),
    "a count": ("/v1/store/count", {"filter": {"content": "other"}}),
    "grep": ("/v1/files/grep", {"pattern": "nothing"}),
    "a download": ("/v1/files/download", {"paths": [f"/d/{at}" for at in range(12)]}),
    "a move": ("/v1/files/move", {"from": "/d", "to": "/e"}),
}


@pytest.mark.parametrize("name", ITEM_READS)
def test_large_items_are_opened_a_few_at_a_time(reading: Measured, name: str) -> None:
    path, body = ITEM_READS[name]
    of = "prefix" if "store" in path else "namespace"
    status, answer, taken = reading.read(path, {of: ITEMS} | body)

    assert status == (413 if name == "a move" else 200), answer
    assert taken <= READ_BYTES * (2 if name == "a move" else 1), f"{taken >> 20} MiB"
