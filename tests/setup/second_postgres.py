"""A PostgreSQL without pgvector, to show that it is optional: the system's own, else ours less it."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

OLDEST_VERSION = 14
NOBODY = 65534


def postgres_without_pgvector(whole: Path) -> Path:
    """The folder with its initdb and postgres. `whole` is that of ours, which has pgvector."""
    return _installed() or _made_from(whole)


def _installed() -> Path | None:
    """Of another version than ours, most likely, so it is worth more."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path:
        found.append(Path(on_path).resolve())
    return next((initdb.parent for initdb in found if _fits(initdb)), None)


def _made_from(whole: Path) -> Path:
    """The same files in a second folder beside it, but for the extension's. Links cost no space."""
    install = whole.parent
    plain = install.with_name("pginstall_plain")
    if not plain.exists():
        extension = shutil.ignore_patterns("vector.so", "vector.control", "vector--*")
        with tempfile.TemporaryDirectory(prefix="pginstall_", dir=install.parent) as folder:
            made = Path(folder) / "made"
            shutil.copytree(install, made, copy_function=os.link, ignore=extension, symlinks=True)
            try:
                made.rename(plain)
            except OSError:
                # Another run has made the same in the meantime.
                if not plain.exists():
                    raise
    return plain / "bin"


def _fits(initdb: Path) -> bool:
    if not (initdb.parent / "postgres").exists():
        return False
    version = re.search(r"(\d+)", _output(initdb, "--version"))
    share = re.search(r"share_path=(.+)", _output(initdb, "--show"))
    if not version or int(version[1]) < OLDEST_VERSION or not share:
        return False
    return not (Path(share[1].strip()) / "extension" / "vector.control").exists()


def _output(initdb: Path, option: str) -> str:
    """What initdb says. It refuses root even for this, so root asks as nobody."""
    as_root = os.geteuid() == 0
    done = subprocess.run(
        [initdb, option, "-D", "/nonexistent"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
        user=NOBODY if as_root else None,
        group=NOBODY if as_root else None,
        extra_groups=[] if as_root else None,
    )
    return done.stdout
