"""The base store's contract where the reference cannot be the measure: times, lives, limits, paging, errors."""

import asyncio
import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from threadkeep.errors import (
    InvalidError,
    ThreadkeepError,
    TooLargeError,
    UnserializableError,
    VersionConflictError,
)
from threadkeep.langgraph import ThreadkeepStore

from support import settings
from support.server import Server
from support.waiting import wait_until


def test_items_are_the_base_classes_items(store: ThreadkeepStore) -> None:
    before = datetime.now(timezone.utc)
    store.put(("n", "m"), "k", {"float": 1.0, "big": 2**200, "tuple": (1, 2), 3: None})
    item = store.get(("n", "m"), "k")
    assert type(item).__mro__[1] is Item
    assert item.value == {"float": 1.0, "big": 2**200, "tuple": [1, 2], "3": None}
    assert isinstance(item.value["float"], float)
    assert before - timedelta(seconds=5) < item.created_at == item.updated_at
    assert (item.namespace, item.key) == (("n", "m"), "k")
    same = Item(
        value=item.value,
        key="k",
        namespace=("n", "m"),
        created_at=item.created_at,
        updated_at=item.updated_at,
    )
    assert item == same and hash(item) == hash(same)
    json.dumps(item.dict())
    (found,) = store.search(("n",))
    assert isinstance(found, SearchItem) and found.score is None
    assert found.dict()["score"] is None
    store.put(("n", "m"), "k", {"new": 1})
    again = store.get(("n", "m"), "k")
    assert again.created_at == item.created_at and again.updated_at > item.updated_at
    assert again.value == {"new": 1} and again.version == item.version + 1


def test_values_that_are_no_json_are_refused_before_anything_is_sent(
    store: ThreadkeepStore,
) -> None:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    for value in (
        {"at": datetime.now(timezone.utc)},
        {"x": math.nan},
        {"x": math.inf},
        {"x": {1, 2}},
        {"x": object()},
        {(1, 2): 3},
        cycle,
        {"x": deep},
        {"x": 10**5000},
    ):
        with pytest.raises(UnserializableError) as refused:
            store.batch([PutOp(("n",), "good", {"a": 1}), PutOp(("n",), "bad", value)])
        assert refused.value.field == "value"
        with pytest.raises((TypeError, ValueError)):
            asyncio.run(store.aput(("n",), "bad", value))
    assert store.count(()) == 0


def test_what_the_server_refuses_is_typed_and_stores_nothing(store: ThreadkeepStore) -> None:
    nested: Any = 1
    for _ in range(120):
        nested = [nested]
    for kind, call in (
        (InvalidError, lambda: store.put(("n",), "k" * 1025, {})),
        (InvalidError, lambda: store.put(("n",) * 33, "k", {})),
        (InvalidError, lambda: store.put(("n" * 641,), "k", {})),
        (InvalidError, lambda: store.put(("n\ud800",), "k", {})),
        (InvalidError, lambda: store.put(("n",), "k", {"a": nested})),
        (InvalidError, lambda: store.put(("n",), "k", {}, ttl=-1)),
        (ThreadkeepError, lambda: store.put(("n",), "k", {}, ttl=math.nan)),
        (InvalidError, lambda: store.put(("n",), "k", {}, if_version=-1)),
        (TooLargeError, lambda: store.put(("n",), "k", {"a": "x" * (64 << 20)})),
        (InvalidError, lambda: store.search(("n",), limit=-1)),
        (InvalidError, lambda: store.search(("n",), offset=-1)),
        (InvalidError, lambda: store.search(("n",), offset=2_000_000)),
        (InvalidError, lambda: store.search(("n",), filter={"a": {"$bogus": 1}})),
        (InvalidError, lambda: store.search(("n",), filter={"a": math.nan})),
        (InvalidError, lambda: store.list_namespaces(limit=-1)),
        (InvalidError, lambda: list(store.scan(("n",), page_items=0))),
    ):
        with pytest.raises(kind):
            call()
    with pytest.raises(ValueError, match=r"Unsupported operator: \$bogus"):
        store.search(("n",), filter={"a": {"$bogus": 1}})
    assert store.count(()) == 0


def test_namespaces_are_refused_in_the_words_of_the_reference(store: ThreadkeepStore) -> None:
    for namespace, text in (
        ((), "Namespace cannot be empty."),
        (("a.b",), "Namespace labels cannot contain periods"),
        (("a\0",), "Namespace labels cannot contain NUL bytes"),
        (("",), "Namespace labels cannot be empty strings. Got  in"),
        (("langgraph",), 'Root label for namespace cannot be "langgraph"'),
        (("a", 1), "must be strings, but got int"),
    ):
        with pytest.raises(InvalidNamespaceError, match=text.replace("(", r"\(")):
            store.put(namespace, "k", {})
    # The checks of `put` are not those of `batch`: the server has its own.
    with pytest.raises(ValueError, match="Namespace cannot be empty"):
        store.batch([PutOp((), "k", {})])
    with pytest.raises(ValueError, match="Root label"):
        store.batch([PutOp(("langgraph",), "k", {})])
    assert store.get(("langgraph",), "k") is None
    assert store.search(("langgraph",)) == []
    assert store.count(()) == 0


def test_lives_are_minutes_with_defaults(server: Server, api_key: str) -> None:
    store = ThreadkeepStore(server.url, api_key=api_key, ttl={"default_ttl": 60})
    assert store.supports_ttl
    store.put(("n",), "default", {})
    store.put(("n",), "own", {}, ttl=0.5)
    store.put(("n",), "none", {}, ttl=None)
    life = {item.key: item.expires_at for item in store.search(("n",))}
    assert life["none"] is None
    assert life["default"] - life["own"] > timedelta(minutes=59)
    store.put(("n",), "at once", {}, ttl=0)
    assert store.get(("n",), "at once") is None
    for wrong in ({"default_ttl": -1}, {"default_ttl": "1"}, {"more": 1}, 7):
        with pytest.raises(InvalidError):
            ThreadkeepStore(server.url, ttl=wrong)


def test_index_settings_are_checked(server: Server, api_key: str) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[0.0, 1.0] for _ in texts]

    store = ThreadkeepStore(
        server.url, api_key=api_key, index={"dims": 2, "embed": embed, "fields": ["text"]}
    )
    store.put(("n",), "k", {"text": "a"}, index=["text"])
    store.put(("n",), "l", {"text": "b"}, index=False)
    assert len(store.search(("n",), filter={"text": {"$in": ["a", "b"]}})) == 2
    for wrong in (
        {},
        {"dims": 0, "embed": embed},
        {"dims": 2},
        {"dims": 2, "embed": embed, "fields": 7},
    ):
        with pytest.raises(InvalidError):
            ThreadkeepStore(server.url, index=wrong)


def test_extensions_of_search(store: ThreadkeepStore) -> None:
    for at, key in enumerate(["b", "a", "c"]):
        store.put(("n",), key, {"at": at, "deep": {"er": at}, "text": "x" * 1000})
    store.put(("n",), "b", {"at": 9, "deep": {"er": 9}})
    assert [item.key for item in store.search(("n",))] == ["c", "a", "b"]
    assert [item.key for item in store.search(("n",), sort="updated")] == ["b", "c", "a"]
    assert [item.key for item in store.search(("n",), sort="key")] == ["a", "b", "c"]
    assert [item.value for item in store.search(("n",), select=["at"], limit=1)] == [{"at": 2}]
    assert [item.value for item in store.search(("n",), values=False, limit=1)] == [{}]
    found = store.search(("n",), filter={"$or": [{"deep.er": 9}, {"at": {"$in": [1]}}]})
    assert sorted(item.key for item in found) == ["a", "b"]
    assert store.count(("n",), filter={"at": {"$exists": True}}) == 3


def test_answers_over_the_pages_of_the_server_are_whole(store: ThreadkeepStore) -> None:
    store.batch([PutOp(("n", f"{at:04}"), "k", {"at": at}) for at in range(2_300)])
    assert len(store.search(("n",), limit=5_000)) == 2_300
    assert len(store.search(("n",), limit=1_500, offset=1_000)) == 1_300
    assert len(store.list_namespaces(limit=5_000)) == 2_300
    assert len(store.list_namespaces(limit=1_200)) == 1_200
    assert len(list(store.scan(("n",)))) == 2_300
    large = "x" * (1 << 20)
    store.batch([PutOp(("large",), f"k{at}", {"text": f"{at}{large}"}) for at in range(20)])
    assert sorted(item.key for item in store.search(("large",), limit=20)) == sorted(
        f"k{at}" for at in range(20)
    )


class Recording(ThreadkeepStore):
    """As user code subclasses stores: everything must pass through these two."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.seen: list[str] = []

    def batch(self, ops: Any) -> list[Result]:
        ops = list(ops)
        self.seen += [type(op).__name__ for op in ops]
        return super().batch(ops)

    async def abatch(self, ops: Any) -> list[Result]:
        ops = list(ops)
        self.seen += [type(op).__name__ for op in ops]
        return await super().abatch(ops)


def test_a_subclass_sees_every_operation(server: Server, api_key: str) -> None:
    store = Recording(server.url, api_key=api_key)
    assert isinstance(store, BaseStore)

    async def use() -> None:
        await store.aput(("n",), "k", {})
        await store.aget(("n",), "k")
        await store.asearch(("n",), exact=True)
        await store.alist_namespaces()
        await store.aedit(("n",), "k", lambda value: {"a": 1})
        assert [item.key async for item in store.ascan(("n",))] == ["k"]
        await store.adelete(("n",), "k")

    asyncio.run(use())
    assert len(store.seen) == 8
    store.put(("n",), "k", {}, if_version=0)
    assert store.get(("n",), "k") is not None
    store.search(("n",))
    store.list_namespaces()
    store.edit(("n",), "k", lambda value: None)
    assert store.edit(("n",), "k", lambda value: None) is None
    assert len(store.seen) == 8 + 7


async def test_calls_of_one_turn_travel_together_and_fail_alone(
    server: Server, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ThreadkeepStore(server.url, api_key=api_key)
    sent: list[int] = []
    original = store._ticks._send

    async def counted(ops: list[Op], ends: float) -> list[Any]:
        sent.append(len(ops))
        return await original(ops, ends)

    monkeypatch.setattr(store._ticks, "_send", counted)
    await store.aput(("n",), "old", {"a": 0})
    sent.clear()
    outcomes = await asyncio.gather(
        store.aput(("n",), "a", {"a": 1}),
        store.aget(("n",), "old"),
        store.aput(("n",), "bad", {"x": math.nan}),
        store.asearch(("n",), filter={"a": {"$bogus": 1}}),
        store.aput(("n",), "held", {}, if_version=7),
        store.aput(("n",), "k" * 2000, {}),
        store.aget(("n",), "a"),
        return_exceptions=True,
    )
    assert sent == [7]
    assert outcomes[0] is None and outcomes[1].value == {"a": 0}
    kinds = [UnserializableError, InvalidError, VersionConflictError, InvalidError]
    assert [type(it) for it in outcomes[2:6]] == kinds
    assert outcomes[6] is None, "reads see the state from before"
    assert (await store.aget(("n",), "a")).value == {"a": 1}
    assert await store.acount(("n",)) == 2
    # Changes of one item never travel together: each of them happens, in their order.
    sent.clear()
    await asyncio.gather(*(store.aput(("n",), "a", {"a": at}) for at in range(3)))
    assert sorted(sent) == [1, 1, 1]
    edits = [store.aedit(("n",), "a", lambda value: {"a": value["a"] + 10}) for _ in range(10)]
    before = (await store.aget(("n",), "a")).value["a"]
    await asyncio.gather(*edits)
    assert (await store.aget(("n",), "a")).value["a"] == before + 100


async def test_changes_of_one_item_happen_in_the_order_of_the_calls(
    store: ThreadkeepStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = store._ticks._send
    sent: list[list[str]] = []

    async def slow_at_first(ops: list[Op], ends: float) -> list[Any]:
        sent.append([op.key for op in ops])
        if len(sent) == 1:
            await asyncio.sleep(0.2)
        return await original(ops, ends)

    monkeypatch.setattr(store._ticks, "_send", slow_at_first)
    calls = [
        asyncio.ensure_future(store.aput(("n",), key, {"at": at}))
        for at, key in enumerate(["a", "b", "a"])
    ]
    await asyncio.sleep(0.05)
    # Of a later turn, while the first one's request is under way.
    calls.append(asyncio.ensure_future(store.adelete(("n",), "b")))
    calls.append(asyncio.ensure_future(store.aput(("n",), "c", {"at": 4})))
    await asyncio.gather(*calls)
    assert sent == [["a", "b"], ["c"], ["a", "b"]]
    assert (await store.aget(("n",), "a")).value == {"at": 2}
    assert await store.aget(("n",), "b") is None
    assert (await store.aget(("n",), "c")).value == {"at": 4}


async def test_a_cancelled_call_leaves_the_others_alone(store: ThreadkeepStore) -> None:
    first = asyncio.ensure_future(store.aput(("n",), "first", {}))
    second = asyncio.ensure_future(store.aput(("n",), "second", {}))
    await asyncio.sleep(0)
    first.cancel()
    await second
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await store.aget(("n",), "second") is not None


async def test_threads_use_it_while_a_loop_runs(store: ThreadkeepStore) -> None:
    def work(number: int) -> int:
        store.put(("n",), f"k{number}", {"by": threading.current_thread().name})
        assert store.get(("n",), f"k{number}") is not None
        return len(store.search(("n",), limit=100))

    calls = [asyncio.to_thread(work, number) for number in range(20)]
    own = [store.aput(("n",), f"own{number}", {}) for number in range(20)]
    await asyncio.gather(*calls, *own)
    # Also in the loop's own thread, and on a second loop.
    assert store.get(("n",), "own3") is not None
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: asyncio.run(store.aget(("n",), "own4")))
        assert await asyncio.wrap_future(other) is not None
    assert await store.acount(("n",)) == 40


def test_tenants_never_meet(store: ThreadkeepStore, other_store: ThreadkeepStore) -> None:
    for namespace in (("a",), ("a", "b"), ("%",), ("_", "*"), ("a:b",), ("a/b", " ")):
        store.put(namespace, "k", {"secret": 1})
        assert other_store.get(namespace, "k") is None
        assert other_store.search(namespace) == []
        other_store.delete(namespace, "k")
        assert store.get(namespace, "k") is not None
    assert other_store.search(()) == [] and other_store.list_namespaces() == []
    assert other_store.count(()) == 0


def test_a_scan_returns_each_item_once_while_four_writers_update(store: ThreadkeepStore) -> None:
    items = [f"k{at:05}" for at in range(settings.SCAN_ITEMS)]
    for part in range(0, len(items), 1000):
        store.batch([PutOp(("n",), key, {}) for key in items[part : part + 1000]])
    stop = threading.Event()
    updates = [0] * 4

    def update(writer: int) -> None:
        at = writer
        while not stop.is_set():
            chosen = [items[(at * 17 + i) % len(items)] for i in range(20)]
            store.batch([PutOp(("n",), key, {"w": at}) for key in chosen])
            updates[writer] += 1
            at += 4

    with ThreadPoolExecutor(4) as threads:
        writers = [threads.submit(update, number) for number in range(4)]
        try:
            for sort in ("key", "created"):
                before = list(updates)
                found: list[str] = []
                for item in store.scan(("n",), sort=sort, values=False, page_items=500):
                    found.append(item.key)
                    if len(found) == len(items) // 2:
                        # Each of them has written in the middle of this scan.
                        wait_until(
                            lambda before=before: all(map(int.__gt__, updates, before)), "updates"
                        )
                assert sorted(found) == items
        finally:
            stop.set()
        for writer in writers:
            writer.result()


def test_get_and_batch_by_hand(store: ThreadkeepStore) -> None:
    ops: list[Op] = [PutOp(("n",), "k", {"v": 1}), GetOp(("n",), "k"), PutOp(("n",), "k", {"v": 2})]
    assert store.batch(ops) == [None, None, None]
    assert store.get(("n",), "k").value == {"v": 2}
    results = store.batch([GetOp(("n",), "k"), SearchOp(("n",)), PutOp(("n",), "k", None)])
    assert results[0].value == {"v": 2} and len(results[1]) == 1 and results[2] is None
    assert store.batch([]) == [] and store.search(("n",)) == []
