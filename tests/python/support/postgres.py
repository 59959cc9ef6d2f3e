"""A real PostgreSQL of the tests' own, on a unix socket in a temporary folder: crashed at will.

As root it runs under another uid, because initdb and postgres refuse root.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from support import settings as test_settings
from support.waiting import wait_until

NOBODY = 65534


def database_name() -> str:
    return f"tk_{uuid.uuid4().hex[:16]}"


class Databases:
    """Makes and drops databases on a server that is already there."""

    def __init__(self, url: str):
        self.admin_url = url

    def url(self, database: str) -> str:
        parts = urlsplit(self.admin_url)
        return urlunsplit(parts._replace(path=f"/{database}"))

    def create(self, *, template: str | None = None) -> str:
        """Make a database and return its name; with a template it is a copy of that one."""
        name = database_name()
        suffix = f' template "{template}"' if template else ""
        self.run(f'create database "{name}"{suffix}')
        return name

    def drop(self, name: str) -> None:
        self.run(f'drop database if exists "{name}" with (force)')

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


class Postgres(Databases):
    """One cluster. `fsync=False` for plain tests, `fsync=True` where faults are the point."""

    def __init__(
        self, bin_dir: Path, *, fsync: bool = False, settings: dict[str, str] | None = None
    ):
        """`settings` are those of postgresql.conf."""
        self.bin_dir = bin_dir
        self.fsync = fsync
        self.settings = {"max_connections": "200"} | (settings or {})
        self.process: subprocess.Popen[bytes] | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="tk-pg-"))
        self.log = self.folder / "log"
        if self._is_root():
            os.chown(self.folder, NOBODY, NOBODY)
        super().__init__(f"postgres://postgres@localhost/postgres?host={self.folder}")
        self._initialize()

    @staticmethod
    def _is_root() -> bool:
        return os.geteuid() == 0

    def _identity(self) -> dict[str, Any]:
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if self._is_root() else {}

    def _initialize(self) -> None:
        """Makes an empty cluster."""
        command: list[str | Path] = [self.bin_dir / "initdb", "-D", self.folder / "data"]
        command += ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **self._identity())
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {done.stderr}")

    def start(self) -> None:
        """Start, or start again after any kind of end, and wait until it answers.

        After a kill a try can fail, because the old shared memory is still attached: try again.
        """

        def started() -> bool:
            if self.process is None or self.process.poll() is not None:
                self._spawn()
            return self._answers()

        wait_until(started, f"PostgreSQL to answer; its log is {self.log}")

    def _spawn(self) -> None:
        options = ["-c", "listen_addresses=", "-k", str(self.folder)]
        for name, value in self.settings.items():
            options += ["-c", f"{name}={value}"]
        if not self.fsync:
            options += ["-c", "fsync=off", "-c", "full_page_writes=off"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.bin_dir / "postgres", "-D", self.folder / "data", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                **self._identity(),
            )

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        assert self.process is not None
        return self.process.pid

    def _answers(self) -> bool:
        try:
            self.run("select 1")
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGTERM waits for clients, SIGINT (fast) ends sessions, SIGQUIT (immediate) crashes."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(test_settings.PATIENCE_SECONDS)
        self.process = None

    def shut_down_immediately(self) -> None:
        self.stop(signal.SIGQUIT)

    def remove(self) -> None:
        self.shut_down_immediately()
        shutil.rmtree(self.folder, ignore_errors=True)


class Standby(Postgres):
    """A copy of a running cluster that follows it, until it is promoted."""

    def __init__(self, primary: Postgres):
        self._primary = primary
        super().__init__(primary.bin_dir, fsync=primary.fsync, settings=primary.settings)

    def _initialize(self) -> None:
        command: list[str | Path] = [self.bin_dir / "pg_basebackup", "--write-recovery-conf"]
        command += ["-D", self.folder / "data", "-h", self._primary.folder, "-U", "postgres"]
        command += ["--checkpoint=fast", "--no-sync"]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **self._identity())
        if done.returncode != 0:
            raise RuntimeError(f"pg_basebackup failed: {done.stderr}")

    def promote(self) -> None:
        """Returns when it takes writes."""
        self.run("select pg_promote(wait => true)")
