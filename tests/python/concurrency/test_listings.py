"""Pages of a listing in a stable order neither skip nor repeat while others write."""

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from support.limits import Asked, World
from support.limits.checkpoints import commit, with_writes
from support.limits.rows import get, post
from support.native import checkpoint
from support.server import Server
from support.waiting import wait_until

STEADY = 40
PAGE = 7
WRITERS = 3
WALKS = 3


@dataclass(frozen=True)
class Listing:
    """`page` asks for a page behind a cursor. `name` finds what an entry is called."""

    make: Callable[[str], Asked]
    change: Callable[[str], Asked]
    page: Callable[[dict[str, Any]], Asked]
    entries: str
    name: Callable[[dict[str, Any]], str]
    # None: what was made stays.
    remove: Callable[[str], Asked] | None


def thread(sort: str, order: str) -> Listing:
    return Listing(
        lambda it: post("/v1/threads/create", thread_id=it),
        lambda it: post("/v1/threads/update", thread_id=it, title="changed"),
        lambda more: get("/v1/threads", sort=sort, order=order, limit=PAGE, **more),
        "threads",
        lambda it: it["thread_id"],
        lambda it: post("/v1/threads/delete", thread_id=it),
    )


def item(sort: str) -> Listing:
    return Listing(
        lambda it: post("/v1/store/put", namespace=["n"], key=it, value={}),
        lambda it: post("/v1/store/put", namespace=["n"], key=it, value={"changed": True}),
        lambda more: post("/v1/store/search", prefix=["n"], sort=sort, limit=PAGE, **more),
        "items",
        lambda it: it["key"],
        lambda it: post("/v1/store/delete", namespace=["n"], key=it),
    )


LISTINGS = {
    "threads, newest first": thread("created", "desc"),
    "threads, oldest first": thread("created", "asc"),
    "threads by id": thread("thread_id", "asc"),
    "items, newest first": item("created"),
    "items by key": item("key"),
    "checkpoints": Listing(
        lambda it: commit(checkpoint(it, {"a": b"1"})),
        lambda it: commit(with_writes(1, checkpoint_id=it)),
        lambda more: post("/v1/checkpoints/list", limit=PAGE, values=False, **more),
        "checkpoints",
        lambda it: it["checkpoint_id"],
        None,
    ),
    "namespaces": Listing(
        lambda it: post("/v1/store/put", namespace=["n", it], key="k", value={}),
        lambda it: post("/v1/store/put", namespace=["n", it], key="other", value={}),
        lambda more: post("/v1/store/namespaces", limit=PAGE, **more),
        "namespaces",
        lambda it: it[1],
        lambda it: post("/v1/store/delete", namespace=["n", it], key="k"),
    ),
    "snapshots": Listing(
        lambda it: post("/v1/snapshots/take", snapshot_id=it),
        lambda it: post("/v1/snapshots/get", snapshot_id=it),
        lambda more: post("/v1/snapshots/list", limit=PAGE, **more),
        "snapshots",
        lambda it: it["snapshot_id"],
        lambda it: post("/v1/snapshots/delete", snapshot_id=it),
    ),
}


class ComesAndGoes:
    """Changes what stays, and makes and removes others between it, each of a name of its own."""

    def __init__(self, world: World, of: Listing, steady: list[str]):
        self.world, self.of, self.steady = world, of, steady
        self.stop = threading.Event()
        self.rounds = [0] * WRITERS

    def run(self, writer: int) -> None:
        while not self.stop.is_set():
            number = self.rounds[writer]
            between, changed = (
                self.steady[(number * step + writer) % len(self.steady)] for step in (7, 11)
            )
            name = f"{between}-{writer}-{number}"
            self.world.must(self.of.make(name))
            self.world.must(self.of.change(changed))
            if self.of.remove:
                self.world.must(self.of.remove(name))
            self.rounds[writer] += 1

    def wait_for_more(self) -> None:
        before = sum(self.rounds)
        wait_until(lambda: sum(self.rounds) > before, "a write between two pages")


@pytest.mark.parametrize("name", LISTINGS)
def test_pages_in_a_stable_order_neither_skip_nor_repeat_while_others_write(
    server: Server, api_key: str, name: str
) -> None:
    world, of = World(server, api_key), LISTINGS[name]
    steady = [f"{it:04}" for it in range(STEADY)]
    for it in steady:
        world.must(of.make(it))
    others = ComesAndGoes(world, of, steady)
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(others.run, at) for at in range(WRITERS)]
        try:
            for _ in range(WALKS):
                found: list[str] = []
                more: dict[str, Any] | None = {}
                while more is not None:
                    page = world.must(of.page(more))
                    found += [of.name(it) for it in page[of.entries]]
                    cursor = page.get("next_cursor")
                    more = {"cursor": cursor} if cursor else None
                    others.wait_for_more()
                assert len(found) == len(set(found))
                assert [it for it in sorted(found) if it in steady] == steady
        finally:
            others.stop.set()
        for writer in writers:
            writer.result()


def test_listings_with_an_order_that_moves_say_which_are_stable(server: Server) -> None:
    """Of the native API: `updated` is an order for people."""
    document = server.get("/openapi.json").json()
    orders = ['"updated"'] + [
        f"#/components/schemas/{name}"
        for name, schema in document["components"]["schemas"].items()
        if "updated" in schema.get("enum", [])
    ]
    asked = {
        operation["operationId"]: operation["description"]
        for path, operations in document["paths"].items()
        for operation in operations.values()
        if path.startswith("/v1/") and any(it in with_bodies(document, operation) for it in orders)
    }
    assert asked.keys() == {"list_threads", "search_threads", "search_items"}
    stable = re.compile(r"neither skip nor repeat|miss\s+nothing and repeat nothing")
    assert [name for name, said in asked.items() if not stable.search(said)] == []
    sessions = document["paths"]["/v1/sessions/list"]["post"]["description"]
    assert "it is a view for people" in sessions


def with_bodies(document: dict[str, Any], operation: dict[str, Any]) -> str:
    """The operation and the schema of its body, as text."""
    text = json.dumps([operation.get("parameters"), operation.get("requestBody")])
    bodies = re.findall(r"#/components/schemas/(\w+)", text)
    return text + json.dumps([document["components"]["schemas"][it] for it in bodies])
