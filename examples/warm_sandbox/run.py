"""Six steps: make a sandbox, tell its agent a password, save it, kill it, restore it, ask.

Between saving and killing, the agent is told another password, which the restored one must not know.
Against the server that THREADKEEP_URL names, else against a fresh one with its own temporary folder,
or on the PostgreSQL of `--database-url`. Prints a table, and fails unless all of it is PASS.
"""

import argparse
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from endpoints import Endpoints, listening
from memory import Memory
from scripted_model import FILES

LANGUAGES = {"Python": "deepagents", "JavaScript": "deepagents-js"}
ROWS = dict(zip(["/memories/ file", "state file", "OS work directory"], FILES, strict=True))
TELL = "Remember the password: AURORA-42. Reply: ACKNOWLEDGED."
CHANGE = "Replace it everywhere by another password: BOREALIS-7. Reply: REPLACED."
ASK = "What was the password I told you earlier?"


class Caller:
    """Calls the manager."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The answer: its JSON, or the text of its message. Ends the program where it fails."""
        connection = http.client.HTTPConnection(*self._address)
        connection.request(method, path, json.dumps(body or {}))
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        if response.status >= 300:
            sys.exit(f"{method} {path}: {response.status} {text}")
        if response.getheader("content-type") == "text/event-stream":
            return _message(text)
        return json.loads(text)

    def chat(self, sandbox: dict[str, Any], message: str) -> str:
        answer: str = self.call(
            "POST", f"/sandboxes/{sandbox['sandboxId']}/chat", {"message": message}
        )
        return answer


def _message(events: str) -> str:
    """The text of the message among server-sent events."""
    parts = [event.split("\ndata: ") for event in events.strip().split("\n\n")]
    told = {name.removeprefix("event: "): json.loads(data) for name, data in parts}
    text: str = told["sdk_message"]["text"]
    return text


def recipe(caller: Caller, harness: str, times: int, restore: str) -> dict[str, bool]:
    """What held in each of the times, by row."""
    body = {"harness": harness, "user": f"ann-{uuid.uuid4().hex[:8]}"}
    sandbox = caller.call("POST", "/sandboxes", body)
    assert caller.chat(sandbox, TELL) == "ACKNOWLEDGED."
    held = dict.fromkeys(["conversation", *ROWS], True)
    for _ in range(times):
        saved = caller.call("POST", f"/sandboxes/{sandbox['sandboxId']}/snapshot")
        assert caller.chat(sandbox, CHANGE) == "REPLACED."
        # No polite delete: nothing is flushed, closed or told to anybody.
        os.kill(sandbox["pid"], signal.SIGKILL)
        before = sandbox
        if restore == "nothing":
            sandbox = caller.call("POST", "/sandboxes", {**body, "sessionId": before["sessionId"]})
        else:
            asked = {"snapshotId": saved["snapshotId"], "restoreConversation": restore}
            sandbox = caller.call("POST", "/sandboxes/restore", asked)
        assert sandbox["sessionId"] == before["sessionId"]
        caller.call("DELETE", f"/sandboxes/{before['sandboxId']}")
        held["conversation"] &= caller.chat(sandbox, ASK) == "AURORA-42"
        for row, path in ROWS.items():
            content = caller.chat(sandbox, f"Read {path}")
            held[row] &= "AURORA-42" in content and "BOREALIS" not in content
    return held


@contextlib.contextmanager
def fresh_server(binary: Path, database_url: str | None) -> Iterator[str]:
    """The address of a new server on a free port; its folder goes away with it."""
    with tempfile.TemporaryDirectory(prefix="threadkeep-demo-") as folder:
        place = ["--database-url", database_url] if database_url else []
        server = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", f"{folder}/data", *place],
            stdout=subprocess.PIPE,
            stderr=(Path(folder) / "log").open("wb"),
            text=True,
        )
        try:
            assert server.stdout is not None
            first_line = server.stdout.readline()
            if not first_line.startswith("listening on "):
                sys.exit(f"the server did not start: {(Path(folder) / 'log').read_text()}")
            yield first_line.split()[-1]
        finally:
            server.terminate()
            server.wait()


@contextlib.contextmanager
def fresh_manager(url: str) -> Iterator[Caller]:
    """A manager on a free port; its sandboxes go away with it."""
    endpoints = Endpoints(Memory(url, os.environ.get("THREADKEEP_API_KEY")))
    with listening(endpoints, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Caller(("127.0.0.1", server.server_address[1]))
        finally:
            server.shutdown()
            endpoints.close()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, default=Path("target/release/threadkeep"))
    arguments.add_argument("--database-url", help="default: the embedded database")
    arguments.add_argument("--times", type=int, default=3, help="how often in a row")
    arguments.add_argument("--languages", nargs="+", choices=LANGUAGES, default=[*LANGUAGES])
    restore = ["snapshot", "latest", "nothing"]
    arguments.add_argument("--restore", choices=restore, default="snapshot")
    given = arguments.parse_args()

    with contextlib.ExitStack() as stack:
        url = os.environ.get("THREADKEEP_URL") or stack.enter_context(
            fresh_server(given.binary.resolve(), given.database_url)
        )
        caller = stack.enter_context(fresh_manager(url))
        found = {
            name: recipe(caller, LANGUAGES[name], given.times, given.restore)
            for name in given.languages
        }
    print(f"{'':20}" + "".join(f"{name:12}" for name in found).rstrip())
    for row in ["conversation", *ROWS]:
        words = ["PASS" if held[row] else "FAIL" for held in found.values()]
        print(f"{row:20}" + "".join(f"{word:12}" for word in words).rstrip())
    sys.exit(0 if all(all(held.values()) for held in found.values()) else 1)


if __name__ == "__main__":
    main()
