"""Fixtures of the suites of deploy/: the program without its symbols, which is what packages and images hold."""

import subprocess
from pathlib import Path

import pytest

from support import settings


@pytest.fixture(scope="session")
def stripped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("stripped") / "threadkeep"
    subprocess.run(["strip", "-o", program, settings.BINARY], check=True)
    return program
