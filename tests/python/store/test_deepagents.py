"""deepagents' own store backend over ours: two users, files that outlive the process."""

import subprocess
import sys
import textwrap
from typing import Any

import pytest
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from threadkeep.langgraph import ThreadkeepStore

from equivalence.agents import calls, recall
from support.server import Server

PATH = "/memories/action_history.json"


def make_agent(store: ThreadkeepStore, script: list[Any]) -> Any:
    from deepagents import create_deep_agent
    from langgraph.config import get_config

    from equivalence.agents import Scripted

    def namespace(_: Any) -> tuple[str, ...]:
        return (get_config()["metadata"]["assistant_id"], "filesystem")

    backend = CompositeBackend(
        default=StateBackend(), routes={"/memories/": StoreBackend(namespace=namespace)}
    )
    return create_deep_agent(
        model=Scripted(script=list(script)),
        backend=backend,
        store=store,
        checkpointer=InMemorySaver(),
    )


def config(user: str) -> Any:
    return {"configurable": {"thread_id": f"thread-{user}"}, "metadata": {"assistant_id": user}}


def ask(agent: Any, user: str) -> list[Any]:
    state = agent.invoke({"messages": [("user", "go on")]}, config(user))
    return [message.text for message in state["messages"] if message.type == "tool"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_two_users_have_a_file_each(store: ThreadkeepStore, is_async: bool) -> None:
    for user in ("ann", "bob"):
        script = [
            calls(("w", "write_file", {"file_path": PATH, "content": f'{{"by": "{user}"}}'})),
            calls(("e", "edit_file", {"file_path": PATH, "old_string": "by", "new_string": "who"})),
            calls(("l", "ls", {"path": "/memories/"})),
            calls(("r", "read_file", {"file_path": PATH})),
            calls(("g", "grep", {"pattern": "who", "path": "/memories"})),
            recall,
        ]
        agent = make_agent(store, script)
        if is_async:
            state = await agent.ainvoke({"messages": [("user", "go on")]}, config(user))
            texts = [message.text for message in state["messages"] if message.type == "tool"]
        else:
            texts = ask(agent, user)
        other = "bob" if user == "ann" else "ann"
        assert f'"who": "{user}"' in texts[3] and other not in "".join(texts), texts
        assert PATH in texts[2] and PATH in texts[4], texts
    keys = {(item.namespace, item.key) for item in store.search(())}
    assert keys == {((user, "filesystem"), "/action_history.json") for user in ("ann", "bob")}
    assert (
        store.get(("ann", "filesystem"), "/action_history.json").value["content"]
        == '{"who": "ann"}'
    )


def test_memories_survive_a_new_process(
    server: Server, api_key: str, store: ThreadkeepStore
) -> None:
    written = make_agent(
        store,
        [
            calls(("w", "write_file", {"file_path": PATH, "content": "AURORA-42"})),
            AIMessage("saved"),
        ],
    )
    ask(written, "ann")
    program = textwrap.dedent(f"""
        from threadkeep.langgraph import ThreadkeepStore
        from deepagents.backends import StoreBackend
        store = ThreadkeepStore({server.url!r}, api_key={api_key!r})
        for user in ("ann", "bob"):
            backend = StoreBackend(namespace=lambda _: (user, "filesystem"), store=store)
            print(user, "AURORA-42" in str(backend.read("/action_history.json")))
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["ann", "True", "bob", "False"]
