"""What a store must not do, as tests that fail on PostgresStore and hold here."""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg
import pytest
from deepagents.backends import StoreBackend
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres import PostgresStore
from threadkeep.errors import VersionConflictError
from threadkeep.langgraph import ThreadkeepStore

NUL = "nul \0"
LONE = "lone \ud800"


def pages_of_one_batch_are_complete(store: BaseStore) -> None:
    """Defect 1: an order with ties."""
    store.batch([PutOp(("n",), f"k{at:03}", {"at": at}) for at in range(450)])
    for _ in range(5):
        pages = [store.search(("n",), limit=100, offset=at) for at in range(0, 500, 100)]
        keys = [item.key for page in pages for item in page]
        assert (len(keys), len(set(keys))) == (450, 450)


def pages_are_complete_while_others_update(store: BaseStore) -> None:
    """Defect 2: an order that puts change."""
    store.batch([PutOp(("n",), f"k{at:03}", {"at": at}) for at in range(200)])
    stop = threading.Event()

    def update() -> None:
        at = 0
        while not stop.is_set():
            store.put(("n",), f"k{at % 200:03}", {"at": at})
            at += 7

    writer = threading.Thread(target=update)
    writer.start()
    try:
        for _ in range(10):
            pages = [store.search(("n",), limit=20, offset=at) for at in range(0, 220, 20)]
            keys = [item.key for page in pages for item in page]
            assert (len(keys), len(set(keys))) == (200, 200)
    finally:
        stop.set()
        writer.join()


def comparison_is_numeric(store: BaseStore) -> None:
    """Defect 4: numbers compared as texts."""
    for n in (2, 9, 10, 100):
        store.put(("n",), str(n), {"score": n})
    store.put(("n",), "bare", {"other": 1})
    found = store.search(("n",), filter={"score": {"$gte": 10}})
    assert sorted(item.key for item in found) == ["10", "100"]


def a_nul_is_kept(store: BaseStore) -> None:
    """Defect 5: NUL."""
    kept(store, NUL)


def a_lone_surrogate_is_kept(store: BaseStore) -> None:
    """Defect 5: lone surrogates."""
    kept(store, LONE)


def kept(store: BaseStore, text: str) -> None:
    store.put(("n",), text, {"text": text, text: [text]})
    item = store.get(("n",), text)
    assert item is not None
    assert (item.key, item.value) == (text, {"text": text, text: [text]})
    assert [found.key for found in store.search(("n",), filter={"text": text})] == [text]


def a_short_life_survives_its_first_read(store: BaseStore) -> None:
    """Defect 6: 0.4 minutes are none after the first read."""
    store.put(("n",), "k", {"a": 1}, ttl=0.4)
    assert store.get(("n",), "k") is not None
    sweep(store)
    assert store.get(("n",), "k") is not None, "gone after its first read"


def what_has_expired_is_not_returned(store: BaseStore) -> None:
    """Defect 7: visible until a client sweeps. The server's own sweep may not have come yet."""
    store.put(("n",), "k", {"a": 1}, ttl=0.01)
    time.sleep(0.8)
    assert store.get(("n",), "k") is None
    assert store.search(("n",)) == []
    assert store.list_namespaces() == []


class Failure(NamedTuple):
    """How a case ends on the reference."""

    error: type[Exception]
    told: str


CASES: dict[Callable[[BaseStore], None], Failure] = {
    pages_of_one_batch_are_complete: Failure(AssertionError, r"== \(450, 450\)"),
    pages_are_complete_while_others_update: Failure(AssertionError, r"== \(200, 200\)"),
    comparison_is_numeric: Failure(AssertionError, r"\['10', '100', '2', '9'\] == "),
    a_nul_is_kept: Failure(psycopg.DataError, "NUL"),
    a_lone_surrogate_is_kept: Failure(UnicodeEncodeError, "surrogates not allowed"),
    a_short_life_survives_its_first_read: Failure(AssertionError, "gone after its first read"),
    what_has_expired_is_not_returned: Failure(AssertionError, r"Item\(.*\) is None"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_holds_here(store: ThreadkeepStore, case: Callable[[BaseStore], None]) -> None:
    case(store)


@pytest.mark.parametrize(("case", "failure"), CASES.items())
def test_it_does_not_hold_on_the_reference(
    reference: PostgresStore, case: Callable[[BaseStore], None], failure: Failure
) -> None:
    with pytest.raises(failure.error, match=failure.told) as raised:
        case(reference)
    assert raised.type is failure.error


def edited_by_many(edit: Callable[[Callable[[Any], Any]], None]) -> None:
    """8 threads change one item 20 times each."""

    def work(thread: int) -> None:
        for at in range(20):
            edit(lambda value, at=at: {"seen": [*value["seen"], thread * 20 + at]})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_all_160_changes_survive_with_a_condition(store: ThreadkeepStore) -> None:
    """Defect 3, which no BaseStore can avoid without a version."""
    store.put(("n",), "k", {"seen": []})
    edited_by_many(lambda change: store.edit(("n",), "k", change) and None)
    item = store.get(("n",), "k")
    assert item is not None
    assert sorted(item.value["seen"]) == list(range(160))


def test_changes_are_lost_without_a_condition(reference: PostgresStore) -> None:
    reference.put(("n",), "k", {"seen": []})
    lock = threading.Lock()

    def edit(change: Callable[[Any], Any]) -> None:
        with lock:
            item = reference.get(("n",), "k")
        assert item is not None
        value = change(item.value)
        with lock:
            reference.put(("n",), "k", value)

    edited_by_many(edit)
    item = reference.get(("n",), "k")
    assert item is not None
    assert len(item.value["seen"]) < 160


def test_an_exact_search_does_not_reach_below(store: ThreadkeepStore) -> None:
    """Defect 16: a listing of files must not show, nor grep, what reads and deletes do not reach."""
    store.put(("org",), "/a.md", {"content": "a"})
    store.put(("org", "ann"), "/secret.md", {"content": "b"})
    assert {item.key for item in store.search(("org",))} == {"/a.md", "/secret.md"}
    assert [item.key for item in store.search(("org",), exact=True)] == ["/a.md"]
    assert [item.key for item in store.scan(("org",), exact=True)] == ["/a.md"]
    assert (store.count(("org",)), store.count(("org",), exact=True)) == (2, 1)


def test_a_listing_over_the_reference_does(reference: PostgresStore) -> None:
    over = StoreBackend(namespace=lambda _: ("org",), store=reference)
    below = StoreBackend(namespace=lambda _: ("org", "ann"), store=reference)
    over.write("/a.md", "a")
    below.write("/secret.md", "b")
    assert {entry["path"] for entry in over.ls("/").entries or []} == {"/a.md", "/secret.md"}
    assert [match["path"] for match in over.grep("b").matches or []] == ["/secret.md"]
    assert over.read("/secret.md").error is not None
    over.delete("/secret.md")
    assert below.read("/secret.md").error is None


def test_a_stale_put_is_told_the_current_version(store: ThreadkeepStore) -> None:
    first = store.put(("n",), "k", {"a": 1}, if_version=0)
    assert first is not None
    second = store.put(("n",), "k", {"a": 2}, if_version=first)
    with pytest.raises(VersionConflictError) as conflict:
        store.put(("n",), "k", {"a": 3}, if_version=first)
    assert conflict.value.current_version == second
    with pytest.raises(VersionConflictError):
        store.delete(("n",), "k", if_version=first)
    assert store.get(("n",), "k").version == second


def sweep(store: BaseStore) -> None:
    if isinstance(store, PostgresStore):
        store.sweep_ttl()
