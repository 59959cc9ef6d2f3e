"""The development server of LangGraph, and threadkeep beside the same graph in this process."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import httpx
from langgraph.types import Command
from threadkeep.langgraph import ThreadkeepSaver

from agent_server.official.graph import builder
from agent_server.official.script import ASSISTANT
from support import settings
from support.server import Server, clean_environment
from support.waiting import wait_until

GRAPH = "agent"
HERE = Path(__file__).parent


class Side(Protocol):
    """A server, and how a run of the graph comes to it."""

    http: httpx.Client

    def run(self, thread_id: str, said: str | None, resume: Any) -> None:
        """Let the graph hear this, or go on with this answer."""

    def close(self) -> None: ...


def said_to(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "human", "content": text, "id": f"said {text}"}]}


class Official:
    """Keeps everything in memory, in a folder of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tk-official-"))
        shutil.copy(HERE / "graph.py", self.folder)
        config = {"dependencies": ["."], "graphs": {GRAPH: "./graph.py:graph"}}
        (self.folder / "langgraph.json").write_text(json.dumps(config))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        assert settings.DEV_SERVER_BIN, (
            "THREADKEEP_TEST_DEV_SERVER_BIN names a folder with langgraph"
        )
        command = [
            settings.DEV_SERVER_BIN / "langgraph",
            "dev",
            "--no-browser",
            "--no-reload",
            "--allow-blocking",
        ]
        quiet = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGSMITH_TRACING": "false"}
        self.log = self.folder / "log"
        self.process = subprocess.Popen(
            [*command, "--port", str(port), "--config", "langgraph.json"],
            cwd=self.folder,
            env=clean_environment() | quiet,
            stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT,
        )
        # It closes some connections after an answer without saying so.
        alone = {"connection": "close"}
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=alone, timeout=60)
        wait_until(self._answers, "the development server", seconds=120)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()[-4000:]
        try:
            return self.http.get("/ok").status_code == 200
        except httpx.TransportError:
            return False

    def run(self, thread_id: str, said: str | None, resume: Any) -> None:
        command = {"command": {"resume": resume}} if said is None else {"input": said_to(said)}
        body = {"assistant_id": GRAPH, **command}
        self.http.post(f"/threads/{thread_id}/runs/wait", json=body).raise_for_status()
        # The status of the thread follows the answer.
        deadline = time.monotonic() + settings.PATIENCE_SECONDS
        while self.http.get(f"/threads/{thread_id}").json()["status"] == "busy":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def close(self) -> None:
        self.http.close()
        self.process.terminate()
        self.process.wait(settings.PATIENCE_SECONDS)
        shutil.rmtree(self.folder)


class Ours:
    def __init__(self, server: Server, key: str):
        self.http = httpx.Client(base_url=server.url, headers={"x-api-key": key}, timeout=60)
        self.saver = ThreadkeepSaver(server.url, api_key=key)
        self.graph: Any = builder.compile(checkpointer=self.saver)

    def run(self, thread_id: str, said: str | None, resume: Any) -> None:
        config = {
            "configurable": {"thread_id": thread_id},
            "metadata": {"graph_id": GRAPH, "assistant_id": ASSISTANT},
        }
        given = Command(resume=resume) if said is None else said_to(said)
        # What the node raises is in the thread then.
        with suppress(ValueError):
            self.graph.invoke(given, config)

    def close(self) -> None:
        self.saver.close()
        self.http.close()
