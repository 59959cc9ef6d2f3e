"""Stores of an unused tenant, and the reference on a database of its own."""

from collections.abc import Iterator

import pytest
from langgraph.store.postgres import PostgresStore
from threadkeep.langgraph import ThreadkeepStore

from support.postgres import Databases
from support.server import Server


@pytest.fixture
def store(server: Server, api_key: str) -> Iterator[ThreadkeepStore]:
    with ThreadkeepStore(server.url, api_key=api_key) as made:
        yield made


@pytest.fixture
def other_store(server: Server) -> Iterator[ThreadkeepStore]:
    """Of another tenant."""
    with ThreadkeepStore(server.url, api_key=server.new_key()) as made:
        yield made


@pytest.fixture
def reference(databases: Databases) -> Iterator[PostgresStore]:
    name = databases.create()
    try:
        with PostgresStore.from_conn_string(databases.url(name), ttl={"default_ttl": None}) as made:
            made.setup()
            yield made
    finally:
        databases.drop(name)
