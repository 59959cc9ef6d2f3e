"""Long commands tell how far they are: on a terminal in one line that is written anew, and never on standard output."""

import json
import os
import pty
import select
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from support import settings
from support.postgres import Databases
from support.server import Place, Server, clean_environment
from support.waiting import wait_until

ACME = ("--tenant", "acme")
CLEARED = "\r\x1b[K"


class Held:
    """A database on PostgreSQL of which a command has to wait for a table. Of SQLite nobody can hold up those that read."""

    def __init__(self, databases: Databases) -> None:
        self.databases = databases
        self.place = Place(databases)
        self.folder = self.place.folder
        server = Server(self.place).start()
        try:
            body = {"namespace": ["n"], "key": "k", "value": {"n": 1}}
            (key,) = server.make_keys(["acme"])
            assert server.post("/v1/store/put", body, key).status == 200
        finally:
            server.kill()
        done = self.start("export", *ACME, "--to", self.folder / "file")
        assert done.wait(settings.PATIENCE_SECONDS) == 0
        done = self.start("master-key", "create", "--to", self.folder / "key", stored=False)
        assert done.wait(settings.PATIENCE_SECONDS) == 0

    def start(
        self, *arguments: str | Path, stored: bool = True, stderr: int = subprocess.PIPE
    ) -> "subprocess.Popen[str]":
        place = self.place.arguments() if stored else []
        return subprocess.Popen(
            [settings.BINARY, *arguments, *place],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=clean_environment(),
        )

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        assert self.place.name
        with closing(psycopg.connect(self.databases.url(self.place.name))) as connection:
            connection.execute(f"lock table {table} in access exclusive mode")
            yield


@pytest.fixture
def held(databases: Databases) -> Iterator[Held]:
    made = Held(databases)
    try:
        yield made
    finally:
        made.place.remove()


# The arguments, the table that it has to wait for, and what it says meanwhile.
COMMANDS = {
    "doctor": (["doctor"], "items", "tenant acme: "),
    "export": (["export", *ACME, "--to", "another"], "thread_details", "bytes written"),
    "import": (["import", "file", "--tenant", "other"], "item_changes", " items, "),
    "erase": (["erase", *ACME, "--subject", "ann"], "idempotency", "threads of the subject"),
    "encrypt": (["encrypt", "--yes", "--master-key-file", "key"], "item_versions", "encrypting"),
}


def in_folder(held: Held, arguments: list[str]) -> list[str | Path]:
    return [held.folder / it if it in ("file", "another", "key") else it for it in arguments]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_terminal_shows_one_line_that_is_gone_at_the_end(held: Held, name: str) -> None:
    arguments, table, expected = COMMANDS[name]
    ours, theirs = pty.openpty()
    with held.locked(table):
        command = held.start(*in_folder(held, arguments), stderr=theirs)
        os.close(theirs)
        shown = ""
        while shown.count(CLEARED) < 3:
            assert select.select([ours], [], [], settings.PATIENCE_SECONDS)[0], shown
            shown += os.read(ours, 4096).decode()
    rest = ""
    try:
        while piece := os.read(ours, 4096):
            rest += piece.decode()
    except OSError:
        # What the kernel says of a terminal that nobody has open any more.
        pass
    os.close(ours)
    output = command.communicate(timeout=settings.PATIENCE_SECONDS)[0]
    assert command.returncode == 0, shown + rest
    *lines, last = (shown + rest).split(CLEARED)
    told = [it for it in lines if expected in it]
    assert len(told) >= 2 and all(it.startswith("threadkeep: ") for it in told), shown
    assert not [it for it in told if "\n" in it], "it is one line"
    assert expected not in last, "the line is gone"
    assert expected not in output


def test_programs_are_told_in_lines_of_json_beside_the_output(held: Held) -> None:
    with held.locked("items"):
        command = held.start("doctor", "--progress", "--json")
        assert command.stderr
        line = json.loads(command.stderr.readline())
    assert set(line) == {"progress"} and line["progress"].startswith("tenant acme: ")
    output, rest = command.communicate(timeout=settings.PATIENCE_SECONDS)
    assert json.loads(output)["sound"] is True
    # The log has its own objects: a statement that waited was slow.
    assert all({"progress", "level"} & set(json.loads(it)) for it in rest.splitlines())


def test_short_work_says_nothing_where_there_is_no_terminal(held: Held) -> None:
    with held.locked("items"):
        command = held.start("doctor")
        wait_until(lambda: waits(held), "the command to wait")
    _, said = command.communicate(timeout=settings.PATIENCE_SECONDS)
    assert command.returncode == 0 and "threadkeep: " not in said


def waits(held: Held) -> bool:
    return bool(held.place.query("select 1 from pg_locks where not granted"))
