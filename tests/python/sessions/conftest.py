"""A client of an unused tenant, and a proxy that can lose answers."""

from collections.abc import Iterator

import pytest
from threadkeep import Client

from support.proxy import Proxy
from support.server import Server


@pytest.fixture
def client(server: Server, api_key: str) -> Iterator[Client]:
    with Client(server.url, api_key=api_key) as made:
        yield made


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy(server.url) as made:
        yield made
