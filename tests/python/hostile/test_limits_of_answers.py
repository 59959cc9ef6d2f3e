"""Limits that refuse no request of their own size: they end an answer, or fill in what a request left out."""

from base64 import b64decode
from datetime import UTC, datetime, timedelta
from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from threadkeep.langgraph import ThreadkeepSaver

from support.limits import Asked, World
from support.limits.rows import document, get, packed, post
from support.server import Server

NAMESPACE = ["memories"]


@pytest.fixture
def world(server: Server, api_key: str) -> World:
    return World(server, api_key)


@pytest.fixture
def limits(server: Server, api_key: str) -> dict[str, int]:
    return server.get("/v1/limits", api_key).json()


def put(key: str, value: bytes) -> Asked:
    return packed("/v1/store/put", namespace=NAMESPACE, key=key, value=value)


def raw(path: str, size: int) -> Asked:
    query = f"/v1/files/content?ns={NAMESPACE[0]}&path={path}"
    return Asked("PUT", query, b"\x80" * size, "application/octet-stream")


def ends_in(seconds: int, answer: dict[str, Any]) -> bool:
    """Within a minute."""
    ends_at = datetime.fromisoformat(answer["expires_at"].replace("Z", "+00:00"))
    left = ends_at - datetime.now(UTC)
    return abs(left - timedelta(seconds=seconds)) < timedelta(minutes=1)


def test_a_page_has_so_many_rows(world: World, limits: dict[str, int]) -> None:
    most = limits["list_rows_max"]
    for first in range(0, most + 1, most):
        ops = [
            {"put": {"namespace": NAMESPACE, "key": str(it), "value": {}}}
            for it in range(first, min(first + most, most + 1))
        ]
        world.must(post("/v1/store/batch", ops=ops))

    page = world.must(post("/v1/store/search", limit=10 * most))
    rest = world.must(post("/v1/store/search", limit=10 * most, cursor=page["next_cursor"]))

    assert (len(page["items"]), len(rest["items"])) == (most, 1)
    assert rest.get("next_cursor") is None


def test_a_page_ends_with_the_item_that_fills_it(world: World, limits: dict[str, int]) -> None:
    most = limits["list_bytes_max"]
    for number in range(6):
        world.must(put(str(number), document(most // 4)))

    page = world.must(post("/v1/store/search", limit=10))
    rest = world.must(post("/v1/store/search", limit=10, cursor=page["next_cursor"]))

    assert (len(page["items"]), len(rest["items"])) == (4, 2)


def test_a_load_ends_before_it_is_too_large(world: World, limits: dict[str, int]) -> None:
    most = limits["session_load_bytes_max"]
    session = {"kind": "chat", "key": ["a"]}
    for size in (most // 2, most // 2, most + 1, 10):
        world.must(packed("/v1/sessions/append", **session, entries=[{"data": document(size)}]))

    def load(after: int) -> tuple[list[int], bool]:
        answer = world.must(post("/v1/sessions/load", **session, after_seq=after))
        return [it["seq"] for it in answer["entries"]], answer["more"]

    assert load(0) == ([1, 2], True)
    # What is larger comes alone.
    assert load(2) == ([3], True)
    assert load(3) == ([4], False)


def test_a_download_ends_where_its_answer_is_full(world: World, limits: dict[str, int]) -> None:
    most, count = limits["files_bytes_max"], 4
    sizes = [most // count] * count + [1]
    for number, size in enumerate(sizes):
        world.must(raw(f"/{number}", size))

    paths = [f"/{it}" for it in range(len(sizes))]
    answer = world.must(packed("/v1/files/download", namespace=NAMESPACE, paths=paths))

    found = answer["results"]
    assert [len(b64decode(it["bytes"])) for it in found[:count]] == sizes[:count]
    assert found[count].get("bytes") is None
    assert found[count]["error"] == "too_large_for_batch"


def test_a_file_is_a_value_up_to_a_size(world: World, limits: dict[str, int]) -> None:
    most = limits["file_value_bytes_max"]
    world.must(raw("/small", most))
    world.must(raw("/large", most + 1))

    def read(key: str) -> Asked:
        return post("/v1/store/get", namespace=NAMESPACE, key=key)

    assert world.must(read("/small"))["item"]["size_bytes"] > most
    answer = world.ask(read("/large"))
    assert (answer.status, answer.code) == (413, "value_too_large")
    content = world.ask(get("/v1/files/content", ns=NAMESPACE, path="/large"))
    assert len(content.body) == most + 1


def test_a_token_lives_for_an_hour_where_its_maker_did_not_say(
    world: World, limits: dict[str, int]
) -> None:
    made = world.must(post("/v1/tokens", subject="ann"))

    assert ends_in(limits["token_ttl_seconds_default"], made)


def test_an_address_is_valid_for_an_hour_where_its_maker_did_not_say(
    world: World, limits: dict[str, int]
) -> None:
    world.must(raw("/a", 1))

    made = world.must(get("/v1/files/url", ns=NAMESPACE, path="/a"))

    assert ends_in(limits["signed_url_seconds_default"], made)


def test_a_token_is_no_longer_than_a_header_takes(world: World, limits: dict[str, int]) -> None:
    most = limits["token_bytes_max"]

    def token(size: int) -> Asked:
        ids = ["x" * 500] * 5 + ["x" * size]
        grants = [{"id": f"{number}{it}", "actions": ["read"]} for number, it in enumerate(ids)]
        return post("/v1/tokens", grants={"threads": grants})

    lengths = []
    for size in range(500):
        answer = world.ask(token(size))
        if answer.status != 200:
            break
        lengths.append(len(answer.json()["token"]))

    # A byte of a grant is one or two of the token.
    assert most - 2 < lengths[-1] <= most
    assert (answer.status, answer.code) == (413, "too_large")
    assert (answer.json()["field"], answer.json()["limit"]) == ("grants", most)


class Many(TypedDict):
    done: Annotated[list[int], add]


class One(TypedDict):
    number: int


def waiting_in_subgraphs(saver: ThreadkeepSaver, thread_id: str, count: int) -> None:
    """Leaves a thread whose last step waits in so many subgraphs."""

    def ask(state: One) -> dict[str, Any]:
        return {"done": [interrupt(state["number"])]}

    inner = StateGraph(One, output_schema=Many)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    outer = StateGraph(Many)
    outer.add_node("inner", inner.compile())
    outer.add_conditional_edges(
        START, lambda _: [Send("inner", {"number": it}) for it in range(count)], ["inner"]
    )
    graph = outer.compile(checkpointer=saver)
    graph.invoke({"done": []}, {"configurable": {"thread_id": thread_id}})


def test_an_answer_has_states_of_so_many_subgraphs(
    world: World, saver: ThreadkeepSaver, limits: dict[str, int]
) -> None:
    most = limits["subgraph_states_max"]
    waiting_in_subgraphs(saver, "most", most)
    waiting_in_subgraphs(saver, "more", most + 1)

    def state(thread_id: str) -> Asked:
        return get(f"/threads/{thread_id}/state", subgraphs="true")

    tasks = world.must(state("most"))["tasks"]
    assert len([it for it in tasks if it["state"]["values"] is not None]) == most
    answer = world.ask(state("more"))
    assert (answer.status, answer.code) == (422, "invalid")
    assert (answer.json()["field"], answer.json()["limit"]) == ("subgraphs", most)
