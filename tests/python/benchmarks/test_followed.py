"""The cost of a follower to puts is measured at a small size, with and without one."""

import math
from pathlib import Path

from benchmarks.quick import rows_of

TASKS = ["1 task", "32 tasks on one saver"]
FIGURES = ["p50", "p99", "rate", "CPU of the server", "CPU of PostgreSQL"]


def test_every_figure_is_reported(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "followed")
    expected = [f"put, {tasks}, followed or not, {it}" for tasks in TASKS for it in FIGURES]
    assert [row["measure"] for row in rows] == expected
    assert [row for row in rows if not 0 < row["ratio"] < math.inf] == []
