"""A snapshot in A, an export of the whole server, a new server on the other engine: restored there, the agent knows, and only that."""

import json
from pathlib import Path
from typing import Any

from deepagents.backends import CompositeBackend, StateBackend
from langchain_core.messages import AIMessage
from threadkeep import Client
from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.langgraph import ThreadkeepSaver
from threadkeep.sessions import NewEntry
from threadkeep.snapshots import SessionName

from equivalence.agents import Answer, agent, calls
from support.server import Server

TENANT = "acme"
CODE, LATER = "AURORA-42", "BOREALIS-7"
THREAD = {"configurable": {"thread_id": "chat"}}
MEMORIES = ("ann", "filesystem")
SESSION = SessionName("test", ("chat", "log"))


class Sandbox:
    """Where the agent runs: nothing of it outlives the process but what the server has."""

    def __init__(self, server: Server) -> None:
        self.access: dict[str, str] = {"api_key": server.make_keys([TENANT])[0]}
        self.url = server.url
        self.client = Client(self.url, **self.access)

    def ask(self, text: str, *script: Answer) -> str:
        """One turn, with a saver that remembers nothing."""
        saver = ThreadkeepSaver(self.url, **self.access)
        files = ThreadkeepBackend(self.url, namespace=MEMORIES, **self.access)
        backend = CompositeBackend(default=StateBackend(), routes={"/memories/": files})
        graph = agent(saver, [*script], backend=backend)
        answer: str = graph.invoke({"messages": [("user", text)]}, THREAD)["messages"][-1].text
        return answer

    def knows(self, code: str) -> dict[str, bool]:
        """What of it the model is shown, and what its file tool and the log have."""
        told: dict[str, str] = {}

        def look(messages: list[Any]) -> AIMessage:
            told["conversation"] = " ".join(one.text for one in messages)
            return calls(("r", "read_file", {"file_path": "/memories/code.md"}))

        def finish(messages: list[Any]) -> AIMessage:
            told["file"] = messages[-1].text
            return AIMessage(content="done")

        self.ask("what was the code?", look, finish)
        log = self.client.sessions.load(*SESSION)
        told["log"] = str(log and [entry.data for entry in log.entries])
        return {name: code in text for name, text in told.items()}

    def learn(self, code: str, tool: str, arguments: dict[str, Any]) -> None:
        write = calls((code, tool, {"file_path": "/memories/code.md", **arguments}))
        self.ask(f"the code is {code}", write, AIMessage(content=f"noted {code}"))
        self.client.sessions.append(*SESSION, [NewEntry(code)])


def test_a_server_rebuilt_from_an_export_restores_the_moment(
    servers: tuple[Server, Server], tmp_path: Path
) -> None:
    first, second = servers
    old = Sandbox(first)
    old.learn(CODE, "write_file", {"content": CODE})
    what: dict[str, Any] = {"threads": ["chat"], "namespaces": [MEMORIES], "sessions": [SESSION]}
    taken = old.client.snapshots.take("before", **what)
    old.learn(LATER, "edit_file", {"old_string": CODE, "new_string": f"{CODE} {LATER}"})
    assert old.knows(LATER) == {"conversation": True, "file": True, "log": True}
    file = tmp_path / "acme.export"
    done = first.command("export", "--tenant", TENANT, "--to", str(file))
    assert done.returncode == 0, done.stderr
    first.kill()
    first.place.remove()

    done = second.command("import", str(file), "--tenant", TENANT, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["snapshots"]["created"] == 1
    new = Sandbox(second)
    assert new.client.snapshots.get("before") == taken
    assert new.knows(LATER) == {"conversation": True, "file": True, "log": True}
    restored = new.client.snapshots.restore("before")
    assert new.knows(CODE) == {"conversation": True, "file": True, "log": True}
    assert new.knows(LATER) == {"conversation": False, "file": False, "log": False}
    # Into other names, beside what is there.
    new.client.snapshots.restore(
        "before",
        threads={"chat": "copy"},
        namespaces={MEMORIES: ("bob", "filesystem")},
        sessions={SESSION: ("copy", "log")},
    )
    found = new.client.files.read(("bob", "filesystem"), "/code.md")
    assert CODE in str(found) and LATER not in str(found)
    log = new.client.sessions.load("test", ("copy", "log"))
    assert log is not None and [entry.data for entry in log.entries] == [CODE]
    assert restored.safety_snapshot_id is not None
    new.client.snapshots.restore(restored.safety_snapshot_id)
    assert new.knows(LATER)["conversation"]


def test_one_snapshot_makes_a_file(servers: tuple[Server, Server], tmp_path: Path) -> None:
    first, second = servers
    old = Sandbox(first)
    old.learn(CODE, "write_file", {"content": CODE})
    old.client.snapshots.take("before", threads=["chat"], namespaces=[MEMORIES])
    file = tmp_path / "one.export"
    where = ("export", "--tenant", TENANT, "--to", str(file))
    missing = first.command(*where, "--snapshot", "never taken")
    assert missing.returncode == 1 and not file.exists()
    done = first.command(*where, "--snapshot", "before")
    assert done.returncode == 0, done.stderr
    done = second.command("import", str(file), "--tenant", TENANT, "--format", "json")
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert (counts["snapshots"]["created"], counts["threads"]["created"]) == (1, 0)
    new = Sandbox(second)
    new.client.snapshots.restore("before")
    assert new.knows(CODE) == {"conversation": True, "file": True, "log": False}
