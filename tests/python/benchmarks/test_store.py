"""The figures of the store are taken at small sizes: every answer is checked, every figure reported."""

import math
from pathlib import Path
from typing import Any

from benchmarks.quick import rows_of

CALLS = [
    "get",
    "put of a new item",
    "put of a stored item",
    "batch of 100 puts",
    "batch of 100 gets",
    "filter, equality, 2,000 items",
    "filter, $gte, one user",
    "newest 10 of 2,000",
    "newest 10 of one user",
    "list 100 namespaces",
    "list 100 roots",
]


def test_every_figure_is_reported(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = rows_of(tmp_path, "store")
    assert [row["measure"] for row in rows] == [f"{call}, p50" for call in CALLS]
    assert [row for row in rows if not 0 < row["ratio"] < math.inf] == []
