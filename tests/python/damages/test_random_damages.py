"""Random damages of an embedded database: each is refused, found by the doctor, or does no harm, and what is whole is brought off."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from damages.world import TENANTS, Damage, World, run
from support import settings
from support.server import Place, Server

# One of so many is repaired after it was looked at, and exported once more.
REPAIRED_ONE_IN = 4


def verdict(folder: Path, *more: str) -> str:
    """`refused`, `found`, `unopened` or `sound`."""
    done = run(folder, "doctor", "--format", "json", *more)
    assert "panicked" not in done.stderr, done.stderr
    if not done.stdout:
        assert done.returncode not in (0, 1, 2) and done.stderr.startswith("threadkeep: ")
        return "refused"
    report = json.loads(done.stdout)
    assert report["sound"] == (done.returncode == 0) and done.returncode in (0, 1), done
    if done.returncode == 1:
        assert report["places"], report
        # Nothing is repaired where something could not be read.
        if "unread" in report or "pages" in report.get("damaged", {}):
            assert "repaired" not in report, report
    opened = not any("cannot be opened" in it["detail"] for it in report["places"])
    return "sound" if report["sound"] else ("found" if opened else "unopened")


def check_exports(world: World, damage: Damage, folder: Path, seen: str) -> list[list[str]]:
    """What `--skip-damaged` brings off: nothing that is not as it was, and untouched tenants whole."""
    untouched = set(TENANTS) - damage.touched(world.file)
    with ThreadPoolExecutor(len(TENANTS)) as pool:
        exported = list(pool.map(partial(world.exported, folder), TENANTS))
    brought = []
    for tenant, (done, nouns) in zip(TENANTS, exported, strict=True):
        said = f"{damage.what}: {tenant}: {done.stderr}"
        assert "panicked" not in done.stderr, said
        whole = world.nouns[tenant]
        assert done.returncode in (0, 1), said
        if done.returncode == 0:
            assert nouns == whole, said
        elif "left_out" in done.stderr:
            assert "left out: " in done.stderr and set(nouns) <= set(whole), said
        else:
            assert not nouns and not done.stdout, said
        if seen == "sound":
            assert done.returncode == 0, said
        if tenant in untouched and seen == "found":
            assert done.returncode == 0, said
        brought.append(nouns)
    return brought


def test_no_damage_is_called_sound_and_what_is_whole_is_brought_off(world: World) -> None:
    assert verdict(world.sound) == "sound"
    assert all(world.nouns.values())
    counts = dict.fromkeys(("refused", "found", "unopened", "sound"), 0)
    saved = 0
    for number, (damage, folder) in enumerate(world.damages(settings.DAMAGES)):
        seen = verdict(folder)
        counts[seen] += 1
        if seen in ("refused", "unopened"):
            continue
        brought = check_exports(world, damage, folder, seen)
        saved += seen == "found" and sum(map(len, brought)) > 0
        if number % REPAIRED_ONE_IN == 0:
            verdict(folder, "--fix")
            assert check_exports(world, damage, folder, "fixed") == brought, damage.what
    # The seed does not change: else the test would say nothing.
    assert counts["found"] > settings.DAMAGES // 3 and counts["sound"] > 0, counts
    assert saved > settings.DAMAGES // 4, saved


def test_what_was_brought_off_is_imported(world: World, tmp_path: Path) -> None:
    place = Place()
    try:
        server = Server(place).start()
        for damage, folder in world.damages(settings.DAMAGES):
            if verdict(folder) != "found":
                continue
            done, nouns = world.exported(folder, TENANTS[0])
            if done.returncode != 1 or not nouns:
                continue
            file = str(folder / f"{TENANTS[0]}.export")
            imported = server.command("import", file, "--tenant", "rescued", "--format", "json")
            assert imported.returncode == 0, (damage.what, imported.stderr)
            report = json.loads(imported.stdout)
            assert sum(report[it]["created"] for it in ("threads", "items", "sessions")) > 0
            return
        raise AssertionError("no damage left something of this tenant out")
    finally:
        server.kill()
        place.remove()
