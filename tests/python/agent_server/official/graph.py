"""The graph that both servers have runs of. The development server loads this file."""

from typing import Any

from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState):
    title: str


def answer(state: State) -> dict[str, Any]:
    said = str(state["messages"][-1].content)
    if said == "fail":
        raise ValueError("it failed")
    if said == "ask":
        said = str(interrupt({"question": "Really?"}))
    return {"messages": [{"role": "ai", "content": f"heard {said}"}], "title": said}


builder = StateGraph(State).add_node("answer", answer).add_edge(START, "answer")
graph = builder.compile()
