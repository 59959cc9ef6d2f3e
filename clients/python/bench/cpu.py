"""CPU time of calls by part: client, server, PostgreSQL. Read from /proc, so only on Linux."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
CAN_MEASURE = (PROC / "self" / "schedstat").exists()


@dataclass(frozen=True)
class Cpu:
    """Seconds."""

    client: float
    server: float
    postgres: float

    def total(self) -> float:
        return self.client + self.server + self.postgres

    def of_one(self, calls: int) -> Cpu:
        return Cpu(self.client / calls, self.server / calls, self.postgres / calls)


class Meter:
    """What this process, a server and all processes of a PostgreSQL use from now on."""

    def __init__(self, server: int, postmaster: int):
        """Both are process ids."""
        self._server, self._postmaster = server, postmaster
        self._begun = self._read()

    def used(self) -> Cpu:
        now = self._read()
        client, server, postgres = map(_difference, self._begun, now)
        return Cpu(client, server, postgres)

    def _read(self) -> tuple[dict[Path, float], ...]:
        """Seconds of each thread, by part."""
        processes = PROC.glob("[0-9]*")
        backends = [it for it in processes if _parent(it) == self._postmaster]
        client, server = [PROC / str(os.getpid())], [PROC / str(self._server)]
        return _seconds(client), _seconds(server), _seconds(backends)


def median_cpu(rounds: Sequence[Cpu]) -> Cpu:
    return Cpu(
        statistics.median(one.client for one in rounds),
        statistics.median(one.server for one in rounds),
        statistics.median(one.postgres for one in rounds),
    )


def _difference(before: dict[Path, float], after: dict[Path, float]) -> float:
    """Threads that ended meanwhile do not count."""
    return sum(seconds - before.get(thread, 0.0) for thread, seconds in after.items())


def _parent(process: Path) -> int | None:
    """The process id of its parent; None if it has ended."""
    try:
        # The name before it, in parentheses, may have spaces.
        fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return int(fields[1])


def _seconds(processes: list[Path]) -> dict[Path, float]:
    """What each of their threads used so far."""
    found = {}
    for process in processes:
        for thread in (process / "task").glob("*"):
            try:
                nanoseconds = int((thread / "schedstat").read_text().split()[0])
            except OSError:
                continue
            found[thread] = nanoseconds / 1e9
    return found
