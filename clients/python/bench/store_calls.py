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
KINDS = 10_000
TOP = 10

Call = Callable[[Any], Any]
"""Says whether the answer is right."""
Measure = Callable[[int], Call]


def namespace(at: int) -> tuple[str, str]:
    return (f"user-{at % USERS}", "memories")


def value(at: int) -> dict[str, Any]:
    """A memory of some 300 bytes."""
    words = random.Random(at)
    text = " ".join(f"word{words.randrange(5_000)}" for _ in range(30))
    return {"text": text, "kind": f"kind-{at % KINDS}", "score": at % 1_000, "done": at % 2 == 0}


def added(at: int) -> dict[str, Any]:
    """One that the filter by kind does not find, so that what it must find is known."""
    return value(at) | {"kind": "added"}


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
    """Each makes a call with all it needs, so that only the call is timed."""

    def get(at: int) -> Call:
        at = at * 7_919 % items
        place, key, kind = namespace(at), f"key-{at}", value(at)["kind"]
        return lambda store: store.get(place, key).value["kind"] == kind

    def put(at: int) -> Call:
        place, key, new = namespace(at), f"new-{at}", added(at)
        return lambda store: store.put(place, key, new) or True

    def replace(at: int) -> Call:
        at = at * 7_919 % items
        place, key, new = namespace(at), f"key-{at}", value(at)
        return lambda store: store.put(place, key, new) or True

    def put_batch(at: int) -> Call:
        keys = range(at * BATCH_OPS, (at + 1) * BATCH_OPS)
        ops = [PutOp(namespace(key), f"batch-{key}", added(key)) for key in keys]
        return lambda store: len(store.batch(ops)) == BATCH_OPS

    def get_batch(at: int) -> Call:
        numbers = [(at * BATCH_OPS + n) * 7_919 % items for n in range(BATCH_OPS)]
        keys = [f"key-{number}" for number in numbers]
        ops = [GetOp(namespace(number), f"key-{number}") for number in numbers]
        return lambda store: [found and found.key for found in store.batch(ops)] == keys

    def equal(at: int) -> Call:
        number = at * 7 % min(items, KINDS)
        kind, expected = f"kind-{number}", len(range(number, items, KINDS))

        def right(store: Any) -> bool:
            found = store.search((), filter={"kind": kind}, limit=TOP)
            return len(found) == min(TOP, expected) and all(
                it.value["kind"] == kind for it in found
            )

        return right

    def compare(at: int) -> Call:
        place, filter_ = namespace(at)[:1], {"score": {"$gte": 500}}
        return lambda store: 0 < len(store.search(place, filter=filter_, limit=TOP)) <= TOP

    def newest(_: int) -> Call:
        return lambda store: len(store.search((), limit=TOP)) == TOP

    def newest_of_one(at: int) -> Call:
        place = namespace(at)[:1]
        return lambda store: 0 < len(store.search(place, limit=TOP)) <= TOP

    def namespaces(_: int) -> Call:
        return lambda store: len(store.list_namespaces(limit=100)) == 100

    def roots(_: int) -> Call:
        return lambda store: len(store.list_namespaces(max_depth=1, limit=100)) == 100

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
                times = [timed(measure(counted * share + at), stored) for at in range(share)]
            # The first round of each side warms it up and is not counted.
            if counted >= len(SIDES):
                medians[side].append(statistics.median(times))
        ours, theirs = (statistics.median(medians[side]) for side in (OURS, THEIRS))
        rows.append(row(f"{name}, p50", ours, theirs, millis, goal))
    return rows


def timed(call: Call, stored: BaseStore) -> float:
    begun = time.perf_counter()
    right = call(stored)
    took = time.perf_counter() - begun
    assert right
    return took
