"""Copies of a store work: shallow, deep, pickled, and with another time for their calls."""

import copy
import pickle

import pytest
from threadkeep.langgraph import ThreadkeepStore

from support.server import Server

COPIES = {
    "shallow": copy.copy,
    "deep": copy.deepcopy,
    "pickled": lambda store: pickle.loads(pickle.dumps(store)),
    "hasty": lambda store: store.with_options(timeout=20),
}


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


@pytest.mark.parametrize("transport", ["asyncio", "pyreqwest", "stdlib"])
@pytest.mark.parametrize("name", COPIES)
async def test_a_copy_of_a_store_works(
    server: Server, api_key: str, name: str, transport: str
) -> None:
    index = {"dims": 2, "embed": lengths, "fields": ["text"]}
    store = ThreadkeepStore(
        server.url, api_key, index=index, ttl={"default_ttl": 5}, transport=transport
    )
    store.put(("a",), "k", {"text": "one"})

    twin = COPIES[name](store)

    assert (await twin.aget(("a",), "k")).value == {"text": "one"}
    await twin.aput(("a",), "l", {"text": "three"})
    assert [item.key for item in twin.search(("a",), query="xxxxx")] == ["l", "k"]
    assert twin.get(("a",), "l").expires_at is not None
    assert twin.ttl_config == store.ttl_config
