"""A conversation that grows: a model, three tools at a time that are sent the whole list, no chance."""

import operator
import random
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send

TOOLS = 3
WORDS = [random.Random(seed).randbytes(4).hex() for seed in range(400)]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], operator.add]


class ToolInput(TypedDict):
    messages: list[AnyMessage]
    call: str


def prose(seed: str, words: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def model(state: State) -> dict[str, Any]:
    number = len(state["messages"])
    if isinstance(state["messages"][-1], HumanMessage):
        calls = [{"name": "look", "args": {"at": k}, "id": f"{number}-{k}"} for k in range(TOOLS)]
        return {"messages": [AIMessage(prose(f"m{number}", 60), id=f"m{number}", tool_calls=calls)]}
    return {"messages": [AIMessage(prose(f"m{number}", 200), id=f"m{number}")], "notes": ["done"]}


def tools(state: State) -> list[Send] | str:
    calls = getattr(state["messages"][-1], "tool_calls", [])
    sends = [Send("tool", {"messages": state["messages"], "call": call["id"]}) for call in calls]
    return sends or END


def tool(state: ToolInput) -> dict[str, Any]:
    call = state["call"]
    text = f"{len(state['messages'])} messages; " + prose(call, 200)
    return {"messages": [ToolMessage(text, tool_call_id=call, id=f"t{call}")]}


def graph_with(
    saver: BaseCheckpointSaver[Any], before_model: Callable[[], None] = lambda: None
) -> Any:
    def call_model(state: State) -> dict[str, Any]:
        before_model()
        return model(state)

    builder = StateGraph(State)
    builder.add_node("model", call_model)
    builder.add_node("tool", tool)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools, ["tool", END])
    builder.add_edge("tool", "model")
    return builder.compile(checkpointer=saver)


def config(thread_id: str = "t") -> Any:
    return {"configurable": {"thread_id": thread_id}}


def turn(number: int) -> dict[str, Any]:
    return {"messages": [HumanMessage(prose(f"h{number}", 40), id=f"h{number}")]}


def history(saver: BaseCheckpointSaver[Any], thread_id: str = "t") -> list[Any]:
    """Every state of the thread, without what differs from run to run."""
    states = graph_with(saver).get_state_history(config(thread_id))
    return [
        (state.metadata["step"], state.values, state.next, [task.name for task in state.tasks])
        for state in states
    ]
