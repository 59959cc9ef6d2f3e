"""The growth benchmark runs at small sizes, reads back what it stored, and reports every figure."""

import math
from typing import Any

import pytest

from benchmarks.quick import rows_of

PARTS = {
    "javascript": ["disk, 2 JavaScript turns of 5 tools", "wire, 2 JavaScript turns of 5 tools"],
    "chat": [
        "disk, 10-turn add_messages chat",
        "wire, 10-turn add_messages chat",
        "disk for a turn, turns 1-3 of the chat",
        "disk for a turn, turns 8-10 of the chat",
        "put, up to turn 1 of the chat, p50",
        "put, up to turn 10 of the chat, p50",
    ],
    "large": ["get of 300.0 KB", "the same, again with the same saver"],
    "states": [
        f"{what}{call} of a state of 9.00 MB"
        for call in ("put", "get")
        for what in ("", "client's memory, ", "server's memory, ")
    ],
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return rows_of(tmp_path_factory.mktemp("growth"), *PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_every_figure_of_a_part_is_reported(rows: list[dict[str, Any]], part: str) -> None:
    measured = [row["measure"] for row in rows]
    assert [name for name in PARTS[part] if name not in measured] == []


def test_ratios_are_those_of_things_that_happened(rows: list[dict[str, Any]]) -> None:
    # Pages are of 8 KB, so at these sizes a turn can be seen to add nothing to the disk.
    counted = [row for row in rows if "a turn" not in row["measure"]]
    counted = [row for row in counted if row["measure"] != "the later by the earlier"]
    # A process may have all that it needs from a call before.
    counted = [row for row in counted if "memory, " not in row["measure"]]
    wrong = [row for row in counted if not 0 < row["ratio"] < math.inf]
    assert wrong == []


def test_what_both_sides_stored_reads_back_equal(rows: list[dict[str, Any]]) -> None:
    found = [row for row in rows if row["measure"] == "states read back equal"]
    assert [(row["threadkeep"], row["reference"]) for row in found] == [("True", "True")] * 2


def test_the_disk_is_measured_and_not_the_growth_of_one_page(rows: list[dict[str, Any]]) -> None:
    (stored,) = (row for row in rows if row["measure"] == PARTS["javascript"][0])
    # The reference keeps each of the lists, about 1 MB, and compresses them little.
    assert float(stored["reference"].removesuffix(" KB")) > 300
