"""A namespace that nothing has used, and what can keep files in it."""

import uuid
from collections.abc import Callable, Iterator

import pytest
from deepagents.backends import StoreBackend
from langgraph.store.postgres import PostgresStore
from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.langgraph import ThreadkeepStore

from support.postgres import Databases
from support.server import Server

Namespace = tuple[str, ...]


@pytest.fixture
def namespace() -> Namespace:
    return (f"u-{uuid.uuid4().hex[:12]}", "filesystem")


@pytest.fixture
def make_backend(server: Server, api_key: str) -> Iterator[Callable[..., ThreadkeepBackend]]:
    """Backends of one unused tenant, each with connections of its own."""
    made: list[ThreadkeepBackend] = []

    def make(namespace: Namespace, **more: object) -> ThreadkeepBackend:
        made.append(
            ThreadkeepBackend(server.url, api_key=api_key, namespace=namespace, **more)  # type: ignore[arg-type]
        )
        return made[-1]

    yield make
    for backend in made:
        backend.close()


@pytest.fixture
def backend(
    make_backend: Callable[..., ThreadkeepBackend], namespace: Namespace
) -> ThreadkeepBackend:
    return make_backend(namespace)


@pytest.fixture
def store(server: Server, api_key: str) -> Iterator[ThreadkeepStore]:
    """The store of the same tenant."""
    with ThreadkeepStore(server.url, api_key=api_key) as made:
        yield made


@pytest.fixture
def over_store(store: ThreadkeepStore, namespace: Namespace) -> StoreBackend:
    """deepagents' own backend on the same namespace."""
    return StoreBackend(namespace=lambda _: namespace, store=store)


@pytest.fixture
def make_reference(databases: Databases) -> Iterator[Callable[[], PostgresStore]]:
    """PostgresStores on one database, each with a connection of its own."""
    name = databases.create()
    opened = []

    def make() -> PostgresStore:
        context = PostgresStore.from_conn_string(databases.url(name))
        made = context.__enter__()
        opened.append(context)
        made.setup()
        return made

    try:
        yield make
    finally:
        for context in opened:
            context.__exit__(None, None, None)
        databases.drop(name)
