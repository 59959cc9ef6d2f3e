"""A fixture of pytest, there wherever the package is installed: `threadkeep_server`, one server for the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from threadkeep_server import Server, start


@pytest.fixture(scope="session")
def threadkeep_server() -> Iterator[Server]:
    """A threadkeep server on this machine; all tests of a run share it, so they use names of their own."""
    with start() as server:
        yield server
