"""The compression dictionary can be made again, and the one in use knows what runs store."""

import re
import subprocess
from pathlib import Path

import pytest

from support import settings

SCRIPT = settings.ROOT / "clients" / "python" / "bench" / "dictionary.py"
SHIPPED = settings.ROOT / "src" / "content" / "dictionaries" / "1.dict"


def measured(*options: str | Path) -> dict[str, dict[str, int]]:
    """The table of the script: kind -> column -> mean bytes."""
    command = [settings.PYTHON, SCRIPT, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in done.stdout.splitlines()
        if re.match(r"\|(?!-)", line)
    ]
    columns = rows[0][1:]
    return {row[0]: dict(zip(columns, map(int, row[1:]), strict=True)) for row in rows[1:]}


@pytest.fixture(scope="module")
def shipped() -> dict[str, dict[str, int]]:
    return measured("--compare", SHIPPED)


@pytest.mark.parametrize(
    ("kind", "at_most"),
    # Shares of what plain zstd makes of it. Chunks are mostly prose, which no dictionary knows.
    [("skeleton", 0.6), ("metadata", 0.45), ("write", 0.5), ("value", 0.55), ("chunk", 0.75)],
)
def test_the_dictionary_in_use_helps_with_runs_it_has_not_seen(
    shipped: dict[str, dict[str, int]], kind: str, at_most: float
) -> None:
    assert shipped[kind]["dictionary, 3"] <= at_most * shipped[kind]["zstd 3"]


def test_a_dictionary_can_be_made_again(tmp_path: Path) -> None:
    made = tmp_path / "new.dict"
    found = measured("--out", made, "--rounds", "4", "--size", "16384")
    # The first four bytes are those of every zstd dictionary.
    assert made.read_bytes()[:4] == bytes.fromhex("37a430ec")
    assert made.stat().st_size <= 16_384
    assert found["metadata"]["dictionary, 3"] <= 0.6 * found["metadata"]["zstd 3"]
    assert found["skeleton"]["dictionary, 3"] <= 0.7 * found["skeleton"]["zstd 3"]
