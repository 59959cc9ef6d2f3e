"""What the doctor says of one damage, and what an export does about it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from damages.world import PAGE_BYTES, TENANTS, World, run

TABLE_LEAF = 0x0D
FIRST, LAST = TENANTS[0], TENANTS[-1]


def report(folder: Path, *more: str) -> tuple[int, Any]:
    done = run(folder, "doctor", "--format", "json", *more)
    return done.returncode, json.loads(done.stdout)


def page_of(world: World, tenant: str, table: str) -> int:
    """The first page of a table that has rows of this tenant alone."""
    with closing(sqlite3.connect(world.sound / "threadkeep.db")) as connection:
        rows = connection.execute(f"select documents from {table} where tenant = ?", (tenant,))
        documents = [row[0] for row in rows]
    for page in range(len(world.file) // PAGE_BYTES):
        block = world.file[page * PAGE_BYTES : (page + 1) * PAGE_BYTES]
        others = [it for it in TENANTS if it != tenant and it.encode() in block]
        if block[0] == TABLE_LEAF and not others and any(it in block for it in documents):
            return page
    raise AssertionError(f"no page of {table} has rows of {tenant} alone")


def test_a_page_that_cannot_be_read_is_named_and_the_rest_is_examined(
    world: World, tmp_path: Path
) -> None:
    code, sound = report(world.sound)
    assert code == 0 and sound["sound"]
    page, folder = page_of(world, FIRST, "checkpoints"), tmp_path / "data"
    file = bytearray(world.file)
    file[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = bytes(PAGE_BYTES)
    world.write(folder, bytes(file))
    code, found = report(folder, "--fix")
    assert code == 1 and "repaired" not in found
    pages = [it for it in found["places"] if it["what"] == "pages"]
    assert any(it.get("table") == "checkpoints" for it in pages), pages
    unread = [it for it in found["places"] if it["state"] == "unread"]
    assert unread and {it["tenant"] for it in unread} == {FIRST}, unread
    documents = [it for it in unread if it["what"] == "documents"]
    assert documents, unread
    for place in documents:
        assert place["table"] == "checkpoints" and place["thread_id"].startswith(f"{FIRST}/")
    for noun in ("tenants", "threads", "items", "entries", "chunks"):
        assert found["checked"][noun] == sound["checked"][noun], noun
    text = run(folder, "doctor")
    assert text.returncode == 1 and "--skip-damaged" in text.stdout
    shown = run(folder, "doctor", "--progress")
    assert (shown.returncode, shown.stdout) == (1, text.stdout)
    assert all(line.startswith("threadkeep: ") for line in shown.stderr.splitlines())


def test_an_export_of_a_damaged_tenant_needs_the_switch(world: World, tmp_path: Path) -> None:
    page, folder = page_of(world, FIRST, "checkpoints"), tmp_path / "data"
    file = bytearray(world.file)
    file[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = bytes(PAGE_BYTES)
    world.write(folder, bytes(file))
    to = folder / "file"
    refused = run(folder, "export", "--tenant", FIRST, "--to", to)
    assert refused.returncode == 1 and "damaged" in refused.stderr and not to.exists()
    done, nouns = world.exported(folder, FIRST)
    assert done.returncode == 1 and f'left out: thread "{FIRST}/' in done.stderr, done.stderr
    assert 0 < len(nouns) < len(world.nouns[FIRST]) and set(nouns) < set(world.nouns[FIRST])
    done, nouns = world.exported(folder, LAST)
    assert done.returncode == 0 and nouns == world.nouns[LAST]
    assert json.loads(done.stderr.splitlines()[0].split("exported ")[1])["left_out"] == {}


def test_a_row_that_its_index_does_not_have_is_found(world: World, tmp_path: Path) -> None:
    with closing(sqlite3.connect(world.sound / "threadkeep.db")) as connection:
        names = connection.execute("select name from chunks where length(name) = 12").fetchall()
    file, folder = bytearray(world.file), tmp_path / "data"
    places = (
        start + block.index(name)
        for start in range(0, len(file), PAGE_BYTES)
        if (block := world.file[start : start + PAGE_BYTES])[0] == TABLE_LEAF
        for (name,) in names
        if name in block
    )
    file[next(places) + 5] ^= 1
    world.write(folder, bytes(file))
    code, found = report(folder)
    pages = [it for it in found["places"] if it["what"] == "pages"]
    assert code == 1 and [it["table"] for it in pages] == ["chunks"] * len(pages), found
    assert "missing from index" in pages[0]["detail"]


def test_a_file_that_is_cut_is_damage_and_a_foreign_file_is_refused(
    world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    world.write(folder, world.file[: len(world.file) // 2])
    code, found = report(folder)
    assert code == 1 and not found["sound"] and found["places"], found
    world.write(folder, b"no database at all " * 1_000)
    done = run(folder, "doctor")
    assert done.returncode == 7 and not done.stdout and "no SQLite database" in done.stderr
