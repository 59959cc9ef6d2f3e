"""The requests of front ends that speak the wire, in the order in which each sends them, and what each reads of the answers.

The order of the calls was seen with the public sources of deep-agents-ui, agent-chat-ui and agent-inbox, with `useStream` of
@langchain/react, and is publicly known of Studio. No process has the graph while they look.
"""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from langchain.agents.middleware import TodoListMiddleware
from langgraph.types import Command
from threadkeep.langgraph import ThreadkeepSaver

from equivalence.agents import agent, calls, recall
from support.server import Server

GRAPH = "agent"
ASSISTANT = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
STUDIO = "https://smith.langchain.com"
TEXT = {"content-type": "text/plain;charset=UTF-8"}
TODOS = [
    {"content": "write it down", "status": "completed"},
    {"content": "send it", "status": "in_progress"},
]

# Of the thread that waits.
CONFIG: Any = {"configurable": {"thread_id": "waiting"}, "metadata": {"graph_id": GRAPH}}


class Page:
    """Asks as a page of one origin does."""

    def __init__(self, url: str, headers: dict[str, str]):
        self.http = httpx.Client(base_url=url, headers=headers)
        self.requests = 0

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        self.requests += 1
        answer = self.http.request(method, path, json=body, **more)
        assert answer.status_code == 200, (method, path, answer.text)
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        return self.ask("POST", path, body)


@pytest.fixture
def waiting(saver: Any) -> str:
    """An agent that has todos and a file, and asks before it sends."""
    script = [
        calls(("t", "write_todos", {"todos": TODOS})),
        calls(("w", "write_file", {"file_path": "/a.md", "content": "the letter"})),
        calls(("s", "search", {"query": "send"})),
        recall,
    ]
    said = {"messages": [{"role": "user", "content": "Write to Ann", "id": "h"}]}
    asking(saver, script).invoke(said, CONFIG)
    return "waiting"


def asking(saver: Any, script: list[Any]) -> Any:
    """The agent of the thread that waits, whose model has these lines."""
    asks: Any = {"interrupt_on": {"search": True}, "middleware": [TodoListMiddleware()]}
    return agent(saver, script, **asks)


@pytest.fixture
def idle(saver: Any) -> str:
    """An agent that has answered."""
    config: Any = {"configurable": {"thread_id": "idle"}, "metadata": {"graph_id": GRAPH}}
    agent(saver, [recall]).invoke({"messages": [("user", "How are you?")]}, config)
    return "idle"


@pytest.fixture
def page(server: Server, api_key: str) -> Iterator[Page]:
    page = Page(server.url, {"x-api-key": api_key})
    with page.http:
        yield page


def test_deep_agents_ui(page: Page, waiting: str, idle: str) -> None:
    found = page.post("/assistants/search", {"graph_id": GRAPH, "limit": 100, "offset": 0})
    (assistant,) = (it for it in found if it["metadata"]["created_by"] == "system")
    assert assistant["assistant_id"] == ASSISTANT
    # Where its settings name the assistant by this id.
    assert page.ask("GET", f"/assistants/{ASSISTANT}") == assistant
    newest = {"limit": 20, "sort_by": "updated_at", "sort_order": "desc"}
    rows = page.post("/threads/search", {**newest, "offset": 0})
    assert page.post("/threads/search", {**newest, "offset": len(rows)}) == []
    assert [it["thread_id"] for it in rows] == [idle, waiting]
    for row, title in zip(rows, ["How are you?", "Write to Ann"], strict=True):
        said = next(it for it in row["values"]["messages"] if it["type"] == "human")
        assert said["content"] == title
        assert row["updated_at"]
    asking = page.post("/threads/search", {**newest, "offset": 0, "status": "interrupted"})
    assert [it["thread_id"] for it in asking] == [waiting]
    newest_state = page.post(f"/threads/{waiting}/history", {"limit": 10})[0]
    values = newest_state["values"]
    assert [it["status"] for it in values["todos"]] == ["completed", "in_progress"]
    assert values["files"]["/a.md"]
    (task,) = newest_state["tasks"]
    (request,) = task["interrupts"][0]["value"]["action_requests"]
    assert request["name"] == "search"


def test_the_agent_goes_on_with_a_file_that_deep_agents_ui_changed(
    page: Page, saver: Any, waiting: str
) -> None:
    before = page.post(f"/threads/{waiting}/history", {"limit": 10})[0]
    files = before["values"]["files"]
    changed = {**files["/a.md"], "content": "the changed letter"}
    made = page.post(f"/threads/{waiting}/state", {"values": {"files": {"/a.md": changed}}})
    newest = page.post(f"/threads/{waiting}/history", {"limit": 10})[0]
    assert newest["checkpoint_id"] == made["checkpoint"]["checkpoint_id"]
    assert newest["parent_checkpoint"] == before["checkpoint"]
    assert newest["values"]["files"] == {**files, "/a.md": changed}
    assert newest["values"]["messages"] == before["values"]["messages"]
    graph = asking(saver, [calls(("r", "read_file", {"file_path": "/a.md"})), recall])
    graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    *_, searched, _, read, _ = graph.get_state(CONFIG).values["messages"]
    assert searched.text.startswith("result of send")
    assert "the changed letter" in read.text


def test_agent_chat_ui(page: Page, waiting: str, idle: str) -> None:
    page.ask("GET", "/info")
    for condition in ({"graph_id": GRAPH}, {"assistant_id": ASSISTANT}):
        body = {"metadata": condition, "limit": 100, "offset": 0}
        rows = page.post("/threads/search", body)
        expected = [idle, waiting] if "graph_id" in condition else []
        assert [it["thread_id"] for it in rows] == expected
    history = page.post(f"/threads/{idle}/history", {"limit": 10})
    assert [it["type"] for it in history[0]["values"]["messages"]] == ["human", "ai"]
    # The checkpoint before a message, from which it may be said anew.
    assert all(it["parent_checkpoint"] for it in history[:-1])
    assert history[-1]["parent_checkpoint"] is None


def test_agent_inbox(page: Page, server: Server, waiting: str, idle: str) -> None:
    # Without a credential.
    info = httpx.get(f"{server.url}/info").json()
    assert set(info["host"]) >= {"project_id", "tenant_id"}
    body = {"offset": 0, "limit": 10, "metadata": {"graph_id": GRAPH}}
    (row,) = page.post("/threads/search", {**body, "status": "interrupted"})
    assert row["thread_id"] == waiting
    ((asked,),) = row["interrupts"].values()
    assert asked["value"]["action_requests"][0]["name"] == "search"
    (other,) = page.post("/threads/search", {**body, "status": "idle"})
    assert other["thread_id"] == idle
    assert other["interrupts"] == {}
    assert page.ask("GET", f"/threads/{waiting}")["status"] == "interrupted"
    assert page.ask("GET", f"/threads/{waiting}/state")["next"]


def test_what_agent_inbox_ignores_asks_no_more(page: Page, saver: Any, waiting: str) -> None:
    asked = page.ask("GET", f"/threads/{waiting}/state")
    ignored = {"values": None, "as_node": "__end__"}
    made = page.post(f"/threads/{waiting}/state", ignored)
    state = page.ask("GET", f"/threads/{waiting}/state")
    assert state["checkpoint_id"] == made["checkpoint"]["checkpoint_id"]
    assert (state["next"], state["tasks"], state["interrupts"]) == ([], [], [])
    assert state["values"] == asked["values"]
    row = page.ask("GET", f"/threads/{waiting}")
    assert (row["status"], row["interrupts"]) == ("idle", {})
    body = {"offset": 0, "limit": 10, "metadata": {"graph_id": GRAPH}}
    assert page.post("/threads/search", {**body, "status": "interrupted"}) == []
    graph = asking(saver, [recall])
    assert graph.get_state(CONFIG).next == ()
    graph.invoke({"messages": [("user", "Never mind.")]}, CONFIG)
    assert page.ask("GET", f"/threads/{waiting}/state")["values"]["messages"][-1]["type"] == "ai"


def test_use_stream_opens_a_thread_in_few_requests(page: Page, waiting: str, idle: str) -> None:
    for thread, most in ((idle, 3), (waiting, 5)):
        page.requests = 0
        state = page.ask("GET", f"/threads/{thread}/state")
        history = page.post(f"/threads/{thread}/history", {"limit": 20})
        assert history[0]["checkpoint"] == state["checkpoint"]
        before = {"configurable": {"checkpoint_id": history[-1]["checkpoint_id"]}}
        assert page.post(f"/threads/{thread}/history", {"limit": 20, "before": before}) == []
        if state["next"]:
            for _ in ("content", "lifecycle"):
                page.requests += 1
                path = f"/threads/{thread}/stream/events"
                with page.http.stream("POST", path, json={}, timeout=10) as events:
                    assert events.headers["content-type"].startswith("text/event-stream")
        assert page.requests <= most


def test_a_thread_that_is_not_there_is_new(page: Page) -> None:
    answer = page.http.get("/threads/none/state")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


def test_studio(start_server: Callable[..., Server]) -> None:
    """From its page, to a server without keys on the same machine."""
    server = start_server(options=["--cors-origin", STUDIO])
    with ThreadkeepSaver(server.url) as saver:
        config: Any = {"configurable": {"thread_id": "t"}, "metadata": {"graph_id": GRAPH}}
        agent(saver, [recall]).invoke({"messages": [("user", "hello")]}, config)
    page = Page(server.url, {"origin": STUDIO, **TEXT})
    asks = {
        "origin": STUDIO,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-auth-scheme",
        "access-control-request-private-network": "true",
    }
    with page.http:
        allowed = page.http.options("/assistants/search", headers=asks).headers
        assert allowed["access-control-allow-private-network"] == "true"
        assert allowed["access-control-allow-origin"] == STUDIO
        assert "x-auth-scheme" in allowed["access-control-allow-headers"]
        assert page.ask("GET", "/info")["version"]
        body = {"limit": 10, "offset": 0, "metadata": {"created_by": "system"}}
        (assistant,) = page.post("/assistants/search", body)
        path = f"/assistants/{assistant['assistant_id']}"
        assert page.ask("GET", f"{path}/schemas")["graph_id"] == GRAPH
        for part in ("/graph", "/subgraphs"):
            refused = page.http.get(f"{path}{part}")
            assert (refused.status_code, refused.json()["code"]) == (422, "needs_graph")
            # The page may read why.
            assert refused.headers["access-control-allow-origin"] == STUDIO
        assert len(page.post(f"{path}/versions", {})) == 1
        (thread,) = page.post("/threads/search", {"limit": 10, "offset": 0})
        assert thread["thread_id"] == "t"
        assert page.post("/threads/t/history", {"limit": 10})[0]["values"]["messages"]
        fork_in_studio(page)
        assert page.post("/store/namespaces", {"limit": 100}) == {"namespaces": []}
        assert page.post("/store/items/search", {"namespace_prefix": []}) == {"items": []}
    other = Page(server.url, {"origin": "https://elsewhere.example", **TEXT})
    with other.http:
        assert other.http.post("/threads/search", content=b"{}").status_code == 403


def fork_in_studio(page: Page) -> None:
    """It copies the checkpoint that its user goes on from."""
    history = page.post("/threads/t/history", {"limit": 10})
    old = next(it for it in history if it["next"] == ["model"])
    body = {"values": None, "as_node": "__copy__", "checkpoint": old["checkpoint"]}
    made = page.post("/threads/t/state", body)
    forked, *others = page.post("/threads/t/history", {"limit": 10})
    assert others == history
    assert forked["checkpoint"] == made["checkpoint"]
    assert forked["metadata"]["source"] == "fork"
    assert forked["parent_checkpoint"] == old["parent_checkpoint"]
    assert (forked["values"], forked["next"]) == (old["values"], ["model"])
