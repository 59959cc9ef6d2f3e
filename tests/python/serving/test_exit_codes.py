"""Each row of docs/operate/exit-codes.md, on the real program: the code and the sentence."""

import os
import re
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support import settings
from support.certificates import Authority
from support.front import Front
from support.native import Native, checkpoint
from support.postgres import Databases, Postgres
from support.server import Place, Server, clean_environment, free_port
from support.waiting import wait_until

DOCUMENT = Path(__file__).parents[3] / "docs" / "operate" / "exit-codes.md"
PASSWORD = "a-password-that-nobody-shows"
NOBODY = 65534

Done = subprocess.CompletedProcess[str]


def rows() -> list[tuple[int, str, str]]:
    """(code, what happened, what is said) of the table."""
    found = []
    for line in DOCUMENT.read_text().splitlines():
        if matched := re.fullmatch(r"\| (\d+) \| (.*?) \| `(.*)` \|", line):
            found.append((int(matched[1]), matched[2], matched[3]))
    return found


def run(*arguments: str | Path, as_nobody: bool = False, **options: object) -> Done:
    more: dict[str, object] = {"stdout": subprocess.PIPE, **options}
    if as_nobody and os.geteuid() == 0:
        # Files of root are closed to everybody but root itself.
        more |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [settings.BINARY, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
        **more,
    )


class World:
    """Where the rows happen: an empty place, and a database server."""

    def __init__(self, place: Place, postgres: Postgres) -> None:
        self.place = place
        self.folder = place.folder
        self.data = ("--data-dir", place.folder / "data")
        self.postgres = postgres

    def serve(self, *arguments: str | Path, as_nobody: bool = False) -> Done:
        listen = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
        stored = () if {"--data-dir", "--database-url"} & {*arguments} else self.data
        return run("serve", *listen, *stored, *arguments, as_nobody=as_nobody)

    def migrate(self, url: str) -> Done:
        return run("migrate", "--database-url", url)


def nothing_named(world: World) -> Done:
    run("keys", "create", "--tenant", "acme", *world.data).check_returncode()
    return run("keys", "revoke", "--tenant", "acme", "--key-id", "key_none", *world.data)


def no_tenant(world: World) -> Done:
    run("migrate", *world.data).check_returncode()
    return run("erase", "--tenant", "acmee", "--subject", "ann", *world.data)


def not_ready(world: World) -> Done:
    return run("healthcheck", "--url", f"http://127.0.0.1:{free_port()}")


def few_descriptors(world: World) -> Done:
    limited = ["bash", "-c", 'ulimit -n 100; exec "$0" "$@"', settings.BINARY, "serve", *world.data]
    return subprocess.run(
        limited,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )


def failing_key_manager(world: World) -> Done:
    return world.serve("--master-key-command", f"echo {PASSWORD}; exit 3")


def existing_database(world: World) -> Done:
    run("migrate", *world.data).check_returncode()
    place = world.folder / "backups"
    run("backup", "--to", place, *world.data).check_returncode()
    return run("restore", "--from", f"{place}/latest", *world.data)


def no_backup(world: World) -> Done:
    return run("restore", "--from", f"{world.folder}/latest", *world.data)


def damaged_backup(world: World) -> Done:
    run("migrate", *world.data).check_returncode()
    place = world.folder / "backups"
    run("backup", "--to", place, *world.data).check_returncode()
    (content,) = place.glob("*.backup")
    content.write_bytes(content.read_bytes()[:-1])
    return run("restore", "--from", f"{place}/latest", "--data-dir", world.folder / "another")


def no_schema(world: World) -> Done:
    name = world.postgres.create()
    return run("tenants", "--database-url", world.postgres.url(name))


def unknown_option(world: World) -> Done:
    return world.serve("--no-such-option")


def impossible_setting(world: World) -> Done:
    return run("keys", "create", "--tenant", "No Tenant", *world.data)


def other_url(world: World) -> Done:
    return world.migrate(f"mysql://root:{PASSWORD}@localhost/db")


def unreadable_url(world: World) -> Done:
    return world.migrate(f"postgres://me:{PASSWORD}@localhost:port/db")


def no_address(world: World) -> Done:
    return world.serve("--listen", "no port at all")


def certificate_alone(world: World) -> Done:
    return world.serve("--tls-cert", world.folder / "tls.crt")


def key_of_another(world: World) -> Done:
    authority = Authority(world.folder, "authority")
    one, other = authority.issue("one", "localhost"), authority.issue("other", "localhost")
    return world.serve("--tls-cert", one.certificate, "--tls-key", other.key)


def no_certificate(world: World) -> Done:
    return world.serve("--tls-cert", world.folder / "none", "--tls-key", world.folder / "none")


NEWEST = "(select max(version) from schema_version)"


def old_schema(world: World) -> Done:
    change = f"delete from schema_version where version = {NEWEST}"
    return changed_schema(world, change, "--no-migrate")


def newer_schema(world: World) -> Done:
    change = f"set min_binary_version = version + 1 where version = {NEWEST}"
    return changed_schema(world, f"update schema_version {change}")


def other_schema(world: World) -> Done:
    return changed_schema(world, "update schema_version set checksum = '00' where version = 12")


def changed_schema(world: World, change: str, *options: str) -> Done:
    run("migrate", *world.data).check_returncode()
    with closing(sqlite3.connect(world.folder / "data" / "threadkeep.db")) as connection:
        connection.execute(change)
        connection.commit()
    return world.serve(*options)


def port_in_use(world: World) -> Done:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = world.serve("--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert f"(process {os.getpid()})" in done.stderr
    return done


def foreign_address(world: World) -> Done:
    # Reserved for documents: no machine has it.
    return world.serve("--listen", "192.0.2.1:7070")


def missing_file(world: World) -> Done:
    return world.serve("--master-key-file", world.folder / "no key")


def missing_database(world: World) -> Done:
    return run("export", "--tenant", "acme", "--to", world.folder / "file", *world.data)


def closed_folder(world: World) -> Done:
    closed = world.folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    return world.serve("--data-dir", closed, as_nobody=True)


def closed_database(world: World) -> Done:
    run("migrate", *world.data).check_returncode()
    path = world.folder / "data" / "threadkeep.db"
    path.parent.chmod(0o777)
    (path.parent / "threadkeep.db.lock").unlink(missing_ok=True)
    path.chmod(0o444 if os.geteuid() == 0 else 0o400)
    return world.serve(as_nobody=True)


def unreadable_database(world: World) -> Done:
    run("migrate", *world.data).check_returncode()
    (world.folder / "data").chmod(0o000)
    command = ("export", "--tenant", "acme", "--to", world.folder / "file", *world.data)
    done = run(*command, as_nobody=True)
    (world.folder / "data").chmod(0o700)
    return done


def closed_file(world: World) -> Done:
    key = world.folder / "key"
    key.write_text("")
    key.chmod(0o000)
    return world.serve("--master-key-file", key, as_nobody=True)


def full_disk(world: World) -> Done:
    run("keys", "create", "--tenant", "acme", *world.data).check_returncode()
    with Path("/dev/full").open("w") as full:
        return run("export", "--tenant", "acme", "--to", "-", *world.data, stdout=full)


def folder_for_file(world: World) -> Done:
    return world.serve("--issuers", world.folder)


def no_database(world: World) -> Done:
    path = world.folder / "data" / "threadkeep.db"
    path.parent.mkdir()
    path.write_bytes(b"this is no database, it is only long enough to look at" * 100)
    return world.serve()


def nothing_is_made(world: World) -> Done:
    done = world.serve("--no-create")
    assert not (world.folder / "data").exists()
    return done


def log_without_database(world: World) -> Done:
    log = world.folder / "data" / "threadkeep.db-wal"
    log.parent.mkdir()
    log.write_bytes(b"what was acknowledged")
    done = world.serve()
    assert log.read_bytes() == b"what was acknowledged"
    return done


def empty_database(world: World) -> Done:
    path = world.folder / "data" / "threadkeep.db"
    path.parent.mkdir()
    path.touch()
    return world.serve()


def database_down(world: World) -> Done:
    return world.migrate(f"postgres://me:{PASSWORD}@127.0.0.1:{free_port()}/db")


def unknown_host(world: World) -> Done:
    return world.migrate(f"postgres://me:{PASSWORD}@no-such-host.invalid/db")


def wrong_password(world: World) -> Done:
    # Everybody is trusted there but this one.
    rules = world.postgres.folder / "data" / "pg_hba.conf"
    rule = "local all guest scram-sha-256\n"
    if rule not in rules.read_text():
        rules.write_text(rule + rules.read_text())
        world.postgres.run("create role guest login password 'another one'")
        world.postgres.run("select pg_reload_conf()")
    return world.migrate(
        f"postgres://guest:{PASSWORD}@localhost/postgres?host={world.postgres.folder}"
    )


def unknown_sslmode(world: World) -> Done:
    return world.migrate(f"postgres://ann:{PASSWORD}@localhost/x?sslmode=sometimes")


def missing_certificate(world: World) -> Done:
    path = world.folder / "none.crt"
    return world.migrate(f"postgres://ann:{PASSWORD}@localhost/x?sslrootcert={path}")


def no_tls(world: World) -> Done:
    with Front(world.postgres) as front:
        return world.migrate(front.url("postgres", "sslmode=require"))


def unknown_database(world: World) -> Done:
    return world.migrate(world.postgres.url("no_such_database"))


def other_object_store(world: World) -> Done:
    packs = world.folder / "packs"
    eager = ["--object-store-after-seconds=1", "--object-store-every-seconds=1"]
    small = "--object-store-pack-bytes-min=1000"
    server = Server(world.place, options=[f"--object-store-url=file://{packs}", *eager, small])
    try:
        server.start()
        native = Native(server.url, server.new_key())
        native.commit("t", checkpoint("1", {"noise": os.urandom(100_000)}))
        wait_until(lambda: world.place.query("select 1 from packs"), "a pack")
        native.close()
        server.stop()
    finally:
        server.kill()
    chunks = world.place.query("select count(*) from chunks")
    done = run("doctor", "--fix", "--object-store-url", f"file://{world.folder}/pack", *world.data)
    assert done.stdout == ""
    assert world.place.query("select count(*) from chunks") == chunks
    return done


def second_server(world: World) -> Done:
    first = Server(world.place)
    try:
        first.start()
        return world.serve()
    finally:
        first.kill()


HAPPENINGS: dict[str, Callable[[World], Done]] = {
    "what is named is not there": nothing_named,
    "a tenant that is not there": no_tenant,
    "`healthcheck` of a server that is not there": not_ready,
    "an unknown option": unknown_option,
    "a setting that cannot be right": impossible_setting,
    "a database URL of another kind": other_url,
    "a database URL that cannot be read": unreadable_url,
    "an unknown `sslmode`": unknown_sslmode,
    "an address to listen on that is none": no_address,
    "a certificate without its key": certificate_alone,
    "the key of another certificate": key_of_another,
    "a certificate of the server is missing": no_certificate,
    "the schema is old and `--no-migrate` is given": old_schema,
    "the schema needs a newer threadkeep": newer_schema,
    "another build migrated the database": other_schema,
    "too few file descriptors": few_descriptors,
    "another bucket, prefix or folder than the packs lie in": other_object_store,
    "the port is in use": port_in_use,
    "the machine does not have the address": foreign_address,
    "a file is missing": missing_file,
    "a certificate that the database URL names is missing": missing_certificate,
    "the database file is missing": missing_database,
    "a command for the master key that fails": failing_key_manager,
    "a restore where a database is": existing_database,
    "a place without a backup": no_backup,
    "a backup that was damaged": damaged_backup,
    "a PostgreSQL database without tables of threadkeep": no_schema,
    "no permission to write the data folder": closed_folder,
    "no permission to write the database file": closed_database,
    "no permission to read the database file": unreadable_database,
    "no permission to read a file": closed_file,
    "the disk is full": full_disk,
    "a folder where a file should be": folder_for_file,
    "a file that is no database": no_database,
    "there is no database and `--no-create` is given": nothing_is_made,
    "the database file is gone and its log is there": log_without_database,
    "a database file of 0 bytes": empty_database,
    "the database is down": database_down,
    "nobody knows the database's host": unknown_host,
    "a wrong password": wrong_password,
    "TLS is asked for and the database speaks none": no_tls,
    "an unknown database": unknown_database,
    "a second server on one data folder": second_server,
}


@pytest.fixture
def world(databases: Databases) -> Iterator[World]:
    assert isinstance(databases, Postgres), "a PostgreSQL of our own, whose users we may change"
    place = Place()
    # Whoever is not root must be able to reach what is in it.
    place.folder.chmod(0o777)
    try:
        yield World(place, databases)
    finally:
        place.remove()


def test_every_happening_is_in_the_table_and_the_other_way_round() -> None:
    assert sorted(what for _, what, _ in rows()) == sorted(HAPPENINGS)


@pytest.mark.parametrize(("code", "what", "said"), rows(), ids=lambda it: str(it)[:40])
def test_a_row_of_the_table_is_what_happens(world: World, code: int, what: str, said: str) -> None:
    done = HAPPENINGS[what](world)
    last = [line for line in done.stderr.splitlines() if line.strip()]
    pattern = ".*".join(re.escape(part) for part in said.split("…"))
    assert any(re.fullmatch(pattern, line) for line in last), done.stderr
    assert done.returncode == code
    assert "internal error" not in done.stderr
    assert "panicked" not in done.stderr
    assert PASSWORD not in done.stderr
