"""The figures of threads and their states are taken at small sizes, and every answer is checked."""

import math
from pathlib import Path

from benchmarks.quick import rows_of

ENGINES = ["PostgreSQL", "SQLite"]


def test_every_search_is_measured_on_both_engines(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "threads")
    names = {engine: [] for engine in ENGINES}
    for row in rows:
        engine, name = row["measure"].split(", ", 1)
        names[engine].append(name)
        assert 0 < row["ratio"] < math.inf, row
    on_disk = [it for it in names["PostgreSQL"] if it.startswith("disk of a thread")]
    assert len(on_disk) == 1
    assert [it for it in names["PostgreSQL"] if it not in on_disk] == names["SQLite"]
    assert len(names["SQLite"]) > 30


def test_every_state_of_the_wire_is_measured(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "wire")
    assert [row["measure"].split(",")[0] for row in rows] == [
        "state on the wire / /v1/state",
        "history of 10 on the wire / get_state_history",
        "20 threads of 160.0 KB with values / one state",
        "server's memory for it / display_bytes_max",
    ]
    assert [row for row in rows if not 0 <= row["ratio"] < math.inf] == []
