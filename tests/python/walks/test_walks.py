"""`docs/internals/walks.md` lists, for five calls, the files of `src/` that run on PostgreSQL, no more and no fewer.

With UPDATE_WALKS=1 the page is written anew.
"""

import json
import os
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from support import settings
from support.callgrind import Counters, counting
from support.executed import OPTIONS, executed, tree
from support.http import post_json, request
from support.native import Native, checkpoint
from support.postgres import Databases
from support.server import Place

PAGE = settings.ROOT / "docs" / "internals" / "walks.md"
NOUNS = ["checkpoints", "threads", "store", "files", "sessions", "snapshots", "tokens", "tenants"]
ROOMS = ["http", "domain", "storage"]
# Longer than most tasks of the server wait: what they run belongs to no call.
IDLE_SECONDS = 3
HEAD = """\
# The files of five calls

Each list has the files of `src/` that run when a server on PostgreSQL answers one call, less those that run for `GET /healthz` and while the server idles.
`tests/python/walks` runs the calls under valgrind and compares; `UPDATE_WALKS=1 target/py/bin/python -m pytest tests/python/walks` writes this page.
`ARCHITECTURE.md` tells the same calls as stories.

| call | files of the nouns | shared files |
|---|---|---|
"""


class Calls:
    """The five calls, each on things of its own."""

    def __init__(self, url: str):
        self.url = url
        self.native = Native(url, None)
        self.number = count(1)

    def prepared(self) -> "Calls":
        """What the calls need is there."""
        self._post("/v1/store/put", {"namespace": ["notes"], "key": "k", "value": {"a": 2}})
        self._post("/v1/files/write", {"namespace": ["files"], "path": "/a.md", "content": "0."})
        self.version = 0
        self.put()
        self._post("/v1/snapshots/take", {"snapshot_id": "s", "threads": [{"thread_id": "t"}]})
        return self

    def put(self) -> None:
        number = next(self.number)
        at = f"{number:08}"
        self.native.commit("t", checkpoint(at, {"messages": at.encode()}, step=number))

    def search(self) -> None:
        self._post("/v1/store/search", {"prefix": ["notes"], "filter": {"a": {"$gte": 1}}})

    def edit(self) -> None:
        old, self.version = self.version, self.version + 1
        strings = {"old_string": f"{old}.", "new_string": f"{self.version}."}
        self._post("/v1/files/edit", {"namespace": ["files"], "path": "/a.md"} | strings)

    def append(self) -> None:
        entries = [{"data": {"number": next(self.number)}}]
        self._post("/v1/sessions/append", {"kind": "claude", "key": ["s"], "entries": entries})

    def restore(self) -> None:
        self._post("/v1/snapshots/restore", {"snapshot_id": "s"})

    def idle(self) -> None:
        for _ in range(3):
            assert request(self.url, "GET", "/healthz").status == 200
            time.sleep(IDLE_SECONDS / 3)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        answer = post_json(self.url, path, body)
        assert answer.status in (200, 201), answer.body
        return json.loads(answer.body)


def walks(measured: Counters) -> dict[str, set[str]]:
    """Files by the title of their call."""
    calls = Calls(measured.server.url).prepared()
    of_all = executed(measured, calls.idle)
    each: dict[str, Callable[[], None]] = {
        "A put: `POST /v1/checkpoints/commit`": calls.put,
        "A search: `POST /v1/store/search`": calls.search,
        "An edit: `POST /v1/files/edit`": calls.edit,
        "An append: `POST /v1/sessions/append`": calls.append,
        "A restore: `POST /v1/snapshots/restore`": calls.restore,
    }
    return {title: executed(measured, call) - of_all for title, call in each.items()}


def is_of_a_noun(file: str) -> bool:
    room, folder, *_ = [*file.split("/"), ""]
    return room in ROOMS and folder in NOUNS


def in_order(files: set[str]) -> list[str]:
    """From the request to the database."""
    rooms = [*ROOMS, ""]
    return sorted(
        files, key=lambda it: (rooms.index(next(r for r in rooms if it.startswith(r))), it)
    )


def page(found: dict[str, set[str]]) -> str:
    for_all = {it for it in set.intersection(*found.values()) if not is_of_a_noun(it)}
    text = HEAD
    for title, files in found.items():
        own = sum(map(is_of_a_noun, files))
        text += f"| {title} | {own} | {len(files) - own} |\n"
    text += "\n## Shared by all five\n\n" + listed(for_all)
    for title, files in found.items():
        of_nouns = set(filter(is_of_a_noun, files))
        shared = [f"`{it}`" for it in in_order(files - of_nouns - for_all)]
        text += (
            f"\n## {title}\n\n{listed(of_nouns)}\nAnd of the shared files: {', '.join(shared)}.\n"
        )
    return text


def listed(files: set[str]) -> str:
    rows = "".join(
        f"| `{it}` | {tree().opener(it).replace('|', '/')} |\n" for it in in_order(files)
    )
    return "| file | what it does |\n|---|---|\n" + rows


@pytest.fixture(scope="module")
def found(databases: Databases) -> dict[str, set[str]]:
    place = Place(databases)
    try:
        with counting(place, settings.BINARY, *OPTIONS) as measured:
            return walks(measured)
    finally:
        place.remove()


def test_the_page_lists_the_files_that_run(found: dict[str, set[str]]) -> None:
    if os.environ.get("UPDATE_WALKS") == "1":
        PAGE.write_text(page(found))

    assert PAGE.read_text().splitlines() == page(found).splitlines()


def test_each_call_runs_its_way_from_the_route_to_the_statement(found: dict[str, set[str]]) -> None:
    ways = {
        "A put": ["http/checkpoints/commit.rs", "storage/checkpoints/postgres/lean.rs"],
        "A search": ["http/store/handlers.rs", "storage/store/postgres/search.rs"],
        "An edit": ["domain/files/replacing.rs", "storage/store/postgres/writes.rs"],
        "An append": ["domain/sessions/ledger.rs", "storage/sessions/writing.rs"],
        "A restore": ["domain/snapshots/restore.rs", "storage/snapshots/exchange.rs"],
    }
    for title, files in found.items():
        assert set(ways[title.split(":")[0]]) <= files, title
