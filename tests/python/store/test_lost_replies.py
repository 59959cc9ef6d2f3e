"""A change whose reply was lost is sent again, and has happened once."""

from collections.abc import Iterator

import pytest
from threadkeep.langgraph import ThreadkeepStore

from support.proxy import Proxy
from support.server import Server


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def far_store(proxy: Proxy, api_key: str) -> ThreadkeepStore:
    """Behind the proxy."""
    return ThreadkeepStore(proxy.url, api_key=api_key)


def test_a_conditional_put_is_answered_with_its_own_version(
    far_store: ThreadkeepStore, proxy: Proxy
) -> None:
    proxy.lose(1)
    version = far_store.put(("n",), "k", {"a": 1}, if_version=0)
    assert proxy.lost == 1
    item = far_store.get(("n",), "k")
    assert (item.version, item.value) == (version, {"a": 1})


def test_an_edit_happens_once(far_store: ThreadkeepStore, proxy: Proxy) -> None:
    far_store.put(("n",), "k", {"count": 0})
    changes = 0

    def grow(value: dict) -> dict:
        nonlocal changes
        changes += 1
        # The read has come through: from here on the answer to the put is lost.
        proxy.lose(1)
        return {"count": value["count"] + 1}

    assert far_store.edit(("n",), "k", grow) == {"count": 1}
    assert (proxy.lost, changes) == (1, 1)
    assert far_store.get(("n",), "k").value == {"count": 1}
    version = far_store.get(("n",), "k").version
    proxy.lose(1)
    far_store.delete(("n",), "k", if_version=version)
    assert proxy.lost == 2
    assert far_store.get(("n",), "k") is None
