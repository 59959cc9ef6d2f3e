"""Fixtures of the suites of deploy/: the program without its symbols, and the packages that are made of it."""

import fcntl
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support import settings
from support.server import clean_environment

# How it packs fast: what is tried here is not how small it gets.
FAST = {"DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that one of the workers fills, and the others use."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = shared / f"{name}.unfinished"
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="session")
def stripped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def strip(folder: Path) -> None:
        command = ["strip", "-o", folder / "threadkeep", settings.BINARY]
        subprocess.run(command, check=True)

    return made_once(tmp_path_factory, "stripped", strip) / "threadkeep"


@pytest.fixture(scope="session")
def packages(stripped: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with everything that `make dist` makes, of the program under test."""

    def pack(folder: Path) -> None:
        given = {"THREADKEEP_DIST_BIN": str(stripped), "THREADKEEP_DIST_OUT": str(folder)}
        done = subprocess.run(
            [settings.ROOT / "deploy" / "packages" / "dist.sh"],
            capture_output=True,
            text=True,
            env=clean_environment() | FAST | given,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return made_once(tmp_path_factory, "packages", pack)
