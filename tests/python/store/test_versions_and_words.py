"""Earlier versions of items, settings of namespaces, and searches by words, over a real server."""

import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from threadkeep.errors import InvalidError, NotFoundError, NotGrantedError, VersionConflictError
from threadkeep.langgraph import NamespaceSetting, ThreadkeepStore

from support.server import Server

FILE = {"created_at": "2026-01-01T00:00:00Z", "modified_at": "2026-01-01T00:00:00Z"}


def eventually(check: Callable[[], bool], seconds: float = 30.0) -> None:
    """Words of items from before are indexed in the background."""
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_a_file_keeps_ten_versions(store: ThreadkeepStore) -> None:
    for at in range(14):
        store.put(("u", "filesystem"), "/a.md", {"content": f"text {at}", **FILE})
        store.put(("u", "filesystem"), "plain", {"at": at})
    found = store.history(("u", "filesystem"), "/a.md", values=True)
    assert [it.value["content"] for it in found if it.value] == [
        f"text {at}" for at in range(13, 2, -1)
    ]
    assert [it.current for it in found] == [True] + [False] * 10
    assert all(a.updated_at >= b.updated_at for a, b in pairwise(found))
    assert all(it.value is None for it in store.history(("u", "filesystem"), "/a.md", limit=3))
    assert len(store.history(("u", "filesystem"), "/a.md", limit=3)) == 3
    assert len(store.history(("u", "filesystem"), "plain")) == 1
    assert store.history(("u",), "none") == []
    store.delete(("u", "filesystem"), "/a.md")
    assert store.history(("u", "filesystem"), "/a.md") == []


def test_a_version_is_restored(store: ThreadkeepStore) -> None:
    setting = store.put_setting(("n",), history=3)
    assert setting == NamespaceSetting(history=3, namespace=("n",))
    first = store.put(("n",), "k", {"big": 2**200, "\ud800": "\udfff"}, if_version=0)
    assert first is not None
    second = store.put(("n",), "k", {"b": 2}, if_version=first)
    with pytest.raises(VersionConflictError) as conflict:
        store.restore(("n",), "k", first, if_version=first)
    assert conflict.value.current_version == second
    restored = store.restore(("n",), "k", first)
    item = store.get(("n",), "k")
    assert item is not None and item.value == {"big": 2**200, "\ud800": "\udfff"}
    assert getattr(item, "version", None) == restored
    kept = store.get_version(("n",), "k", first)
    assert kept is not None and kept.value == item.value and not kept.current
    assert store.get_version(("n",), "k", 1) is None
    with pytest.raises(NotFoundError):
        store.restore(("n",), "k", 1)
    with pytest.raises(InvalidError):
        store.restore(("n",), "k", -1)


async def test_everything_is_there_without_blocking(store: ThreadkeepStore) -> None:
    await store.aput_setting(("n",), history=2, text_fields=["$"])
    own, effective = await store.aget_setting(("n", "below"))
    assert own is None and (effective.history, effective.text_fields) == (2, ["$"])
    first = await store.aput(("n",), "k", {"text": "green tea"}, if_version=0)
    assert first is not None
    await store.aput(("n",), "k", {"text": "coffee"})
    assert [it.version for it in await store.ahistory(("n",), "k")] == [first + 1, first]
    assert await store.arestore(("n",), "k", first) == first + 2
    (found,) = await store.asearch(("n",), query="TEA", mode="text")
    assert found.key == "k" and found.score is not None and found.score > 0
    version = await store.aget_version(("n",), "k", first)
    assert version is not None and version.value == {"text": "green tea"}
    assert [it.namespace for it in await store.alist_settings(("n",))] == [("n",)]
    await store.adelete_setting(("n",))
    assert await store.alist_settings() == []


def test_settings_say_what_is_wrong(store: ThreadkeepStore) -> None:
    for arguments, field in [
        ({}, "history"),
        ({"history": -1}, "history"),
        ({"history": 1_001}, "history"),
        ({"text_fields": "text"}, "text_fields"),
        ({"text_fields": ["a"] * 33}, "text_fields"),
    ]:
        with pytest.raises(InvalidError) as refused:
            store.put_setting(("n",), **arguments)  # type: ignore[arg-type]
        assert refused.value.field == field
    assert store.list_settings() == []
    assert store.get_setting(("n",)) == (None, NamespaceSetting(namespace=("n",)))


def test_words_of_items_from_before_are_found_in_the_end(store: ThreadkeepStore) -> None:
    for at in range(5):
        store.put(("n",), f"k{at}", {"text": f"tea number {at}", "other": "coffee"})
    with pytest.raises(InvalidError) as refused:
        store.search(("n",), query="tea", mode="text")
    assert refused.value.field == "ops[0].mode" and "/v1/store/settings/put" in str(refused.value)
    assert store.put_setting(("n",), text_fields=["text"]).indexing

    def is_done() -> bool:
        own, _ = store.get_setting(("n",))
        return own is not None and not own.indexing

    eventually(is_done)
    assert len(store.search(("n",), query="tea", mode="text")) == 5
    assert store.search(("n",), query="coffee", mode="text") == []
    (found,) = store.search(("n",), query="3", mode="text", filter={"other": "coffee"})
    assert found.key == "k3" and found.value["other"] == "coffee"
    assert len(store.search(("n",), query="tea", mode="text", limit=2, offset=4)) == 1
    for arguments in [
        {"mode": "text"},
        {"mode": "hybrid", "query": "tea"},
        {"mode": "words", "query": "tea"},
    ]:
        with pytest.raises(InvalidError):
            store.search(("n",), **arguments)  # type: ignore[arg-type]


def test_both_orders_are_put_together(server: Server, api_key: str) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "warm" in text else [0.0, 1.0] for text in texts]

    index = {"dims": 2, "embed": embed, "fields": ["text"]}
    with ThreadkeepStore(server.url, api_key=api_key, index=index) as store:  # type: ignore[arg-type]
        store.put_setting(("n",), text_fields=["$"])
        store.put(("n",), "both", {"text": "warm tea"})
        store.put(("n",), "words", {"text": "tea, iced tea"})
        store.put(("n",), "near", {"text": "warm milk"})
        found = store.search(("n",), query="warm tea", mode="hybrid")
        assert found[0].key == "both" and len(found) == 3
        assert all(it.score is not None for it in found)


def test_another_tenant_sees_nothing(store: ThreadkeepStore, other_store: ThreadkeepStore) -> None:
    store.put_setting((), history=5, text_fields=["$"])
    other_store.put_setting((), text_fields=["$"])
    first = store.put(("n",), "k", {"text": "tea"}, if_version=0)
    assert first is not None
    store.put(("n",), "k", {"text": "tea"})
    assert other_store.history(("n",), "k") == []
    assert other_store.search((), query="tea", mode="text") == []
    assert [it.history for it in other_store.list_settings()] == [None]
    with pytest.raises((NotFoundError, NotGrantedError)):
        other_store.restore(("n",), "k", first)
