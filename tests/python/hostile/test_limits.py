"""Each limit of `GET /v1/limits`: one more is refused with the input and the limit, and nothing is stored; what is at the limit is taken."""

import re

import pytest

from support import settings
from support.limits import ROWS, STATUS, Elsewhere, Over, World
from support.server import Server

ONE_REQUEST = {name: row for name, row in ROWS.items() if isinstance(row, Over)}
ELSEWHERE = {name: row for name, row in ROWS.items() if isinstance(row, Elsewhere)}


@pytest.fixture
def world(server: Server, api_key: str) -> World:
    return World(server, api_key)


@pytest.fixture
def limits(server: Server, api_key: str) -> dict[str, int]:
    return server.get("/v1/limits", api_key).json()


def test_every_limit_has_a_row_and_every_row_a_limit(limits: dict[str, int]) -> None:
    assert ROWS.keys() == limits.keys()
    assert len(ONE_REQUEST) > 80


@pytest.mark.parametrize("name", ONE_REQUEST)
def test_one_more_is_refused_with_its_field_and_limit_and_not_stored(
    world: World, limits: dict[str, int], name: str
) -> None:
    row, limit = ONE_REQUEST[name], limits[name]
    asked = row.make(world, limit + 1)
    before = world.has()

    answer = world.ask(asked)

    assert (answer.status, answer.code) == (STATUS[row.code], row.code), answer.body[-500:]
    problem = answer.json()
    assert problem["field"].split(".")[-1] == row.field
    assert problem["limit"] == limit
    assert world.has() == before


@pytest.mark.parametrize("name", [it for it, row in ONE_REQUEST.items() if not row.is_slow])
def test_what_is_at_a_limit_is_taken(world: World, limits: dict[str, int], name: str) -> None:
    row = ONE_REQUEST[name]
    asked = row.make(world, limits[name])
    before = world.has()

    answer = world.ask(asked)

    if row.at_limit is None:
        assert answer.status in (200, 201), answer.body[-500:]
    else:
        assert answer.code == row.at_limit
        assert answer.json().get("limit") is None
    # So the test above would see what is stored.
    assert (world.has() != before) == (row.stores and row.at_limit is None)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_tests_that_show_another_limit_exist(name: str) -> None:
    assert ELSEWHERE[name].tests
    for test in ELSEWHERE[name].tests:
        path, _, function = test.partition("::")
        assert re.search(rf"\b(fn|def) {function}\b", (settings.ROOT / path).read_text()), test
