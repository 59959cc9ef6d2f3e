"""A process with an exclusive saver: one turn per line that it is sent, and a line of what came of it.

Arguments: url, thread id, name, seconds until the lease expires. The key is in THREADKEEP_API_KEY.
"""

import sys

from langgraph.graph import END, START, StateGraph
from threadkeep.errors import ConflictError
from threadkeep.langgraph import ThreadkeepSaver
from typing_extensions import TypedDict


class State(TypedDict):
    owner: str
    turns: int


def main() -> None:
    url, thread_id, name, seconds = sys.argv[1:]
    saver = ThreadkeepSaver(url, exclusive=True, lease_seconds=int(seconds))
    builder = StateGraph(State)
    builder.add_node("turn", lambda state: {"owner": name, "turns": state.get("turns", 0) + 1})
    builder.add_edge(START, "turn")
    builder.add_edge("turn", END)
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": thread_id}}
    for line in sys.stdin:
        try:
            if line.strip() == "write":
                # Without a read before it, as the middle of a turn.
                graph.checkpointer.put_writes(  # type: ignore[union-attr]
                    {"configurable": {"thread_id": thread_id, "checkpoint_id": "1"}},
                    [("a", 1)],
                    "t",
                )
                print("wrote", flush=True)
            elif line.strip() == "close":
                saver.close()
                print("closed", flush=True)
            else:
                print("turn", graph.invoke({"owner": name}, config)["turns"], flush=True)
        except ConflictError as error:
            print(type(error).__name__, flush=True)


if __name__ == "__main__":
    main()
