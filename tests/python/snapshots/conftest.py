"""A client of an unused tenant with something to take, and a proxy that can lose answers."""

from collections.abc import Iterator

import pytest
from threadkeep import Client
from threadkeep.langgraph import ThreadkeepSaver

from snapshots.world import World
from support.proxy import Proxy
from support.server import Server


@pytest.fixture
def client(server: Server, api_key: str) -> Iterator[Client]:
    with Client(server.url, api_key=api_key) as made:
        yield made


@pytest.fixture
def world(server: Server, api_key: str) -> World:
    return World(server.url, api_key)


@pytest.fixture
def reader(server: Server, api_key: str) -> ThreadkeepSaver:
    """A second saver of the same tenant: what it sees comes from the server alone."""
    return ThreadkeepSaver(server.url, api_key=api_key)


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy(server.url) as made:
        yield made
