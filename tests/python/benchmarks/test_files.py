"""The figures of files are taken at small sizes: every answer is checked, every figure reported."""

import math
from typing import Any

import pytest

from benchmarks.quick import rows_of

CALLS = ["ls", "glob", "grep", "read", "edit", "upload of 100"]
FIGURES = ["p50", "round trips", "bytes"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return rows_of(tmp_path_factory.mktemp("files"), "files")


def test_every_figure_is_reported(rows: list[dict[str, Any]]) -> None:
    expected = [f"{call}, 60 files, {figure}" for call in CALLS for figure in FIGURES]
    assert [row["measure"] for row in rows] == expected
    assert [row for row in rows if not 0 < row["ratio"] < math.inf] == []


def test_each_call_is_one_round_trip(rows: list[dict[str, Any]]) -> None:
    trips = {row["measure"]: row for row in rows if "round trips" in row["measure"]}
    assert {row["threadkeep"] for row in trips.values()} == {"1"}
    assert trips["edit, 60 files, round trips"]["reference"] == "2"
    assert trips["upload of 100, 60 files, round trips"]["reference"] == "100"
