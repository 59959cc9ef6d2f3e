"""A server refuses to start where it cannot work, waits for its database, and warns of a master key that others can read."""

import re
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import settings
from support.http import request
from support.postgres import Databases, Postgres
from support.server import Ended, Place, Server, clean_environment, free_port
from support.waiting import wait_until


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    try:
        yield place
    finally:
        place.remove()


def run(*command: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )


def master_key(place: Place, name: str = "master.key") -> Path:
    file = place.folder / name
    made = run(settings.BINARY, "master-key", "create", "--to", file)
    assert (made.returncode, made.stdout) == (0, ""), made.stderr
    return file


def test_too_few_file_descriptors_are_refused_with_how_many_are_needed(place: Place) -> None:
    # A descriptor less than what 64 connections of clients need.
    limited = ["bash", "-c", 'ulimit -n "$0"; exec "$@"']
    serve = [settings.BINARY, "serve", "--listen", "127.0.0.1:0", *place.arguments()]
    refused = run(*limited, "327", *serve)
    assert refused.returncode == 2
    assert "ulimit -n" in refused.stderr and "328 are needed" in refused.stderr
    assert not (place.folder / "data").exists()


@pytest.mark.parametrize("option", ["--listen", "--metrics-listen"])
def test_a_server_that_cannot_listen_makes_no_database(place: Place, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        addresses = {"--listen": "127.0.0.1:0", "--metrics-listen": "127.0.0.1:0", option: address}
        options = [word for pair in addresses.items() for word in pair]
        refused = run(settings.BINARY, "serve", *options, *place.arguments())
    assert refused.returncode != 0
    assert "the port is in use" in refused.stderr
    assert not (place.folder / "data").exists()


def test_a_server_waits_for_its_database(databases: Databases) -> None:
    assert isinstance(databases, Postgres) and databases.bin_dir
    own = Postgres(databases.bin_dir)
    place = Place()
    log = place.folder / "log"
    try:
        with log.open("ab") as stderr:
            waits = subprocess.Popen(
                [
                    settings.BINARY,
                    "serve",
                    "--allow-unsafe",
                    *("--listen", f"127.0.0.1:{free_port()}"),
                    *("--database-url", own.admin_url),
                    *("--wait-for-database", str(settings.PATIENCE_SECONDS * 10)),
                ],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=clean_environment(),
            )
        try:
            wait_until(lambda: "trying again for" in log.read_text(), "the server to wait")
            own.start()
            assert waits.stdout is not None
            url = waits.stdout.readline().split()[-1]
            assert request(url, "GET", "/readyz").status == 200
            assert log.read_text().count("trying again for") == 1
        finally:
            waits.terminate()
            assert waits.wait(settings.PATIENCE_SECONDS) == 0
    finally:
        own.remove()
        place.remove()


def test_a_server_that_waits_can_be_told_to_end(place: Place) -> None:
    away = f"postgres://me@127.0.0.1:{free_port()}/db"
    log = place.folder / "log"
    with log.open("ab") as stderr:
        waits = subprocess.Popen(
            [
                settings.BINARY,
                "serve",
                *("--listen", "127.0.0.1:0"),
                *("--database-url", away),
                *("--wait-for-database", str(settings.PATIENCE_SECONDS * 10)),
            ],
            stderr=stderr,
            env=clean_environment(),
        )
    wait_until(lambda: "trying again for" in log.read_text(), "the server to wait")
    waits.terminate()
    assert waits.wait(settings.PATIENCE_SECONDS) == 0


def test_a_server_that_has_waited_in_vain_says_why() -> None:
    away = f"postgres://me@127.0.0.1:{free_port()}/db"
    arguments = ["--listen", "127.0.0.1:0", "--database-url", away, "--wait-for-database", "1"]
    done = run(settings.BINARY, "serve", *arguments)
    assert done.returncode == 8
    last = done.stderr.splitlines()[-1]
    assert last.startswith("threadkeep: the database at 127.0.0.1:")
    assert "cannot be reached: nothing listens there" in last


def test_a_master_key_is_written_for_its_owner_alone_and_never_over_a_file(place: Place) -> None:
    file = master_key(place)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = file.read_text()
    again = run(settings.BINARY, "master-key", "create", "--to", file)
    assert again.returncode == 7 and "cannot be made: File exists" in again.stderr
    assert file.read_text() == kept
    assert kept.strip() not in again.stderr + again.stdout
    printed = run(settings.BINARY, "master-key", "create")
    assert (len(printed.stdout), printed.stderr) == (len(kept), "")


@pytest.mark.parametrize(("mode", "is_told"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_master_key_that_others_can_read_is_told(place: Place, mode: int, is_told: bool) -> None:
    file = master_key(place)
    file.chmod(mode)
    server = Server(place, options=["--master-key-file", str(file)])
    try:
        server.start()
        assert (f"chmod 600 {file}" in server.tail()) == is_told
    finally:
        server.kill()


def test_a_database_belongs_to_its_master_key_from_the_start(databases: Databases) -> None:
    for place in (Place(), Place(databases)):
        try:
            mine, other = (master_key(place, name) for name in ("mine", "other"))
            first = Server(place, options=["--master-key-file", str(mine)])
            first.start()
            # Nothing was stored yet.
            assert first.stop() == 0
            for options, said in (
                ([], "this database is encrypted"),
                (["--master-key-file", str(other)], "this database needs the master key"),
            ):
                server = Server(place, options=options)
                with pytest.raises(Ended, match=said):
                    server.start()
            first.start()
            assert first.stop() == 0
        finally:
            place.remove()


def test_a_storm_of_refusals_is_a_line_a_second_and_every_refusal_is_counted(
    place: Place,
) -> None:
    server = Server(place).start()
    refused = 0
    try:
        path = place.folder / "data" / "threadkeep.db"
        path.rename(path.with_name("aside"))
        body = {"namespace": ["n"], "key": "k", "value": {}}

        def put() -> bool:
            nonlocal refused
            status = server.post("/v1/store/put", body).status
            refused += status == 503
            return status == 503

        wait_until(put, "puts to be refused")
        for _ in range(100):
            assert put()

        def counted() -> int:
            single = server.tail().count("the request was turned away")
            more = re.findall(r"more requests were turned away left_out=(\d+)", server.tail())
            assert single + len(more) < refused / 2
            return single + sum(map(int, more))

        wait_until(lambda: counted() == refused, "every refusal to be counted")
    finally:
        server.kill()
