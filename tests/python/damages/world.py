"""A database with some tenants, what is in it, and ways to damage its file."""

import hashlib
import random
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]

from support import settings
from support.native import Native, checkpoint, writes
from support.server import Place, Server, clean_environment

# In the order of the indexes. Long, so that a page with one of them belongs to it.
TENANTS = ["tenant-amber", "tenant-birch", "tenant-cedar", "tenant-dahlia"]
THREADS = 7
CHECKPOINTS = 3
ITEMS = 30
FILES = 3
PAGE_BYTES = 4096
# Leaves of indexes and of tables: their rows begin with the tenant.
LEAVES = (0x0A, 0x0D)
PREAMBLE_END = b"\n\n"
CHECK_BYTES = 32

# Columns that have no digest: a flipped bit in them is found only where an index repeats the column.
WITHOUT_DIGEST = {
    "thread": {"generation", "fence", "owner", "created_at", "updated_at", "last_step"}
    | {"graph_id", "assistant_id", "user_id"},
    "checkpoint": {"parent", "created_at"},
    "value": {"tag"},
    "write": {"task_path", "channel", "writer", "tag"},
    "session": {"owner", "user_id", "agent", "created_at", "updated_at", "archives"}
    | {"next_log", "size_bytes"},
    "log": {"compacted_head", "size_bytes", "updated_at", "version", "name", "part"},
    "entry": {"id", "at"},
    "item": {"created_at", "updated_at", "ttl_micros", "expires_at", "history", "version"},
    "policy": set(),
}


def fill(server: Server) -> None:
    """Each tenant after the other, so that the pages of a table are mostly of one of them."""
    some = random.Random(7)

    def text(size: int) -> str:
        return "".join(some.choices("abcdefghij klmnop", k=size))

    for tenant, key in zip(TENANTS, server.make_keys(TENANTS), strict=True):
        native = Native(server.url, key)
        for number in range(THREADS):
            parent = None
            for step in range(CHECKPOINTS):
                here = f"{number:02}-{step:06}"
                # The greatest one has chunks.
                size = 30_000 if number == 0 else 700
                values = {"log": text(size).encode(), "small": text(40).encode()}
                thread_id = f"{tenant}/thread-{number:03}"
                op = checkpoint(here, values, parent=parent, step=step)
                native.commit(thread_id, op, writes(here, "task", [text(300).encode()]))
                parent = here
        native.close()

        def post(path: str, body: Any, key: str = key) -> None:
            answer = server.post(path, body, key)
            assert answer.status in (200, 201, 204), answer

        for number in range(ITEMS):
            place = {"namespace": [tenant, f"group-{number % 4}"], "key": f"item-{number:04}"}
            size = 9_000 if number % 20 == 0 else 200
            post("/v1/store/put", place | {"value": {"text": text(size)}})
        for number in range(FILES):
            file = {"namespace": [tenant, "workspace"], "path": f"/note-{number}.md"}
            post("/v1/files/write", file | {"content": text(500)})
        for number in range(3):
            entries = [{"data": {"said": text(200)}} for _ in range(4)]
            session = {"kind": "talks", "key": [tenant, f"session-{number}"]}
            post("/v1/sessions/append", session | {"entries": entries})


def run(folder: Path, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [settings.BINARY, *arguments, "--data-dir", folder],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )


Record = tuple[str, Any]


def records(file: Path) -> list[Record]:
    """The records of an export, each held against its check; it must have an end."""
    data = file.read_bytes()
    at = data.index(PREAMBLE_END) + len(PREAMBLE_END)
    check = hashlib.sha256(data[:at]).digest()
    found: list[Record] = []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        payload = data[at + 4 : at + 4 + length]
        check = hashlib.sha256(check + payload).digest()
        at += 4 + length + CHECK_BYTES
        assert data[at - CHECK_BYTES : at] == check
        found += msgpack.unpackb(payload, strict_map_key=False).items()
    assert found[0][0] == "begin" and found[-1][0] == "finish"
    return found


def _stripped(value: Any, left_out: set[str]) -> Any:
    if isinstance(value, dict):
        return {k: _stripped(v, left_out) for k, v in value.items() if k not in left_out}
    return value


def nouns(file: Path) -> list[str]:
    """What is in an export, noun by noun and items one by one, but for columns without a digest."""
    found: list[str] = []
    noun: list[Record] = []
    for name, record in records(file)[1:-1]:
        if name in ("item", "end") and noun and noun[0][0] in ("item", "end"):
            found.append(repr(noun))
            noun = []
        if name != "end":
            noun.append((name, _stripped(record, WITHOUT_DIGEST.get(name, set()))))
        elif noun:
            found.append(repr(noun))
            noun = []
    return sorted(found)


@dataclass
class Damage:
    what: str
    # None: any page.
    pages: set[int] | None

    def touched(self, original: bytes) -> set[str]:
        """Tenants whose rows may be on a page, and those beside them in its index."""
        names = set(TENANTS)
        if self.pages is None:
            return names
        touched: set[str] = set()
        for page in self.pages:
            start = page * PAGE_BYTES
            block = original[start : start + PAGE_BYTES]
            if page == 0 or block[0] not in LEAVES:
                return names
            here = {name for name in TENANTS if name.encode() in block}
            if not here:
                return names
            touched |= here
        beside = set()
        for name in touched:
            at = TENANTS.index(name)
            beside |= {*TENANTS[max(at - 1, 0) : at + 2]}
        return beside


def _zeroed(file: bytearray, some: random.Random) -> Damage:
    page = some.randrange(len(file) // PAGE_BYTES)
    start = page * PAGE_BYTES
    length = some.choice([PAGE_BYTES, PAGE_BYTES, 512])
    file[start : start + length] = bytes(length)
    return Damage(f"{length} bytes of page {page} zeroed", {page})


def _flipped(file: bytearray, some: random.Random) -> Damage:
    place = some.randrange(len(file))
    bit = some.randrange(8)
    file[place] ^= 1 << bit
    return Damage(f"bit {bit} of byte {place} flipped", {place // PAGE_BYTES})


def _garbage(file: bytearray, some: random.Random) -> Damage:
    page = some.randrange(1, len(file) // PAGE_BYTES)
    start = page * PAGE_BYTES + some.choice([0, 100, 1_000])
    length = some.choice([16, 512])
    file[start : start + length] = some.randbytes(length)
    return Damage(f"{length} bytes at {start} overwritten", {page})


def _swapped(file: bytearray, some: random.Random) -> Damage:
    pages = some.sample(range(1, len(file) // PAGE_BYTES), 2)
    one, two = (slice(page * PAGE_BYTES, (page + 1) * PAGE_BYTES) for page in pages)
    file[one], file[two] = file[two], file[one]
    return Damage(f"pages {pages} swapped", set(pages))


def _cut(file: bytearray, some: random.Random) -> Damage:
    length = some.randrange(1, len(file))
    del file[length:]
    return Damage(f"cut to {length} bytes", None)


KINDS: list[Callable[[bytearray, random.Random], Damage]] = [
    _zeroed,
    _flipped,
    _garbage,
    _swapped,
    _flipped,
    _zeroed,
    _cut,
]


class World:
    """The sound file, and what it holds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        place, other = Place(), Place()
        try:
            server = Server(place).start()
            fill(server)
            assert server.stop() == 0
            self.file = (place.folder / "data" / "threadkeep.db").read_bytes()
            # A log with all of a database would be that database.
            assert Server(other).start().stop() == 0
            foreign = Server(other).start()
            foreign.make_keys(["tenant-other"])
            foreign.kill()
            self.foreign_log = (other.folder / "data" / "threadkeep.db-wal").read_bytes()
            assert 0 < len(self.foreign_log) < len(self.file) // 2
        finally:
            place.remove()
            other.remove()
        self.sound = self.folder / "sound"
        self.write(self.sound, self.file)
        self.nouns = {tenant: self.exported(self.sound, tenant)[1] for tenant in TENANTS}

    def write(self, folder: Path, file: bytes) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "threadkeep.db").write_bytes(file)

    def exported(
        self, folder: Path, tenant: str
    ) -> tuple["subprocess.CompletedProcess[str]", list[str]]:
        to = folder / f"{tenant}.export"
        to.unlink(missing_ok=True)
        more = ("--tenant", tenant, "--to", to, "--skip-damaged")
        done = run(folder, "export", *more)
        return done, nouns(to) if to.exists() else []

    def damages(self, count: int) -> Iterator[tuple[Damage, Path]]:
        """Copies of the database, each with a damage, in an order that is always the same."""
        some = random.Random(20)
        for number in range(count):
            folder = self.folder / "damaged"
            file = bytearray(self.file)
            if number % 20 == 19:
                self.write(folder, file)
                (folder / "threadkeep.db-wal").write_bytes(self.foreign_log)
                yield Damage("the log of another database beside it", None), folder
                continue
            damage = KINDS[number % len(KINDS)](file, some)
            self.write(folder, bytes(file))
            yield damage, folder
