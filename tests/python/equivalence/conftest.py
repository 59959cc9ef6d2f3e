"""What these tests need beside a saver: another saver object that remembers nothing of the first one's calls."""

import pytest
from threadkeep.langgraph import ThreadkeepSaver

from support.server import Server


@pytest.fixture
def reader(server: Server, api_key: str) -> ThreadkeepSaver:
    """A second saver of the same tenant: what it sees comes from the server alone."""
    return ThreadkeepSaver(server.url, api_key=api_key)
