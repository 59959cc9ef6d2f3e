"""Damaged indexes of an embedded database: whole tables are exported whole, and nothing under a key that it does not have."""

import re
import sqlite3

from damages.world import PAGE_BYTES, TENANTS, World

LEAF_OF_INDEX = 0x0A


def roots(world: World) -> dict[str, int]:
    with sqlite3.connect(world.sound / "threadkeep.db") as database:
        return dict(database.execute("select name, rootpage from sqlite_schema where rootpage > 0"))


def test_indexes_that_are_each_others_are_made_anew_in_a_copy(world: World) -> None:
    found = roots(world)
    file = bytearray(world.file)
    pages = [found[f"sqlite_autoindex_{table}_1"] - 1 for table in ("checkpoints", "chunks")]
    one, two = (slice(page * PAGE_BYTES, (page + 1) * PAGE_BYTES) for page in pages)
    file[one], file[two] = file[two], file[one]
    folder = world.folder / "swapped"
    world.write(folder, bytes(file))
    for tenant in TENANTS:
        done, nouns = world.exported(folder, tenant)
        assert done.returncode == 0 and nouns == world.nouns[tenant], done.stderr
        said = "damaged indexes are made anew in a copy: sqlite_autoindex_checkpoints_1, "
        assert said in done.stderr
        # The copy went with the command.
        assert not list(folder.glob(".threadkeep-copy-*"))


def test_an_item_with_two_keys_is_left_out(world: World) -> None:
    tenant, key = TENANTS[0], b"item-0007"
    file = bytearray(world.file)
    changed = 0
    for leaf in range(0, len(file), PAGE_BYTES):
        if file[leaf] != LEAF_OF_INDEX:
            continue
        for found in re.finditer(re.escape(key), world.file[leaf : leaf + PAGE_BYTES]):
            owner = file.rfind(b"tenant-", leaf, leaf + found.start())
            if owner >= 0 and file.startswith(tenant.encode(), owner):
                file[leaf + found.end() - 1] ^= 1
                changed += 1
    assert changed
    folder = world.folder / "two-keys"
    world.write(folder, bytes(file))
    done, nouns = world.exported(folder, tenant)
    assert done.returncode == 1 and "left out: perhaps more of the kind item" in done.stderr
    assert set(nouns) < set(world.nouns[tenant])
    assert len(nouns) == len(world.nouns[tenant]) - 1
    for other in TENANTS[1:]:
        done, nouns = world.exported(folder, other)
        assert done.returncode == 0 and nouns == world.nouns[other], done.stderr
