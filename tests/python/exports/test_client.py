"""`client.export` and `client.import_` on the real server: a tenant becomes another one's, whole and refused where it cannot."""

import io
import os
from pathlib import Path
from typing import Any

import pytest
from threadkeep import AsyncClient, Client
from threadkeep.errors import (
    ExportFileError,
    ImportConflictError,
    NotFoundError,
    NotGrantedError,
    SnapshotNotFoundError,
)
from threadkeep.snapshots import SessionName
from threadkeep.transfers import Imported

from snapshots.world import FILES, ROOT, SESSION, THREADS, World, config
from support.proxy import Proxy
from support.server import Server

LARGE = os.urandom(5 << 20)
"""A file whose bytes are no part of its item."""
KINDS = ("threads", "sessions", "items", "settings", "policies", "snapshots")


@pytest.fixture
def world(server: Server, api_key: str) -> World:
    """A tenant that has something of everything."""
    made = World(server.url, api_key)
    for step in ("one", "two", "three"):
        made.move(step)
    made.client.files.put_content(FILES, "/large.bin", io.BytesIO(LARGE))
    made.client.snapshots.take("s", threads=["t"])
    return made


@pytest.fixture
def other(server: Server) -> World:
    """A tenant that has nothing."""
    return World(server.url, server.new_key())


@pytest.fixture
def file(world: World, tmp_path: Path) -> Path:
    """All of the first tenant."""
    path = tmp_path / "acme.export"
    assert world.client.export(path) == path.stat().st_size
    return path


def counts(done: Imported, name: str) -> dict[str, int]:
    """What is so named, of the kinds that have any of it."""
    found = {kind: getattr(getattr(done, kind), name) for kind in KINDS}
    return {kind: count for kind, count in found.items() if count}


def everything(world: World) -> dict[str, Any]:
    large = io.BytesIO()
    world.client.files.get_content(FILES, "/large.bin", large)
    return {**world.shown(), "large": large.getvalue(), "snapshot": world.client.snapshots.get("s")}


def is_empty(world: World) -> bool:
    threads = world.client.list_threads().threads
    sessions = world.client.sessions.load(*SESSION)
    return not (threads or world.items(ROOT) or sessions or world.client.snapshots.get("s"))


def test_a_tenant_becomes_another_one(world: World, other: World, file: Path) -> None:
    would = other.client.import_(file, dry_run=True)
    assert would.dry_run and is_empty(other)
    done = other.client.import_(file)
    assert not done.dry_run and not done.is_signed
    items = len(world.items(ROOT))
    made = {"threads": len(THREADS), "sessions": 1, "items": items, "snapshots": 1}
    assert counts(done, "created") == counts(would, "created") == made
    assert everything(other) == everything(world)
    again = other.client.import_(file)
    assert counts(again, "created") == {} and counts(again, "unchanged") == made
    # Agents go on where they stopped.
    for side in (world, other):
        side.move("four")
    states = [side.graph().get_state(config("t")).values for side in (world, other)]
    assert states[0] == states[1]
    assert "four" in states[1]["log"]


def test_parts_come_alone(world: World, other: World, tmp_path: Path) -> None:
    for parts, made in [
        ({"threads": ["..", "t"]}, {"threads": 2}),
        ({"sessions": [SESSION]}, {"sessions": 1}),
        ({"namespaces": [FILES]}, {"items": 5}),
        ({"snapshots": ["s"]}, {"snapshots": 1}),
    ]:
        held = io.BytesIO()
        world.client.export(held, **parts)  # type: ignore[arg-type]
        held.seek(0)
        assert counts(other.client.import_(held), "created") == made
    assert {one.thread_id for one in other.client.list_threads().threads} == {"..", "t"}
    assert other.thread("t") == world.thread("t")
    assert other.session(SESSION) == world.session(SESSION)
    target = tmp_path / "absent"
    target.write_bytes(b"the only copy")
    absent: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"threads": ["t", "absent"]}, NotFoundError),
        ({"sessions": [SessionName("test", ("absent",))]}, NotFoundError),
        ({"snapshots": ["absent"]}, SnapshotNotFoundError),
    ]
    for part, error in absent:
        with pytest.raises(error):
            world.client.export(target, **part)
    assert target.read_bytes() == b"the only copy"
    assert list(tmp_path.iterdir()) == [target]


def test_nothing_comes_of_a_file_that_is_cut_off_or_damaged_unless_it_is_sent_once(
    world: World, other: World, file: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(file.read_bytes()[:-1])
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    for options in ({}, {"overwrite": True}, {"dry_run": True}):
        with pytest.raises(ExportFileError) as caught:
            other.client.import_(cut, **options)
        assert caught.value.code == "export_truncated"
        with pytest.raises(ExportFileError) as caught:
            other.client.import_(io.BytesIO(damaged), **options)
        assert caught.value.code == "export_damaged"
        assert is_empty(other)
    with pytest.raises(ExportFileError):
        other.client.import_(cut, check_first=False)
    # Only the last frame is missing.
    assert everything(other) == everything(world)
    assert counts(other.client.import_(file), "created") == {}


def test_what_is_there_otherwise_is_replaced_only_where_that_is_asked_for(
    world: World, other: World, file: Path
) -> None:
    other.client.import_(file)
    other.move("of its own")
    moved = other.shown()
    with pytest.raises(ImportConflictError, match="threads 3, sessions 1, items 2"):
        other.client.import_(file)
    with pytest.raises(ImportConflictError) as caught:
        other.client.import_(file, check_first=False)
    assert caught.value.status == 409
    would = other.client.import_(file, dry_run=True)
    # Of the items those that both worlds change at every step; what is new here is in no file.
    changed = {"threads": len(THREADS), "sessions": 1, "items": 2}
    assert counts(would, "conflicts") == changed
    assert counts(other.client.import_(file, dry_run=True, overwrite=True), "replaced") == changed
    assert other.shown() == moved
    done = other.client.import_(file, overwrite=True)
    assert counts(done, "replaced") == changed and counts(done, "conflicts") == {}
    shown, expected = other.shown(), world.shown()
    assert (shown["threads"], shown["sessions"]) == (expected["threads"], expected["sessions"])
    assert [item for item in shown["namespaces"] if item in expected["namespaces"]] == expected[
        "namespaces"
    ]


async def test_coroutines_do_the_same(
    server: Server, world: World, other: World, tmp_path: Path
) -> None:
    here, there = (AsyncClient(server.url, api_key=one._access[1]) for one in (world, other))
    path = tmp_path / "parts"
    size = await here.export(path, threads=THREADS, namespaces=[ROOT], sessions=[SESSION])
    assert size == path.stat().st_size
    assert counts(await there.import_(path, dry_run=True), "created")["threads"] == len(THREADS)
    assert is_empty(other)
    await there.import_(path)
    assert other.shown() == world.shown()
    other.move("of its own")
    with pytest.raises(ImportConflictError):
        await there.import_(path)
    await there.import_(path, overwrite=True)
    assert other.thread("t") == world.thread("t")


def test_lost_replies_are_asked_for_again(
    server: Server, world: World, other: World, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    with Proxy(server.url) as proxy:
        here, there = (Client(proxy.url, api_key=one._access[1]) for one in (world, other))
        proxy.lose(1)
        here.export(path)
        proxy.lose(1)
        done = there.import_(path, check_first=False)
        assert proxy.lost == 2
    # The first time all of it was imported, and nobody heard of it.
    assert counts(done, "created") == {} and counts(done, "unchanged")["threads"] == len(THREADS)
    assert everything(other) == everything(world)


def test_a_token_of_a_subject_may_not(server: Server, world: World, file: Path) -> None:
    token = world.client.tokens.mint("ann", ttl_seconds=900)
    sandbox = Client(server.url, api_key=token.token)
    with pytest.raises(NotGrantedError):
        sandbox.export(file)
    with pytest.raises(NotGrantedError):
        sandbox.import_(file)
