"""Clients that ask for more than a server should do for them. Each takes every refusal, and goes on until it is cancelled."""

import gzip
import io
import json
import tarfile
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import msgpack  # type: ignore[import-untyped]
import zstandard

from support import attacks_that_hold
from support.asking import Client
from support.http import MSGPACK
from support.native import checkpoint

Attack = Callable[[Client], Awaitable[None]]
MIB = 1 << 20
COMMIT = "/v1/checkpoints/commit"
BYTES = "application/octet-stream"


async def globs(it: Client) -> None:
    """Patterns that are deep, that explode, and that try every way to match a long name."""
    namespace = [it.subject, "globs"]
    file = {"namespace": namespace, "path": "/" + "a" * 200, "content": "a"}
    await it.must("POST", "/v1/files/write", file)
    patterns = [
        ("python", "{a," * 8_000 + "a" + "}" * 8_000),
        ("python", "{a,b}" * 40),
        ("python", "**/" * 300 + "b"),
        ("javascript", "@(" * 6_000 + "a" + ")" * 6_000),
        ("javascript", "*(*(*(*(*(*(a))))))b"),
        ("javascript", "!(!(a*)*)" * 8 + "b"),
        ("javascript", "+(a|aa|aaa)" * 12 + "b"),
    ]
    turn = iter(range(1 << 62))

    async def one() -> None:
        dialect, pattern = patterns[next(turn) % len(patterns)]
        search = {"namespace": namespace, "dialect": dialect}
        await it.post("/v1/files/glob", search | {"pattern": pattern})
        await it.post("/v1/files/grep", search | {"pattern": "a", "glob": pattern})

    await it.for_ever(2, one)


async def replacements(it: Client) -> None:
    """An edit whose result would have ten gigabytes."""
    file = {"namespace": [it.subject, "edits"], "path": "/a"}
    await it.must("POST", "/v1/files/write", file | {"content": "a" * 100_000})
    edit = file | {"old_string": "a", "new_string": "b" * 100_000, "replace_all": True}
    await it.for_ever(2, lambda: it.post("/v1/files/edit", edit))


@cache
def _long_list(field: str) -> bytes:
    """A body of seventy million empty texts, in MessagePack; packed it has 68 KB."""
    count = 70_000_000
    start = b"\x82" + msgpack.packb("thread_id") + msgpack.packb("t")
    array = b"\xdd" + count.to_bytes(4, "big") + b"\xa0" * count
    return gzip.compress(start + msgpack.packb(field) + array, 6)


async def long_lists(it: Client) -> None:
    """Lists far over their limits, in small bodies."""
    bodies = {
        "/v1/checkpoints/prune": _long_list("thread_ids"),
        "/v1/checkpoints/delete-for-runs": _long_list("run_ids"),
        "/v1/checkpoints/history": _long_list("channels"),
    }

    async def one() -> None:
        for path, body in bodies.items():
            await it.ask("POST", path, body, content_type=MSGPACK, content_encoding="gzip")

    await it.for_ever(3, one)


async def bombs(it: Client) -> None:
    """Bodies of a few kilobytes that stand for the largest that is allowed, and for more."""
    sizes = [71 * MIB, 80 * MIB, 256 * MIB]
    packed = [zstandard.compress(b" " * size) for size in sizes]

    async def one() -> None:
        for body in packed:
            await it.ask("POST", "/v1/checkpoints/get", body, content_encoding="zstd")

    await it.for_ever(10, one)


async def large_commits(it: Client) -> None:
    """As many small writes in one commit as there may be, and many more."""
    limits = (await it.must("GET", "/v1/limits", b"")).json()
    allowed = limits.get("writes_per_commit_max", 256 * 2_000)
    entry = {"channel": "c", "tag": "x", "data": "eA=="}
    texts = [json.dumps(entry | {"idx": index}) for index in range(2_000)]

    def body(writes: int, thread: str) -> bytes:
        ops = []
        for task, first in enumerate(range(0, writes, 2_000)):
            group = ",".join(texts[: min(2_000, writes - first)])
            place = f'"checkpoint_ns":"","checkpoint_id":"1","task_id":"{task}"'
            ops.append(f'{{"writes":{{{place},"writes":[{group}]}}}}')
        text = f'{{"thread_id":"{thread}","ops":[{",".join(ops)}]}}'
        return gzip.compress(text.encode(), 1)

    thread = f"{it.subject}:large"
    packed = [body(min(allowed, 512_000), thread), body(512_000, thread)]

    async def one() -> None:
        for commit in packed:
            await it.ask("POST", COMMIT, commit, content_encoding="gzip")

    await it.for_ever(2, one)


async def searches(it: Client) -> None:
    """Searches that look at every item and find none."""
    namespace = [it.subject, "searched"]
    for first in range(0, 4_000, 1_000):
        puts = [
            {"put": {"namespace": namespace, "key": f"k{key}", "value": {"t": "a" * 1_500}}}
            for key in range(first, first + 1_000)
        ]
        await it.must("POST", "/v1/store/batch", {"ops": puts, "atomic": False})
    search = {"prefix": namespace, "filter": {"t": {"$gt": "zzz"}}}
    await it.for_ever(32, lambda: it.post("/v1/store/search", search))


async def revocations(it: Client) -> None:
    """Tokens that are narrowed and revoked, to fill the list of what is revoked."""

    async def one() -> None:
        grants = {"namespaces": [{"prefix": [it.subject, "notes"], "actions": ["read"]}]}
        made = await it.post("/v1/tokens/narrow", {"grants": grants})
        if made.status == "200":
            key = {"authorization": f"Bearer {made.json()['token']}"}
            await it.post("/v1/tokens/revoke", {}, **key)

    await it.for_ever(8, one)


async def deep_states(it: Client) -> None:
    """Values that are deep, wide and nested in extensions, to be shown as JSON."""
    nested = b"x"
    for _ in range(20):
        nested = msgpack.packb(msgpack.ExtType(0, nested * 2))
    wide = b"\xdd" + (4_000_000).to_bytes(4, "big") + b"\xc0" * 4_000_000
    values = {"deep": b"\x91" * 4_000_000 + b"\xc0", "wide": wide, "nested": nested}
    thread = f"{it.subject}:deep"
    body = msgpack.packb({"thread_id": thread, "ops": [checkpoint("1", values)]})
    await it.must("POST", COMMIT, body, content_type=MSGPACK)

    async def one() -> None:
        await it.ask("GET", f"/v1/state?thread_id={thread}")
        await it.ask("GET", f"/v1/checkpoints/values?thread_id={thread}")

    await it.for_ever(4, one)


def _archive(size: int, names: list[str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(bytes(size)))
    return packed.getvalue()


async def archives(it: Client) -> None:
    """Archives that unpack to a thousand times their size, in one member and in many."""
    large = _archive(128 * MIB, ["large"])
    many = _archive(0, [f"{number}" for number in range(10_001)])
    packed = [zstandard.compress(large), gzip.compress(large, 1), gzip.compress(many, 1)]

    async def one() -> None:
        for body in packed:
            await it.ask("PUT", "/v1/snapshots/archive?workspace=w", body, content_type=BYTES)
            await it.ask("POST", "/v1/sandboxes/artifacts?path=x", body, content_type=BYTES)

    await it.for_ever(2, one)


async def greps(it: Client) -> None:
    """Searches through large files: no hit at all, and a hit on every line."""
    namespace = [it.subject, "large"]
    for number in range(4):
        file = {"namespace": namespace, "path": f"/{number}", "content": "a line\n" * 500_000}
        await it.must("POST", "/v1/files/write", file)

    async def one() -> None:
        for pattern in ("nothing", "a"):
            await it.post("/v1/files/grep", {"namespace": namespace, "pattern": pattern})

    await it.for_ever(8, one)


async def index_paths(it: Client) -> None:
    """Paths that name the same large text some thousand times, for a server that makes embeddings."""
    paths = ["{" + ",".join(["a"] * 250) + "}"] * 4
    item: dict[str, Any] = {"namespace": [it.subject, "indexed"], "key": "k", "index": paths}
    item["value"] = {"a": "a text " * (MIB // 2)}
    await it.for_ever(2, lambda: it.post("/v1/store/put", item))


async def honest(it: Client) -> None:
    """What everybody else does."""
    thread, turn = f"{it.subject}:honest", iter(range(1 << 62))

    async def one() -> None:
        number = next(turn)
        op = checkpoint(f"{number:08}", {"messages": f"turn {number}".encode()}, step=number)
        commit = msgpack.packb({"thread_id": thread, "ops": [op]})
        await it.must("POST", COMMIT, commit, content_type=MSGPACK)
        await it.must("POST", "/v1/checkpoints/get", {"thread_id": thread})
        place = {"namespace": [it.subject, "honest"]}
        await it.must("POST", "/v1/store/put", place | {"key": "k", "value": {"n": number}})
        await it.must("POST", "/v1/store/search", {"prefix": place["namespace"]})

    await it.for_ever(1, one)


# One client of each kind is all that the mixed rounds have.
ATTACKS: dict[str, Attack] = {
    "globs": globs,
    "replacements": replacements,
    "long lists": long_lists,
    "bombs": bombs,
    "idle parts": attacks_that_hold.idle_parts,
    "slow downloads": attacks_that_hold.slow_downloads,
    "unread answers": attacks_that_hold.unread_answers,
    "large commits": large_commits,
    "searches": searches,
    "connections": attacks_that_hold.connections,
    "revocations": revocations,
    "followers": attacks_that_hold.followers,
    "deep states": deep_states,
    "archives": archives,
    "greps": greps,
    "index paths": index_paths,
}
