"""A folder of backups, and machines that come and go."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backups.places import Backups, Machines
from support.postgres import Databases


@pytest.fixture
def backups(tmp_path: Path) -> Backups:
    return Backups(tmp_path)


@pytest.fixture
def machines(engine_databases: Databases | None) -> Iterator[Machines]:
    made = Machines(engine_databases)
    try:
        yield made
    finally:
        made.remove()
