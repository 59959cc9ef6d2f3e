"""Limits of how many rows one request looks at. Rows are copied past the server: no client makes so many soon."""

import pytest

from support.limits import World
from support.limits.checkpoints import THREAD, commit, with_writes
from support.limits.copies import copy_row, numbered
from support.limits.rows import get, packed, post
from support.server import Server

NAMESPACE = ["many"]
WORDS = ["text"]


@pytest.fixture
def world(own_server: Server) -> World:
    return World(own_server, own_server.new_key())


@pytest.fixture
def limits(own_server: Server) -> dict[str, int]:
    return own_server.get("/v1/limits", own_server.new_key()).json()


def put(world: World, key: str, text: str) -> None:
    value = {"text": text}
    world.must(post("/v1/store/put", namespace=NAMESPACE, key=key, value=value))


def test_a_snapshot_has_so_many_items(world: World, limits: dict[str, int]) -> None:
    most = limits["snapshot_items_max"]
    put(world, "first", "x")
    place = world.server.place
    copy_row(place, "items", "size_bytes > 0", most, {"key": numbered(place)})
    before = world.has()

    answer = world.ask(post("/v1/snapshots/take", namespaces=[NAMESPACE]))

    assert (answer.status, answer.code) == (422, "invalid")
    assert (answer.json()["field"], answer.json()["limit"]) == ("namespaces", most)
    assert world.has() == before


def test_a_report_adds_up_so_many_rows(world: World, limits: dict[str, int]) -> None:
    most = limits["storage_report_rows_max"]
    world.must(commit(with_writes(1)))
    assert world.must(get("/v1/threads/storage", thread_id=THREAD))["storage"]["writes"] == 1
    copy_row(world.server.place, "writes", "idx = 0", most, {"idx": "n"})

    answer = world.ask(get("/v1/threads/storage", thread_id=THREAD))

    assert (answer.status, answer.code) == (422, "invalid")
    assert (answer.json()["field"], answer.json()["limit"]) == ("thread_id", most)


def test_a_search_by_words_ranks_the_newest(world: World, limits: dict[str, int]) -> None:
    most = limits["text_candidates_max"]
    world.must(post("/v1/store/settings/put", namespace=NAMESPACE, text_fields=WORDS))
    put(world, "best", "needle needle needle")
    put(world, "copied", "needle in a stack of hay")
    asked = packed("/v1/store/search", prefix=NAMESPACE, mode="text", query="needle", limit=1)

    def best() -> str:
        (item,) = world.must(asked)["items"]
        return str(item["key"])

    place = world.server.place
    word_total = "word_total = (select max(word_total) from items)"
    copy_row(place, "items", word_total, most - 2, {"key": numbered(place)})
    assert best() == "best"
    put(world, "last", "needle in a stack of hay")
    assert best() != "best"
