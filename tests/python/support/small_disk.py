"""A disk that is soon full: a file system in memory, which root may mount, or whom sudo lets."""

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.server import Place

BLOCK = bytes(1 << 12)


def as_root(*command: str) -> None:
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    subprocess.run([*sudo, *command], check=True, capture_output=True)


@contextmanager
def small_disk(mib: int) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tk-disk-"))
    mode = f"size={mib}m,mode=0777"
    as_root("mount", "-t", "tmpfs", "-o", mode, "tmpfs", str(folder))
    try:
        yield folder
    finally:
        # Whoever still has a file there keeps nobody from it.
        as_root("umount", "--lazy", str(folder))
        folder.rmdir()


def fill(disk: Path, name: str = "filler") -> Path:
    """Somebody else's file, as large as it can be."""
    path = disk / name
    with path.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(BLOCK)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                return path


class DiskPlace(Place):
    """An embedded database on that disk; what the server logs goes elsewhere."""

    def __init__(self, disk: Path):
        super().__init__()
        self.data = disk / "data"

    def arguments(self) -> list[str]:
        return ["--data-dir", str(self.data)]
