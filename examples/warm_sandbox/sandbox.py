"""A sandbox, as far as this example goes: a temporary folder, and a process that an agent runs in."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
HARNESSES = {
    "deepagents": [sys.executable, HERE / "worker.py"],
    "deepagents-js": ["node", HERE / "worker.mjs"],
}


class Gone(Exception):
    """The process has ended, by itself or by a signal."""


class Busy(Exception):
    """Another chat is under way."""


@dataclass(frozen=True)
class Purpose:
    """What a sandbox is for. A restored one has that of the one it comes from."""

    harness: str
    user: str
    session_id: str


class Sandbox:
    """Starts with an empty folder, or with one that the caller has filled."""

    def __init__(self, purpose: Purpose, environment: dict[str, str], folder: Path | None = None):
        self.sandbox_id = new_id()
        self.purpose = purpose
        self.folder = folder or new_folder()
        self.turns = 0
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            HARNESSES[purpose.harness],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                **environment,
                "SANDBOX_SESSION": purpose.session_id,
                "SANDBOX_USER": purpose.user,
                "SANDBOX_WORKDIR": str(self.folder),
            },
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_gone(self) -> bool:
        return self._process.poll() is not None

    def chat(self, message: str) -> str:
        """One turn of the agent. Raises Busy or Gone."""
        if not self._lock.acquire(blocking=False):
            raise Busy
        with_answer = ""
        try:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps({"message": message}) + "\n")
            self._process.stdin.flush()
            with_answer = self._process.stdout.readline()
        except OSError as error:
            raise Gone from error
        finally:
            self._lock.release()
        if not with_answer:
            raise Gone
        self.turns += 1
        answer: str = json.loads(with_answer)["answer"]
        return answer

    def remove(self) -> None:
        """End the process and drop the folder. Repeatable."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def new_id() -> str:
    return f"sbx_{uuid.uuid4().hex[:12]}"


def new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="sandbox-"))
