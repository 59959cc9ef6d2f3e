"""A program that a test runs beside the server, and what happens to it."""

import signal
import subprocess

from support import settings


class Child:
    """Has no process before it is started."""

    process: subprocess.Popen[bytes] | None = None

    def check_alive(self) -> None:
        """Else another program has its port, and an answer from there is not its own."""
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.process.args!r} ended with {self.process.returncode}")

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
