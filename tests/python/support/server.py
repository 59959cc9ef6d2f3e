"""The real program as a child process: start, make keys, stop, kill, start on the same port."""

import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import uuid
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from support import settings
from support.http import Answer, post_json, request
from support.postgres import Databases
from support.waiting import wait_until

# Below the range from which systems take the port of an outgoing connection: else a client that
# connects again and again to a dead server can be given that very port, and talks to itself.
PORTS = range(15_000, 32_000)
PORTS_TRIED = 5
TAKEN = "the port is in use"
KEYS_AT_ONCE = 8


def free_port() -> int:
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def clean_environment() -> dict[str, str]:
    """The caller's environment without any setting of threadkeep: only what a test says counts."""
    return {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}


class Ended(RuntimeError):
    """A program that should be running is not."""


class Place:
    """Where a server keeps its data: a folder of SQLite, or a database on PostgreSQL."""

    def __init__(self, databases: Databases | None = None):
        self.databases = databases
        self.folder = Path(tempfile.mkdtemp(prefix="tk-server-"))
        self.name = databases.create() if databases else None

    def arguments(self) -> list[str]:
        if self.databases and self.name:
            return ["--database-url", self.databases.url(self.name)]
        return ["--data-dir", str(self.folder / "data")]

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement past the server, which may be running."""
        if self.databases and self.name:
            return self.databases.run(statement, self.name)
        path = self.folder / "data" / "threadkeep.db"
        with closing(sqlite3.connect(path, timeout=settings.PATIENCE_SECONDS)) as connection:
            rows = connection.execute(statement).fetchall()
            connection.commit()
            return rows

    def logs(self) -> list[tuple[Path, str]]:
        """The end of what each server here logged."""
        found = sorted(self.folder.glob("*.log"))
        return [(log, log.read_text(errors="replace")[-4000:]) for log in found]

    def remove(self) -> None:
        if self.databases and self.name:
            self.databases.drop(self.name)
        shutil.rmtree(self.folder, ignore_errors=True)


class Server:
    """One server process on one place. Several servers may share a place on PostgreSQL."""

    def __init__(
        self,
        place: Place,
        *,
        listen: str | None = None,
        options: list[str] | None = None,
        environment: dict[str, str] | None = None,
        allow_unsafe: bool = True,
        binary: Path = settings.BINARY,
    ):
        self.place = place
        self.binary = binary
        self.listen = listen
        self.options = options or []
        self.environment = environment or {}
        # Test databases may run without fsync, which the server refuses unless it is meant.
        if allow_unsafe:
            self.options = ["--allow-unsafe", *self.options]
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""
        number = uuid.uuid4().hex[:8]
        self.stdout = place.folder / f"{number}.out"
        self.log = place.folder / f"{number}.log"
        self._keys: list[str] = []
        self._metrics_key: str | None = None

    def start(self) -> "Server":
        """Start and wait for /readyz. The first start chooses the port, later ones keep it."""
        self.spawn()
        self.wait_ready()
        return self

    def spawn(self) -> None:
        if self.listen is not None:
            self._spawn_at(self.listen)
            return
        for tries_left in reversed(range(PORTS_TRIED)):
            try:
                self._spawn_at(f"127.0.0.1:{free_port()}")
                return
            except Ended:
                # Somebody else may have taken the port since it was free.
                if not tries_left or TAKEN not in self.tail():
                    raise

    def _spawn_at(self, listen: str) -> None:
        command: list[str | Path] = [self.binary, "serve", "--listen", listen]
        self.stdout.write_bytes(b"")
        with self.stdout.open("ab") as out, self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self.place.arguments(), *self.options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                cwd=self.place.folder,
                env=clean_environment() | self.environment,
                start_new_session=True,
            )
        self.url = wait_until(self._announced, "the line that says where the server listens")
        self.listen = self.url.split("://")[1]

    def _announced(self) -> str:
        self._check_alive()
        for line in self.stdout.read_text().splitlines(keepends=True):
            if line.startswith("listening on ") and line.endswith("\n"):
                return line.split()[-1]
        return ""

    def _check_alive(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            raise Ended(f"the server ended with {self.process.returncode}: {self.tail()}")

    def wait_ready(self) -> None:
        def ready() -> bool:
            self._check_alive()
            try:
                return request(self.url, "GET", "/readyz").status == 200
            except OSError:
                return False

        wait_until(ready, f"/readyz of {self.url}")

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]

    def all_output(self) -> str:
        return self.stdout.read_text(errors="replace") + self.log.read_text(errors="replace")

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> int:
        """Graceful: SIGTERM, and the exit status."""
        assert self.process is not None
        if self.running():
            self.process.terminate()
        return self.process.wait(settings.PATIENCE_SECONDS)

    def kill(self) -> None:
        """What a crash does: SIGKILL, nothing said."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(settings.PATIENCE_SECONDS)

    def resident_bytes(self) -> int:
        """Memory in use by the process."""
        done = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True, check=True
        )
        return int(done.stdout) * 1024

    def resident_bytes_max(self) -> int:
        """The most memory that the process ever used. Linux alone tells it."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run another command of the program on the same place, beside the server."""
        return subprocess.run(
            [self.binary, *arguments, *self.place.arguments()],
            capture_output=True,
            text=True,
            cwd=self.place.folder,
            env=clean_environment() | self.environment,
            timeout=settings.PATIENCE_SECONDS,
        )

    def make_keys(self, tenants: list[str]) -> list[str]:
        """One new key per tenant name, in that order, each already known to the running server."""
        keys = []
        for tenant in tenants:
            done = self.command("keys", "create", "--tenant", tenant)
            if done.returncode != 0 or not done.stdout.startswith("tk_"):
                raise RuntimeError(f"keys create failed: {done.stdout!r} {done.stderr!r}")
            keys.append(done.stdout.strip())
        for key in keys:
            wait_until(partial(self._knows, key), "the server to see a new key")
        return keys

    def new_operator_key(self) -> str:
        """The key of an operator, already known to the running server."""
        key = self.command("keys", "create", "--operator").stdout.strip()
        wait_until(partial(self._knows, key), "the server to see the key of an operator")
        return key

    def _knows(self, key: str) -> bool:
        return request(self.url, "GET", "/v1/whoami", key=key).status == 200

    def new_key(self) -> str:
        """The key of a tenant nothing has used. Made several at a time: each costs a process."""
        if not self._keys:
            self._keys = self.make_keys([f"t-{uuid.uuid4().hex[:12]}" for _ in range(KEYS_AT_ONCE)])
        return self._keys.pop()

    def metrics(self) -> str:
        """What it counted, in the text format of Prometheus."""
        if self._metrics_key is None:
            self._metrics_key = self.new_key()
        answer = self.get("/metrics", self._metrics_key)
        assert answer.status == 200, answer
        return answer.body.decode()

    def get(self, path: str, key: str | None = None) -> Answer:
        return request(self.url, "GET", path, key=key)

    def post(self, path: str, body: Any, key: str | None = None) -> Answer:
        return post_json(self.url, path, body, key=key)
