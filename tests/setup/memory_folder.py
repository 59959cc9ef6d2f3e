"""A folder for temporary files in memory, where a machine has enough of it.

The contract makes a database for each of its cases. On a disk, making and removing their files took more time than the statements.
Standard library only.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
# The contract uses less than 2 GiB there, and a link of the program as much again beside it.
GIB_FREE_MIN = 8


@contextmanager
def with_memory_folder(env: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment of a suite whose temporary files are in memory; the same one where there is too little."""
    if free_gib() < GIB_FREE_MIN:
        yield dict(env)
        return
    # Servers that end on their own remove their files, too.
    with tempfile.TemporaryDirectory(
        prefix="tk-tests-", dir=MEMORY, ignore_cleanup_errors=True
    ) as folder:
        # As /tmp is: PostgreSQL runs as another user.
        Path(folder).chmod(0o1777)
        yield {**env, "TMPDIR": folder}


def free_gib() -> float:
    """What a file system in memory, and the memory itself, have left."""
    if not MEMORY.is_dir():
        return 0.0
    return min(shutil.disk_usage(MEMORY).free, _available_bytes()) / 2**30


def _available_bytes() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    kib = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(kib[0]) * 1024 if kib else 0
