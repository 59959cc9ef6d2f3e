"""The figures of single calls are taken at small sizes: times, rates, and the CPU of each part."""

import math
from pathlib import Path

from benchmarks.quick import rows_of

CALLS = ["put", "put_writes", "get_tuple"]
CPU = ["the client", "the server and its budget", "PostgreSQL", "all parts"]
APART = "32 tasks with a saver each"


def test_every_figure_is_reported(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "calls")
    expected = []
    for call in CALLS:
        alone, shared = f"{call}, 1 task", f"{call}, 32 tasks on one saver"
        expected += [f"{alone}, p50", f"{alone}, p99"]
        expected += [f"{alone}, CPU of {part}" for part in CPU]
        expected += [shared, f"{shared}, p99"]
        expected += [f"{shared}, CPU of {part}" for part in CPU]
        expected += [f"{call}, {APART}", f"{call}, {APART}, p99"]
    assert [row["measure"] for row in rows] == expected
    assert [row for row in rows if not 0 < row["ratio"] < math.inf] == []
