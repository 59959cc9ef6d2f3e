"""A Redis of a test's own, on a port of its own, which may be stopped, killed and started again."""

import signal
import subprocess
from pathlib import Path

from support import settings
from support.server import free_port
from support.waiting import wait_until


class Redis:
    """Keeps nothing on disk."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Redis":
        options = [
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self.folder),
        ]
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_until(lambda: self.ask("ping") == "PONG", "Redis")
        return self

    def ask(self, *command: str) -> str:
        done = subprocess.run(
            ["redis-cli", "-p", str(self.port), *command],
            capture_output=True,
            text=True,
            timeout=settings.PATIENCE_SECONDS,
        )
        return done.stdout.strip()

    def pause(self) -> None:
        """It takes connections and does not answer."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(settings.PATIENCE_SECONDS)
