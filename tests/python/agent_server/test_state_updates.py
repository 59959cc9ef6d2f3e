"""Updates of a state over the wire, against what the graph's own `update_state` makes of the same thread."""

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from langgraph_sdk.errors import BadRequestError, ConflictError, UnprocessableEntityError
from threadkeep.langgraph import ThreadkeepSaver

from agent_server.twins import (
    DELTAS,
    OWN,
    STANDING,
    WIRE,
    alike,
    begun,
    config,
    go_on,
    held,
    state_of,
)
from agent_server.wire import sdk
from display.shown import project
from equivalence import graphs
from equivalence.agents import agent, calls, recall
from equivalence.differences import same
from support.server import Server


@pytest.mark.parametrize("name", STANDING)
def test_a_copy_is_the_checkpoint_that_the_graph_copies(
    saver: Any, server: Server, api_key: str, name: str
) -> None:
    graph, client = STANDING[name](saver), sdk(server, api_key)
    begun(graph, saver)
    graph.update_state(config(OWN), None, as_node="__copy__")
    made = client.threads.update_state(WIRE, None, as_node="__copy__")
    newest = saver.get_tuple(config(WIRE)).checkpoint["id"]
    named = {"thread_id": WIRE, "checkpoint_ns": "", "checkpoint_id": newest}
    assert made == {"checkpoint": named, "configurable": named, "checkpoint_id": newest}
    alike(graph, saver)
    go_on(graph, saver, None, {"log": ["again"]})


def test_a_fork_begins_with_an_earlier_checkpoint(saver: Any, server: Server, api_key: str) -> None:
    graph, client = graphs.chain("delta", saver), sdk(server, api_key)
    begun(graph, saver)
    history = list(graph.get_state_history(config(OWN)))
    first = next(it for it in history if it.next == ("b",)).config["configurable"]["checkpoint_id"]
    graph.update_state(config(OWN, checkpoint_id=first), None, as_node="__copy__")
    client.threads.update_state(WIRE, None, as_node="__copy__", checkpoint_id=first)
    alike(graph, saver)
    assert graph.get_state(config(WIRE)).next == ("b",)
    go_on(graph, saver, None)


@pytest.mark.parametrize("name", STANDING)
def test_what_would_run_is_cleared_as_the_graph_clears_it(
    saver: Any, server: Server, api_key: str, name: str
) -> None:
    graph, client = STANDING[name](saver), sdk(server, api_key)
    begun(graph, saver)
    graph.update_state(config(OWN), None, as_node="__end__")
    client.threads.update_state(WIRE, None, as_node="__end__")
    alike(graph, saver)
    assert graph.get_state(config(WIRE)).next == ()
    assert client.threads.get(WIRE)["status"] == "idle"
    go_on(graph, saver, {"log": ["again"]})


def test_an_answer_that_is_pending_is_cleared_as_the_graph_clears_it(
    saver: Any, server: Server, api_key: str
) -> None:
    graph, client = graphs.asking("plain", saver), sdk(server, api_key)
    graph.invoke({"log": ["in"]}, config(OWN))
    graph.invoke(Command(resume="ann"), config(OWN))
    saver.copy_thread(OWN, WIRE)
    graph.update_state(config(OWN), None, as_node="__end__")
    client.threads.update_state(WIRE, None, as_node="__end__")
    alike(graph, saver)


def test_what_only_the_graph_can_clear_is_refused_and_nothing_is_written(
    saver: Any, server: Server, api_key: str
) -> None:
    client = sdk(server, api_key)
    # The deferred node waits, and another before it would run.
    waiting = graphs.joined("plain", saver, "defer", interrupt_before=["more"])
    waiting.invoke({"log": ["in"]}, config(WIRE))
    failing = graphs.fan_out("plain", saver, {3})
    with pytest.raises(RuntimeError):
        failing.invoke({"log": ["in"]}, config("t"))
    for thread, part in [(WIRE, 'deferred node "join"'), ("t", 'node "branch" has ended')]:
        before = held(saver, thread)
        client.threads.update(thread, metadata={"graph_id": "agent"})
        with pytest.raises(UnprocessableEntityError) as refused:
            client.threads.update_state(thread, None, as_node="__end__")
        assert part in refused.value.message
        same(before, held(saver, thread))


@pytest.mark.parametrize("name", DELTAS)
def test_values_of_a_delta_channel_are_written_as_the_graph_writes_them(
    saver: Any, server: Server, api_key: str, name: str
) -> None:
    graph, client = DELTAS[name](saver), sdk(server, api_key)
    begun(graph, saver)
    graph.update_state(config(OWN), {"log": ["more"]})
    client.threads.update_state(WIRE, {"log": ["more"]})
    alike(graph, saver)
    assert "more" in graph.get_state(config(WIRE)).values["log"]
    # The graph may make a snapshot now; what it holds is the same.
    graph.update_state(config(OWN), {"log": ["and", {"more": [1, 2.5, None, True, "\u00e9"]}]})
    client.threads.update_state(WIRE, {"log": ["and", {"more": [1, 2.5, None, True, "\u00e9"]}]})
    same(state_of(graph, OWN), state_of(graph, WIRE))
    if graph.get_state(config(WIRE)).next:
        go_on(graph, saver, Command(resume="ann") if "question" in name else None)
    go_on(graph, saver, {"log": ["again"]})


ASKING = {"write_file": True}


@pytest.mark.parametrize("asks", [False, True])
def test_files_and_messages_of_an_agent_are_updated_as_the_agent_updates_them(
    saver: Any, server: Server, api_key: str, asks: bool
) -> None:
    write = calls(("w", "write_file", {"file_path": "/a.md", "content": "one"}))

    def made() -> Any:
        options = {"interrupt_on": ASKING} if asks else {}
        return agent(saver, [recall] * 4, **options)

    client = sdk(server, api_key)
    options = {"interrupt_on": ASKING} if asks else {}
    first = agent(saver, [write, recall], **options)
    first.invoke({"messages": [HumanMessage("hello", id="h")]}, config(OWN))
    saver.copy_thread(OWN, WIRE)
    graph = made()
    files = {"/b.md": file_of("two"), "/a.md": None}
    graph.update_state(config(OWN), {"files": files})
    client.threads.update_state(WIRE, {"files": files})
    alike(graph, saver)
    assert "/b.md" in client.threads.get_state(WIRE)["values"]["files"]
    said = {"messages": [{"role": "user", "content": "and this", "id": "n"}]}
    graph.update_state(config(OWN), said)
    client.threads.update_state(WIRE, said)
    same(state_of(graph, OWN), state_of(graph, WIRE))
    if asks:
        go_on(graph, saver, Command(resume={"decisions": [{"type": "approve"}]}))
    go_on(graph, saver, {"messages": [HumanMessage("go on", id="g")]})
    # Messages without ids have one, the same on every read.
    client.threads.update_state(WIRE, {"messages": ["plain"]})
    ids = [graph.get_state(config(WIRE)).values["messages"][-1].id for _ in range(2)]
    assert ids[0] and ids[0] == ids[1]


def file_of(text: str) -> dict[str, Any]:
    return {
        "content": text,
        "encoding": "utf-8",
        "created_at": "2026-01-31T12:00:00+00:00",
        "modified_at": "2026-01-31T12:00:00+00:00",
    }


def test_values_that_only_the_graph_can_take_in_are_refused_and_nothing_is_written(
    saver: Any, server: Server, api_key: str
) -> None:
    client = sdk(server, api_key)
    graph = graphs.chain("delta", saver)
    begun(graph, saver)
    client.threads.update(WIRE, metadata={"graph_id": "agent"})
    before = held(saver, WIRE)
    older = list(graph.get_state_history(config(WIRE)))[2].config["configurable"]["checkpoint_id"]
    for values, part, more in [
        ({"note": "x"}, '"note"', {}),
        ({"log": ["x"], "note": "x"}, '"note"', {}),
        ({"log": {"__overwrite__": []}}, '"log"', {}),
        ({"log": ["x"]}, "not the newest", {"checkpoint_id": older}),
        ({"log": ["x"]}, '"a"', {"as_node": "a"}),
        ({}, "no channel", {}),
    ]:
        with pytest.raises(UnprocessableEntityError) as refused:
            client.threads.update_state(WIRE, values, **more)
        assert part in refused.value.message, refused.value.message
        same(before, held(saver, WIRE))
    client.threads.update_state(WIRE, None, as_node="__copy__")
    with pytest.raises(UnprocessableEntityError, match="no step of the graph"):
        client.threads.update_state(WIRE, {"log": ["x"]})


def test_after_cleared_tasks_the_graph_would_go_on_and_so_values_are_refused(
    saver: Any, server: Server, api_key: str
) -> None:
    graph, client = graphs.asking("delta", saver), sdk(server, api_key)
    begun(graph, saver)
    client.threads.update(WIRE, metadata={"graph_id": "agent"})
    client.threads.update_state(WIRE, None, as_node="__end__")
    with pytest.raises(UnprocessableEntityError, match="cleared"):
        client.threads.update_state(WIRE, {"log": ["x"]})


def merge(left: dict[str, Any] | None, right: dict[str, Any]) -> dict[str, Any]:
    both = {**(left or {}), **right}
    return {name: it for name, it in both.items() if it is not None}


class Page(TypedDict, total=False):
    messages: Annotated[list, add_messages]
    files: Annotated[dict, merge]
    title: str
    seen: Annotated[list, operator.add]


def paged(saver: Any, **options: Any) -> Any:
    def look(state: Page) -> Any:
        texts = [it.text for it in state["messages"]]
        return {"seen": [texts, sorted(state.get("files", {})), state.get("title")]}

    def answer(state: Page) -> Any:
        return {"messages": [("ai", f"saw {len(state['messages'])}")], "files": {"/a": {"n": 1}}}

    builder = StateGraph(Page)
    builder.add_node("answer", answer)
    builder.add_node("look", look)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "look")
    return builder.compile(checkpointer=saver, **options)


RULES = "title=last,messages=messages,files=merge"


@pytest.mark.parametrize("before", [None, "look"])
def test_channels_with_a_rule_take_values_in_as_their_reducers_do(
    start_server: Callable[..., Server], before: str | None
) -> None:
    server = start_server(options=["--state-update-channels", RULES])
    key = server.new_key()
    saver, client = ThreadkeepSaver(server.url, api_key=key), sdk(server, key)
    graph = paged(saver, interrupt_before=[before] if before else [])
    graph.invoke({"messages": [HumanMessage("hi", id="h")], "files": {"/x": {"n": 0}}}, config(OWN))
    saver.copy_thread(OWN, WIRE)
    plain: list[dict[str, Any]] = [
        {"title": "new"},
        {"files": {"/b": {"n": [2, None]}, "/x": None}, "title": None},
    ]
    said: list[dict[str, Any]] = [
        {"messages": [{"type": "human", "content": "two", "id": "2"}]},
        {"messages": {"type": "human", "content": "one", "id": "h"}},
        {"messages": [{"type": "remove", "content": "", "id": "2"}]},
    ]
    for values in plain if before else plain + said:
        graph.update_state(config(OWN), values)
        client.threads.update_state(WIRE, values)
        if "messages" not in values:
            alike(graph, saver, is_first="files" not in values)
        shown = client.threads.get_state(WIRE)["values"]
        same(texts_of(graph, OWN), texts_of(graph, WIRE))
        assert [it["content"] for it in shown["messages"]] == texts_of(graph, OWN)[0]
    if before:
        with pytest.raises(BadRequestError, match="plain data"):
            client.threads.update_state(WIRE, said[0])
    last = {"messages": [HumanMessage("last", id="l")]}
    for value in [None, last] if before else [last]:
        for thread in (OWN, WIRE):
            graph.invoke(value, config(thread))
        same(texts_of(graph, OWN), texts_of(graph, WIRE))


def texts_of(graph: Any, thread: str) -> Any:
    found = graph.get_state(config(thread))
    texts = [
        it["content"] if isinstance(it, dict) else it.content for it in found.values["messages"]
    ]
    others = [project(found.values.get(name)) for name in ("files", "title", "seen")]
    return texts, others, found.next


def test_a_thread_that_is_worked_on_is_left_alone(saver: Any, server: Server, api_key: str) -> None:
    graph, client = graphs.chain("plain", saver), sdk(server, api_key)
    begun(graph, saver)
    before = held(saver, WIRE)
    with saver.lease(WIRE):
        for node in ("__copy__", "__end__"):
            with pytest.raises(ConflictError, match="in-flight"):
                client.threads.update_state(WIRE, None, as_node=node)
    same(before, held(saver, WIRE))
