"""Real agents on `threadkeep_routes`: files outlive the process, checkpoints stay small."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, TypedDict

import pytest
from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from langchain_core.messages import AIMessage
from threadkeep import Client, label
from threadkeep.deepagents import threadkeep_routes
from threadkeep.langgraph import ThreadkeepSaver

from equivalence.agents import Scripted, calls
from support.server import Server

USER, THREAD = "ann@example.test", "session_0123456789ab"
LARGE = "result " * 30_000


def large_search(query: str) -> str:
    """Look something up, at length."""
    return LARGE + query


def make_agent(server: Server, key: str, script: list[Any], backend: Any = None) -> Any:
    return create_deep_agent(
        model=Scripted(script=list(script)),
        tools=[large_search],
        backend=backend or threadkeep_routes(USER, url=server.url, api_key=key),
        checkpointer=ThreadkeepSaver(server.url, api_key=key),
    )


async def ask(agent: Any, text: str, *, is_async: bool) -> list[Any]:
    config = {"configurable": {"thread_id": THREAD}}
    message = {"messages": [("user", text)]}
    state = await agent.ainvoke(message, config) if is_async else agent.invoke(message, config)
    return state["messages"]


def tool(name: str, **arguments: Any) -> AIMessage:
    return calls((f"c-{name}-{len(str(arguments))}", name, arguments))


@pytest.mark.parametrize("is_async", [False, True])
async def test_each_tool_works_on_the_routes(server: Server, api_key: str, is_async: bool) -> None:
    script = [
        tool("write_file", file_path="/memories/p.md", content="secret: AURORA-42\n"),
        tool("write_file", file_path="/workspace/src/a.py", content="x = 1\n"),
        tool("edit_file", file_path="/workspace/src/a.py", old_string="1", new_string="42"),
        tool("read_file", file_path="/src/a.py"),
        tool("ls", path="/"),
        tool("grep", pattern="42", path="/"),
        tool("glob", pattern="**/*.py", path="/"),
        tool("edit_file", file_path="/src/a.py", old_string="absent", new_string=""),
        tool("read_file", file_path="/none"),
        tool("delete", file_path="/workspace/src"),
        tool("ls", path="/workspace"),
        AIMessage("done"),
    ]
    messages = await ask(make_agent(server, api_key, script), "go", is_async=is_async)
    told = [message.text for message in messages if message.type == "tool"]
    assert told[0] == "Updated file /memories/p.md"
    assert "Successfully replaced 1 instance(s)" in told[2]
    assert "x = 42" in told[3]
    assert all(path in told[4] for path in ("/memories/", "/src/"))
    assert "/memories/p.md" in told[5] and "/src/a.py" in told[5]
    assert "/src/a.py" in told[6]
    assert told[7] == "Error: String not found in file: 'absent'"
    assert told[8] == "Error: File '/none' not found"
    assert told[9] == "Deleted /workspace/src"
    assert told[10] == "No files found"
    with Client(server.url, api_key=api_key) as client:
        window = client.files.read((label(USER), "filesystem"), "/p.md")
    assert window.content == "secret: AURORA-42\n"


async def test_large_results_stay_out_of_the_checkpoints(server: Server, api_key: str) -> None:
    script = [tool("large_search", query="q"), AIMessage("done")]
    sizes = {}
    for name, backend in (("routes", None), ("state", StateBackend())):
        key = api_key if name == "routes" else server.new_key()
        messages = await ask(make_agent(server, key, script, backend), "go", is_async=False)
        (told,) = [message.text for message in messages if message.type == "tool"]
        assert "/large_tool_results/" in told
        with Client(server.url, api_key=key) as client:
            found = client.get_thread_storage(THREAD)
            place = (label(USER), "threads", label(THREAD), "artifacts")
            artifacts = client.files.ls(place, "/large_tool_results").entries
        assert found is not None
        sizes[name] = found.logical_bytes
        assert [entry.size for entry in artifacts] == ([len(LARGE) + 1] if name == "routes" else [])
    assert sizes["routes"] * 3 < sizes["state"], sizes


class Context(TypedDict):
    user: str


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_user_may_come_from_the_runtime(
    server: Server, api_key: str, is_async: bool
) -> None:
    routes = threadkeep_routes(lambda rt: rt.context["user"], url=server.url, api_key=api_key)
    for user in ("ann", "bob"):
        script = [
            tool("write_file", file_path="/memories/m.md", content=f"of {user}"),
            tool("ls", path="/memories"),
            tool("grep", pattern="of", path="/"),
            AIMessage("done"),
        ]
        agent: Any = create_deep_agent(
            model=Scripted(script=script), backend=routes, context_schema=Context
        )
        message: Any = {"messages": [("user", "go")]}
        if is_async:
            state = await agent.ainvoke(message, context={"user": user})
        else:
            state = agent.invoke(message, context={"user": user})
        told = [it.text for it in state["messages"] if it.type == "tool"]
        assert all("/memories/m.md" in text for text in told), told
    with Client(server.url, api_key=api_key) as client:
        for user in ("ann", "bob"):
            assert client.files.read((user, "filesystem"), "/m.md").content == f"of {user}"


def test_a_second_process_reads_what_the_first_one_wrote(
    server: Server, api_key: str, tmp_path: Path
) -> None:
    first = """
        script = [
            calls(("w1", "write_file", {"file_path": "/memories/p.md", "content": "AURORA-42"})),
            calls(("w2", "write_file", {"file_path": "/scratch.txt", "content": "seen"})),
            AIMessage("ACKNOWLEDGED."),
        ]
        text = "Remember the password: AURORA-42. Reply: ACKNOWLEDGED."
    """
    second = """
        def recalled(messages):
            told = [m.text for m in messages if m.type == "human"]
            return AIMessage("AURORA-42" if any("AURORA-42" in it for it in told) else "start")
        script = [
            calls(("r1", "read_file", {"file_path": "/memory/p.md"})),
            calls(("r2", "read_file", {"file_path": "/workspace/scratch.txt"})),
            recalled,
        ]
        text = "What was the password I told you earlier?"
    """
    frame = """
        import sys
        sys.path.insert(0, {tests!r})
        from equivalence.agents import Scripted, calls
        from langchain_core.messages import AIMessage
        from deepagents import create_deep_agent
        from threadkeep.deepagents import threadkeep_routes
        from threadkeep.langgraph import ThreadkeepSaver
        {part}
        agent = create_deep_agent(
            model=Scripted(script=script),
            backend=threadkeep_routes({user!r}, url={url!r}, api_key={key!r}),
            checkpointer=ThreadkeepSaver({url!r}, api_key={key!r}),
        )
        config = dict(configurable=dict(thread_id={thread!r}))
        state = agent.invoke(dict(messages=[("user", text)]), config)
        print([m.text for m in state["messages"] if m.type == "tool"][-2:])
        print(state["messages"][-1].text)
    """
    told = []
    for part in (first, second):
        program = textwrap.dedent(frame).format(
            part=textwrap.dedent(part),
            tests=str(Path(__file__).resolve().parents[1]),
            user=USER,
            url=server.url,
            key=api_key,
            thread=THREAD,
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.strip().split("\n"))
    assert told[0][-1] == "ACKNOWLEDGED."
    assert told[1][-1] == "AURORA-42"
    assert "AURORA-42" in told[1][0] and "seen" in told[1][0]
