"""The figures of searches by meaning are taken at a small size, with an index: every figure is reported."""

import math
from pathlib import Path
from typing import Any

from benchmarks.quick import rows_of

SCOPES = ["everything", "one namespace", "filter, 1 of 100", "filter, 1 of 2", "page 6"]
MEASURES = [
    "items stored, 5,100 vectors of 384 dimensions",
    "the same, until the index is there",
    *(f"search by meaning of 5,100 vectors: {scope}, p50" for scope in SCOPES),
    "recall at 10 of 5,100 vectors",
]


def test_every_figure_is_reported(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = rows_of(tmp_path, "vectors")
    assert [row["measure"] for row in rows] == MEASURES
    assert [row for row in rows if not 0 < row["ratio"] < math.inf] == []
    assert float(rows[-1]["threadkeep"]) >= 0.9
