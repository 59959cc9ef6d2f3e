"""Real graphs on the saver: a deepagents agent with delta channels, and interrupts.

What a graph shows must be what it shows on LangGraph's own in-memory saver.
"""

from __future__ import annotations

import dataclasses
import logging
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from fake_server import FakeServer
from threadkeep.langgraph import ThreadkeepSaver


class ScriptedModel(GenericFakeChatModel):
    """Says the next line; its tools are those the lines name."""

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:
        return self


def call(name: str, number: int, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{number}"}])


def script() -> list[AIMessage]:
    lines = []
    for turn in range(3):
        lines += [call("look_up", turn * 10 + n, word=f"w{turn}{n}") for n in range(3)]
        lines.append(
            AIMessage(
                "",
                tool_calls=[
                    {"name": "look_up", "args": {"word": f"p{n}"}, "id": f"par-{turn}-{n}"}
                    for n in range(4)
                ],
            )
        )
        lines.append(call("write_file", turn * 10 + 9, file_path=f"/f{turn}.txt", content="hello"))
        lines.append(AIMessage(f"done {turn}"))
    return lines


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return f"meaning of {word} " * 20


def shown(state: Any) -> Any:
    messages = [
        (m.type, m.content, [c["id"] for c in getattr(m, "tool_calls", [])])
        for m in state["messages"]
    ]
    return messages, sorted(state.get("files", {}))


def make_agent(saver: Any) -> Any:
    deepagents = pytest.importorskip("deepagents")
    model = ScriptedModel(messages=iter(script()))
    return deepagents.create_deep_agent(model=model, tools=[look_up], checkpointer=saver)


@pytest.mark.parametrize("durability", ["async", "sync", "exit"])
async def test_a_deep_agent_shows_the_same_as_in_memory(
    saver: ThreadkeepSaver,
    server: FakeServer,
    durability: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = {"configurable": {"thread_id": "t"}}
    ours, theirs = make_agent(saver), make_agent(InMemorySaver())
    with caplog.at_level(logging.WARNING):
        for turn in range(3):
            question = {"messages": [("user", f"question {turn}")]}
            server.seen.clear()
            got = await ours.ainvoke(question, config, durability=durability)
            want = await theirs.ainvoke(question, config, durability=durability)
            assert shown(got) == shown(want)
            reads = [s.path for s in server.seen if "commit" not in s.path]
            assert reads == ["/v1/checkpoints/get"], "a turn starts with one round trip"
    assert "Blocked" not in caplog.text
    got_state, want_state = await ours.aget_state(config), await theirs.aget_state(config)
    assert shown(got_state.values) == shown(want_state.values)
    server.seen.clear()
    got_history = [shown(s.values) async for s in ours.aget_state_history(config) if s.values]
    want_history = [shown(s.values) async for s in theirs.aget_state_history(config) if s.values]
    assert got_history == want_history
    assert len(server.seen) == 1, "a history of states is one request"


async def test_a_second_saver_reads_what_the_first_wrote(
    server: FakeServer, transport: str
) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    agent = make_agent(ThreadkeepSaver(server.url))
    for turn in range(3):
        last = await agent.ainvoke({"messages": [("user", f"q{turn}")]}, config)
    other = make_agent(ThreadkeepSaver(server.url, transport=transport))
    assert shown((await other.aget_state(config)).values) == shown(last)
    assert shown(other.get_state(config).values) == shown(last)


def test_later_turns_get_only_the_difference_of_the_chain(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    agent, want = make_agent(saver), make_agent(InMemorySaver())
    for turn in range(3):
        question = {"messages": [("user", f"question {turn}")]}
        assert shown(agent.invoke(question, config)) == shown(want.invoke(question, config))
    gets = [seen.body for seen in server.requests("/checkpoints/get")]
    assert "have" not in gets[0]
    assert "have" in gets[2]
    answer = server.store.get(gets[2])
    assert answer.get("continues_at") == gets[2]["have"]["checkpoint_id"]
    whole = server.store.get({k: v for k, v in gets[2].items() if k != "have"})
    assert 0 < len(answer["chain"]) < len(whole["chain"])


def test_interrupt_and_resume(saver: ThreadkeepSaver) -> None:
    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    def ask(_: State) -> State:
        return {"log": [f"answer {interrupt('really?')}"]}

    graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask")
    app = graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    stopped = app.invoke({"log": ["begin"]}, config)
    assert stopped["__interrupt__"][0].value == "really?"
    assert app.invoke(Command(resume="yes"), config)["log"] == ["begin", "answer yes"]
    forked = app.update_state(app.get_state(config).config, None, as_node="__copy__")
    assert app.get_state(forked).values["log"] == ["begin", "answer yes"]


@dataclasses.dataclass
class Point:
    """A class of a user's state."""

    x: int


def test_classes_of_a_state_come_back(server: FakeServer) -> None:
    class State(TypedDict):
        point: Point

    graph = StateGraph(State).add_node("n", lambda s: s).add_edge(START, "n")
    app = graph.compile(checkpointer=ThreadkeepSaver(server.url))
    config: Any = {"configurable": {"thread_id": "t"}}
    app.invoke({"point": Point(1)}, config)
    assert app.get_state(config).values["point"] == Point(1)


def test_tool_messages_survive(saver: ThreadkeepSaver) -> None:
    config: Any = {"configurable": {"thread_id": "t"}}
    agent = make_agent(saver)
    agent.invoke({"messages": [("user", "q")]}, config)
    messages = agent.get_state(config).values["messages"]
    assert sum(isinstance(m, ToolMessage) for m in messages) == 8
