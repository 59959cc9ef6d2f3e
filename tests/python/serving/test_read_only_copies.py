"""`doctor` and `export` read a copy that they may not write, with what is in its log, and change nothing of it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Place, Server, clean_environment
from support.settings import BINARY, PATIENCE_SECONDS
from support.small_disk import as_root, small_disk

NOBODY = 65534
DATABASE = "threadkeep.db"


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    try:
        yield place
    finally:
        place.remove()


def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """As a user for whom modes count: they do not for root."""
    identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.run(
        [BINARY, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        env=clean_environment(),
        timeout=PATIENCE_SECONDS,
        **identity,  # type: ignore[call-overload]
    )


def copied(place: Place, to: Path, suffixes: list[str]) -> list[Path]:
    """What a server has stored, part of it in its log only."""
    server = Server(place).start()
    try:
        for number in range(3):
            body = {"namespace": ["n"], "key": f"key-{number}", "value": {"n": number}}
            assert server.post("/v1/store/put", body).status == 200
        if suffixes == [""]:
            server.stop()
        for suffix in suffixes:
            shutil.copyfile(place.folder / "data" / (DATABASE + suffix), to / (DATABASE + suffix))
    finally:
        server.kill()
    return [to / (DATABASE + suffix) for suffix in suffixes]


def check(data: Path) -> None:
    before = {it: it.read_bytes() for it in data.iterdir()}
    examined = run("doctor", "--data-dir", data)
    assert (examined.returncode, "sound" in examined.stdout) == (0, True), examined
    exported = run("export", "--tenant", "default", "--to", "-", "--data-dir", data)
    assert exported.returncode == 0, exported.stderr
    assert '"items":3' in exported.stderr.replace(" ", ""), exported.stderr
    assert {it: it.read_bytes() for it in data.iterdir()} == before


@pytest.mark.parametrize("suffixes", [[""], ["", "-wal"], ["", "-wal", "-shm"]])
def test_another_users_copy_is_read_with_its_log(place: Place, suffixes: list[str]) -> None:
    place.folder.chmod(0o755)
    copy = place.folder / "copy"
    copy.mkdir()
    for file in copied(place, copy, suffixes):
        file.chmod(0o444)
    copy.chmod(0o555)
    check(copy)


@pytest.mark.parametrize("suffixes", [[""], ["", "-wal"], ["", "-wal", "-shm"]])
def test_a_disk_without_writing_is_read(place: Place, suffixes: list[str]) -> None:
    with small_disk(24) as disk:
        for file in copied(place, disk, suffixes):
            file.chmod(0o644)
        as_root("mount", "-o", "remount,ro", str(disk))
        check(disk)


def test_a_log_that_may_not_be_read_is_not_left_out(place: Place) -> None:
    place.folder.chmod(0o755)
    copy = place.folder / "copy"
    copy.mkdir()
    database, log = copied(place, copy, ["", "-wal"])
    database.chmod(0o444)
    log.chmod(0o000)
    copy.chmod(0o555)
    done = run("export", "--tenant", "default", "--to", "-", "--data-dir", copy)
    assert done.returncode == 5
    assert f"the log {log} of the database cannot be read" in done.stderr


def test_what_may_not_be_read_is_not_taken_for_missing(place: Place) -> None:
    place.folder.chmod(0o755)
    copy = place.folder / "copy"
    copy.mkdir()
    (database,) = copied(place, copy, [""])
    database.chmod(0o000)
    said = f"the database {database} cannot be read: Permission denied (os error 13)"
    for closed in (database, copy):
        closed.chmod(0o000)
        for command in (["doctor"], ["export", "--tenant", "default", "--to", "-"]):
            done = run(*command, "--data-dir", copy)
            assert done.returncode == 5
            assert said in done.stderr
        closed.chmod(0o555)
