"""Stores what tests of memory read: threads, items, files, sessions and snapshots, large ones and many. Packed they are small."""

import base64
import io
import json
import tarfile
from typing import Any, NamedTuple

import msgpack  # type: ignore[import-untyped]

from support.http import MSGPACK
from support.measured import Measured
from support.server import Place

MIB = 1 << 20
BYTES = "application/octet-stream"
# By a UUID, as a thread of the Agent Server wire.
WIDE = "6f1d2a0e-7c53-4d0a-9a57-0b1c2d3e4f50"
# Of a size that a read opens whole.
WHOLE = "6f1d2a0e-7c53-4d0a-9a57-0b1c2d3e4f51"
ITEMS = ["large items"]
VERSIONS = {"namespace": ["versions"], "key": "k"}
SUBJECT = "ann"
DRIVE = [SUBJECT, "workspace"]
FILES = [SUBJECT, "files"]
SESSION = {"kind": "large", "key": ["s"]}
STREAM_ENTRIES = 12
SNAPSHOT, WITH_ARCHIVE, OF_PAGE = "large", "with-archive", "page"
ARCHIVE_BYTES = 48 * MIB
COUNT = 1_000
MANY = ["many"]
PART = base64.b64encode(bytes(2 * MIB)).decode()


class Stored(NamedTuple):
    """A folder on which no server runs, and keys of a tenant with large things and of one with many."""

    place: Place
    large: str
    many: str


def put_large_things(it: Measured) -> None:
    """Of one tenant: each is as large as one request reads."""
    put_large_threads(it)
    put_large_items(it)
    put_large_files(it)
    put_large_session(it)
    put_large_snapshots(it)


def put_large_threads(it: Measured) -> None:
    # The newest checkpoint of this thread has 200 MiB of zeros in five channels, each of its own commit.
    for at in range(5):
        put = checkpoint(at, 40 * MIB, channel=f"c{at}")
        versions = {f"c{of}": f"{of}" for of in range(at + 1)}
        if at > 0:
            put["parent_checkpoint_id"] = f"{at - 1:04}"
        commit(it, WIDE, put | {"skeleton": skeleton(versions)})
    commit(it, WHOLE, checkpoint(0, 40 * MIB))
    put_value_in_parts(it, "parts")
    for at in range(12):
        commit(it, "page", checkpoint(at, 12 * MIB))
        commit(it, "documents", checkpoint(at, metadata=12 * MIB))


def put_value_in_parts(it: Measured, thread: str) -> None:
    commit(it, thread, checkpoint(0))
    names = []
    for index in range(6):
        part = {"thread_id": thread, "index": index, "data": PART}
        names.append(it.do("/v1/checkpoints/parts/put", part)["name"])
    put = json_checkpoint("0001", {"messages": "1"})
    data = {"parts": names, "length": 12 * MIB}
    put["values"] = [{"channel": "messages", "version": "1", "tag": "bytes", "data": data}]
    body = {"thread_id": thread, "ops": [{"checkpoint": put}]}
    it.do("/v1/checkpoints/commit", body)


def put_large_items(it: Measured) -> None:
    it.do("/v1/store/settings/put", {"namespace": ITEMS, "text_fields": ["content"]})
    for at in range(12):
        # Small when it is compressed, and in no part like another.
        pad = "".join(f"{at} {block}" + "a" * 8_000 for block in range(12 * MIB // 8_000))
        value = {"content": "a word", "pad": pad}
        it.do("/v1/store/put", {"namespace": ITEMS, "key": f"/d/{at}", "value": value})
    it.do("/v1/store/settings/put", {"namespace": VERSIONS["namespace"], "history": 20})
    for at in range(3):
        value = {"pad": f"{at}" + "a" * (12 * MIB)}
        it.do("/v1/store/put", VERSIONS | {"value": value})


def put_large_files(it: Measured) -> None:
    lines = "a line of a file\n" * (15 * MIB // 17)
    for at in range(2):
        it.do("/v1/files/write", {"namespace": FILES, "path": f"/d/{at}", "content": lines})
    path = "/v1/files/content?" + "".join(f"ns={label}&" for label in DRIVE) + "path=/film"
    it.done("PUT", path, bytes(40 * MIB), BYTES)


def put_large_session(it: Measured) -> None:
    it.do("/v1/sessions/create", SESSION)
    for at in range(STREAM_ENTRIES):
        entry = {"data": {"pad": f"{at}" + "a" * (4 * MIB)}}
        it.do("/v1/sessions/append", SESSION | {"stream": "messages", "entries": [entry]})
    for name in ("NOTES.md", "other"):
        document = {"name": name, "content": "a" * (12 * MIB)}
        it.do("/v1/sessions/documents/put", SESSION | document)


def put_large_snapshots(it: Measured) -> None:
    document = {"pad": "a" * (MIB - 1_000)}
    taken = {"namespaces": [FILES, VERSIONS["namespace"]], "sessions": [SESSION]}
    it.do(
        "/v1/snapshots/take",
        {"snapshot_id": SNAPSHOT, "threads": [{"thread_id": WHOLE}], "document": document} | taken,
    )
    it.do("/v1/snapshots/take", {"snapshot_id": OF_PAGE, "threads": [{"thread_id": "page"}]})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("large")
        member.size = ARCHIVE_BYTES
        archive.addfile(member, io.BytesIO(bytes(ARCHIVE_BYTES)))
    staged = it.done("PUT", "/v1/snapshots/archive?workspace=w", packed.getvalue(), BYTES)
    it.do("/v1/snapshots/take", {"snapshot_id": WITH_ARCHIVE, "archive": staged["archive_id"]})


def put_many_things(it: Measured) -> None:
    """Of another tenant: pages and counts of many of each."""
    value = {"text": "a" * 2_000}
    puts = [
        {"put": {"namespace": [*MANY, f"{at}"], "key": "k", "value": value}} for at in range(COUNT)
    ]
    it.do("/v1/store/batch", {"ops": puts, "atomic": False})
    files = [{"path": f"/{at}/file", "bytes": "YSBsaW5lCg=="} for at in range(COUNT)]
    it.do("/v1/files/upload", {"namespace": DRIVE, "files": files})
    metadata = {"graph_id": "agent", "pad": "a" * 60_000}
    for at in range(COUNT // 10):
        it.do("/v1/threads/create", {"thread_id": f"t-{at}", "metadata": metadata})
        key = {"kind": "many", "key": [f"s-{at}"], "user": SUBJECT}
        it.do("/v1/sessions/create", key)
        it.do("/v1/snapshots/take", {"document": {"pad": "a" * 100_000}})
    for at in range(COUNT // 10):
        ops = [{"checkpoint": json_checkpoint(f"{at:04}", {})}]
        it.do("/v1/checkpoints/commit", {"thread_id": WIDE, "ops": ops})
    entries = [{"data": {"n": at, "pad": "a" * 200}} for at in range(COUNT * 10)]
    session = {"kind": "many", "key": ["s-0"]}
    it.do("/v1/sessions/append", session | {"stream": "messages", "entries": entries})
    for at in range(COUNT // 10):
        it.do("/v1/sessions/append", session | {"stream": f"{at}", "entries": entries[:1]})
        it.do("/v1/sessions/documents/put", session | {"name": f"d-{at}", "content": "a" * 10_000})


def json_checkpoint(checkpoint_id: str, versions: dict[str, str]) -> dict[str, Any]:
    return {
        "checkpoint_id": checkpoint_id,
        "skeleton": {"v": 4, "channel_versions": versions},
        "metadata": {"source": "loop", "pad": "a" * 10_000},
        "values": [],
    }


def skeleton(versions: dict[str, str]) -> bytes:
    return json.dumps({"v": 4, "channel_versions": versions}).encode()


def checkpoint(
    at: int, value: int = 0, *, channel: str = "messages", metadata: int = 0
) -> dict[str, Any]:
    """A checkpoint with a value and metadata of so many bytes."""
    data = {"channel": channel, "version": b'"%d"' % at, "tag": "bytes", "data": bytes(value)}
    return {
        "checkpoint_id": f"{at:04}",
        "skeleton": skeleton({channel: f"{at}"}),
        "metadata": json.dumps({"step": at, "pad": "a" * metadata}).encode(),
        "values": [data],
    }


def commit(it: Measured, thread: str, put: dict[str, Any]) -> None:
    body = msgpack.packb({"thread_id": thread, "ops": [{"checkpoint": put}]})
    it.done("POST", "/v1/checkpoints/commit", body, MSGPACK)
