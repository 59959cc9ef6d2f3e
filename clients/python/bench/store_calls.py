"""The store: ThreadkeepStore against PostgresStore, each as it is by default, blocking calls."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.store.postgres import PostgresStore
from measure import Goal, Row, in_turns, millis, row
from sides import OURS, SIDES, THEIRS, Field

from threadkeep.langgraph import ThreadkeepStore

BATCH_OPS = 100
USERS = 500
NOT_SLOWER = Goal(at_most=1.0)
THREE_TIMES = Goal(at_most=1 / 3)

Measure = Callable[[BaseStore, int], Any]


def namespace(at: int) -> tuple[str, str]:
    return (f"user-{at % USERS}", "memories")


def value(at: int) -> dict[str, Any]:
    """A memory of some 300 bytes."""
    words = random.Random(at)
    text = " ".join(f"word{words.randrange(5_000)}" for _ in range(30))
    return {"text": text, "kind": f"kind-{at % 10_000}", "score": at % 1_000, "done": at % 2 == 0}


@contextmanager
def opened(field: Field, side: str) -> Iterator[BaseStore]:
    if side == OURS:
        with ThreadkeepStore(field.server.url, api_key=field.key) as store:
            yield store
        return
    with PostgresStore.from_conn_string(field.databases.url(field.reference)) as store:
        store.setup()
        yield store


def fill(store: BaseStore, items: int) -> None:
    for start in range(0, items, 1_000):
        ops = [
            PutOp(namespace(at), f"key-{at}", value(at))
            for at in range(start, min(items, start + 1_000))
        ]
        store.batch(ops)


def measures(items: int) -> dict[str, tuple[Measure, Goal]]:
    def get(store: BaseStore, at: int) -> Any:
        at = at * 7_919 % items
        return store.get(namespace(at), f"key-{at}").value["kind"] == value(at)["kind"]

    def put(store: BaseStore, at: int) -> Any:
        store.put(namespace(at), f"new-{at}", value(at))
        return True

    def replace(store: BaseStore, at: int) -> Any:
        at = at * 7_919 % items
        store.put(namespace(at), f"key-{at}", value(at))
        return True

    def put_batch(store: BaseStore, at: int) -> Any:
        keys = range(at * BATCH_OPS, (at + 1) * BATCH_OPS)
        return len(store.batch([PutOp(namespace(key), f"batch-{key}", value(key)) for key in keys]))

    def get_batch(store: BaseStore, at: int) -> Any:
        keys = [(at * BATCH_OPS + n) * 7_919 % items for n in range(BATCH_OPS)]
        return all(store.batch([GetOp(namespace(key), f"key-{key}") for key in keys]))

    def equal(store: BaseStore, at: int) -> Any:
        kind = f"kind-{at * 7 % min(items, 10_000)}"
        found = store.search((), filter={"kind": kind}, limit=10)
        return found and all(it.value["kind"] == kind for it in found)

    def compare(store: BaseStore, at: int) -> Any:
        found = store.search((namespace(at)[0],), filter={"score": {"$gte": 500}}, limit=10)
        return isinstance(found, list)

    def newest(store: BaseStore, _: int) -> Any:
        return len(store.search((), limit=10)) == 10

    def newest_of_one(store: BaseStore, at: int) -> Any:
        return len(store.search((namespace(at)[0],), limit=10)) == 10

    def namespaces(store: BaseStore, _: int) -> Any:
        return len(store.list_namespaces(limit=100)) == 100

    def roots(store: BaseStore, _: int) -> Any:
        return len(store.list_namespaces(max_depth=1, limit=100)) == 100

    return {
        "get": (get, NOT_SLOWER),
        "put of a new item": (put, NOT_SLOWER),
        "put of a stored item": (replace, NOT_SLOWER),
        f"batch of {BATCH_OPS} puts": (put_batch, THREE_TIMES),
        f"batch of {BATCH_OPS} gets": (get_batch, THREE_TIMES),
        f"filter, equality, {items:,} items": (equal, THREE_TIMES),
        "filter, $gte, one user": (compare, THREE_TIMES),
        f"newest 10 of {items:,}": (newest, NOT_SLOWER),
        "newest 10 of one user": (newest_of_one, NOT_SLOWER),
        "list 100 namespaces": (namespaces, NOT_SLOWER),
        "list 100 roots": (roots, NOT_SLOWER),
    }


def calls(field: Field, *, items: int, rounds: int, number: int) -> list[Row]:
    for side in SIDES:
        with opened(field, side) as filled:
            fill(filled, items)
    for name in (field.place.name, field.reference):
        assert name is not None
        field.databases.run("vacuum analyze", name)
    rows = []
    for name, (measure, goal) in measures(items).items():
        medians: dict[str, list[float]] = {side: [] for side in SIDES}
        # Batches and listings take longer than single calls: fewer say as much.
        share = number if name in ("get", "put of a new item") else max(5, number // 5)
        for counted, side in enumerate(in_turns(SIDES, rounds + 1)):
            with opened(field, side) as stored:
                times = [timed(measure, stored, counted * share + at) for at in range(share)]
            # The first round of each side warms it up and is not counted.
            if counted >= len(SIDES):
                medians[side].append(statistics.median(times))
        ours, theirs = (statistics.median(medians[side]) for side in (OURS, THEIRS))
        rows.append(row(f"{name}, p50", ours, theirs, millis, goal))
    return rows


def timed(measure: Measure, stored: BaseStore, at: int) -> float:
    begun = time.perf_counter()
    right = measure(stored, at)
    took = time.perf_counter() - begun
    assert right, at
    return took
