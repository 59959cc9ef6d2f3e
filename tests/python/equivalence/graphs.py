"""The plain LangGraph graphs of the scenarios: deterministic nodes, each graph made for one behaviour of a saver.

Every graph exists twice: `plain` keeps its log in a reducer channel, `delta` in a DeltaChannel whose values are
mostly not stored and are rebuilt from writes.
"""

import itertools
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.channels.delta import DeltaChannel
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from support.waiting import wait_until

KINDS = ("plain", "delta")
# How a node waits for two branches: by one edge from both, as a node that runs last, or by both.
JOINS = ("edge", "defer", "edge and defer")
SNAPSHOT_EVERY = 4


def extend(state: list[Any] | None, writes: list[list[Any]]) -> list[Any]:
    """The batch form of list addition."""
    return [*(state or []), *(item for write in writes for item in write)]


class PlainLog(TypedDict, total=False):
    log: Annotated[list, operator.add]
    note: Any


class DeltaLog(TypedDict, total=False):
    log: Annotated[list, DeltaChannel(extend, snapshot_frequency=SNAPSHOT_EVERY)]
    note: Any


SCHEMAS = {"plain": PlainLog, "delta": DeltaLog}


def say(what: str, **more: Any) -> Any:
    """A node that adds one entry, telling how long the log was when it ran."""

    def node(state: dict[str, Any]) -> dict[str, Any]:
        return {"log": [f"{what}@{len(state.get('log', []))}"], **more}

    return node


def chain(kind: str, saver: Any, names: str = "abc", **compile_options: Any) -> Any:
    """START -> a -> b -> c."""
    builder = StateGraph(SCHEMAS[kind])
    for name in names:
        builder.add_node(name, say(name, note=name))
    builder.add_edge(START, names[0])
    for left, right in itertools.pairwise(names):
        builder.add_edge(left, right)
    return builder.compile(checkpointer=saver, **compile_options)


def asking(kind: str, saver: Any) -> Any:
    """One node that asks two questions, between two that ask none."""

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        first = interrupt({"question": "name", "so_far": len(state["log"])})
        second = interrupt("colour")
        return {"log": [f"{first} likes {second}"], "note": None}

    builder = StateGraph(SCHEMAS[kind])
    builder.add_node("before", say("before", note={"b": b"\x00\xff"}))
    builder.add_node("ask", ask)
    builder.add_node("after", say("after"))
    for left, right in [(START, "before"), ("before", "ask"), ("ask", "after")]:
        builder.add_edge(left, right)
    return builder.compile(checkpointer=saver)


def fan_out(kind: str, saver: Any, failing: set[int]) -> Any:
    """Four branches by Send, of which those in `failing` raise; then one node that joins them."""

    def spread(state: dict[str, Any]) -> list[Send]:
        return [Send("branch", {"number": number}) for number in range(4)]

    def others_are_stored() -> bool:
        head = saver.get_tuple({"configurable": {"thread_id": "t"}})
        stored = [value for _, channel, value in head.pending_writes if channel == "log"]
        return len(stored) == 4 - len(failing)

    def branch(state: dict[str, Any]) -> dict[str, Any]:
        # A failure may drop what the others, in their threads, have not stored yet, so it must be the last.
        if state["number"] in failing:
            wait_until(others_are_stored, "the other branches")
        return in_order(state)

    def in_order(state: dict[str, Any]) -> dict[str, Any]:
        if state["number"] in failing:
            raise RuntimeError(f"branch {state['number']} failed")
        return {"log": [f"branch {state['number']}"]}

    async def branch_async(state: dict[str, Any]) -> dict[str, Any]:
        # Tasks that wait for nothing run whole, one after the other.
        return in_order(state)

    builder = StateGraph(SCHEMAS[kind])
    builder.add_node("start", say("start"))
    builder.add_node("branch", RunnableLambda(branch, afunc=branch_async))
    builder.add_node("join", say("join"))
    builder.add_edge(START, "start")
    builder.add_conditional_edges("start", spread, ["branch"])
    builder.add_edge("branch", "join")
    return builder.compile(checkpointer=saver)


def nested(kind: str, saver: Any, *, own_memory: bool, asks: bool = False) -> Any:
    """A graph with a subgraph of two steps; `own_memory` lets the subgraph remember from turn to turn."""

    def last(state: dict[str, Any]) -> dict[str, Any]:
        answer = interrupt("inside") if asks else "quiet"
        return {"log": [f"{answer}@{len(state.get('log', []))}"]}

    inner = StateGraph(SCHEMAS[kind])
    inner.add_node("one", say("inner one"))
    inner.add_node("two", last)
    inner.add_edge(START, "one")
    inner.add_edge("one", "two")
    child = inner.compile(checkpointer=True if own_memory else None)

    def call(state: dict[str, Any]) -> dict[str, Any]:
        done = child.invoke({"log": [f"called with {len(state['log'])}"]})
        return {"note": len(done["log"]), "log": ["called"]}

    outer = StateGraph(SCHEMAS[kind])
    outer.add_node("before", say("outer before"))
    outer.add_node("child", call)
    outer.add_node("after", say("outer after"))
    for left, right in [(START, "before"), ("before", "child"), ("child", "after"), ("after", END)]:
        outer.add_edge(left, right)
    return outer.compile(checkpointer=saver)


def joined(
    kind: str, saver: Any, how: str = "edge", *, asks: bool = False, **compile_options: Any
) -> Any:
    """Two branches of different length, and a node that waits for both."""

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        return {"log": [interrupt("left")]}

    builder = StateGraph(SCHEMAS[kind])
    builder.add_node("left", ask if asks else say("left"))
    builder.add_node("right", say("right"))
    builder.add_node("more", say("more"))
    builder.add_node("join", say("join"), defer="defer" in how)
    for left, right in [(START, "left"), (START, "right"), ("right", "more")]:
        builder.add_edge(left, right)
    if "edge" in how:
        builder.add_edge(["left", "more"], "join")
    else:
        builder.add_edge("left", "join")
        builder.add_edge("more", "join")
    return builder.compile(checkpointer=saver, **compile_options)


def routed(kind: str, saver: Any) -> Any:
    """Nodes without edges: each says by a Command which are next, the last but one from within a subgraph."""

    def go(what: str, **where: Any) -> Any:
        def node(state: dict[str, Any]) -> Command[Any]:
            return Command(update={"log": [f"{what}@{len(state.get('log', []))}"]}, **where)

        return node

    child = StateGraph(SCHEMAS[kind])
    child.add_node("one", say("child one"))
    child.add_node("two", go("child two", goto="last", graph=Command.PARENT))
    child.add_edge(START, "one")
    child.add_edge("one", "two")
    builder = StateGraph(SCHEMAS[kind])
    builder.add_node("first", go("first", goto=["left", "right"]))
    builder.add_node("left", say("left"))
    builder.add_node("right", go("right", goto=Send("sent", {"log": ["of its own"]})))
    builder.add_node("sent", go("sent", goto="child"))
    builder.add_node("child", child.compile())
    builder.add_node("last", say("last"))
    builder.add_edge(START, "first")
    return builder.compile(checkpointer=saver)


def two_deep(kind: str, saver: Any, remembers: str = "") -> Any:
    """A subgraph in a subgraph. The innermost asks twice; the one that is named remembers from turn to turn."""

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        answers = [interrupt({"question": number}) for number in range(2)]
        return {"log": [f"{answers} after {len(state['log'])}"], "note": "asked"}

    def level(name: str, inner: Any, checkpointer: Any = None) -> Any:
        builder = StateGraph(SCHEMAS[kind])
        builder.add_node("before", say(f"{name} before"))
        builder.add_node("inside", inner)
        builder.add_node("after", say(f"{name} after"))
        edges = [(START, "before"), ("before", "inside"), ("inside", "after"), ("after", END)]
        for left, right in edges:
            builder.add_edge(left, right)
        return builder.compile(checkpointer=checkpointer or (name == remembers or None))

    return level("outer", level("middle", level("innermost", ask)), checkpointer=saver)


def functional(saver: Any) -> Any:
    """Of the functional API: parallel tasks, a question, a task after it, and a value kept for the next turn. It asks only where
    it is given numbers, and fails with a negative one.
    """

    @task
    def double(number: int) -> int:
        if number < 0:
            raise RuntimeError(f"number {number} failed")
        return 2 * number

    @task
    def describe(total: int, answer: str) -> dict[str, Any]:
        return {"text": f"{answer}: {total}"}

    @entrypoint(checkpointer=saver)
    def workflow(numbers: list[int], *, previous: Any = None) -> Any:
        total = sum(one.result() for one in [double(number) for number in numbers])
        answer = interrupt({"total": total, "previous": previous}) if numbers else "none"
        told = describe(total, answer).result()
        return entrypoint.final(
            value=told, save={"total": total + (previous or {"total": 0})["total"]}
        )

    return workflow


def interrupted(kind: str, saver: Any, happens: Callable[[], object]) -> Any:
    """A chain in whose middle something happens that is not the graph's doing."""

    def node(state: dict[str, Any]) -> dict[str, Any]:
        happens()
        return {"log": ["too late"]}

    builder = StateGraph(SCHEMAS[kind])
    for name, action in [("a", say("a")), ("b", node), ("c", say("c"))]:
        builder.add_node(name, action)
    for left, right in [(START, "a"), ("a", "b"), ("b", "c")]:
        builder.add_edge(left, right)
    return builder.compile(checkpointer=saver)


def looping(kind: str, saver: Any, steps: int) -> Any:
    """One node run `steps` times in one turn: a long chain of checkpoints."""

    def again(state: dict[str, Any]) -> str:
        return END if len(state["log"]) % (steps + 1) == 0 else "step"

    builder = StateGraph(SCHEMAS[kind])
    builder.add_node("step", say("step"))
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", again, ["step", END])
    return builder.compile(checkpointer=saver)
