"""Every command with `--json`: one JSON value on standard output, JSON objects on standard error. A command that is not in the table fails."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import settings
from support.http import request
from support.postgres import Databases
from support.server import Place, Server, clean_environment, free_port

ACME = ("--tenant", "acme")
# Rows that the program reads at one time.
PAGE = 1_000
Done = subprocess.CompletedProcess[str]


def run(*arguments: str | Path, **variables: str) -> Done:
    return subprocess.run(
        [settings.BINARY, *arguments, "--json"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=clean_environment() | variables,
        timeout=settings.PATIENCE_SECONDS,
    )


def said(done: Done) -> list[dict[str, Any]]:
    """The lines of standard error."""
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert all(isinstance(it, dict) for it in lines), done.stderr
    return lines


def value_of(done: Done) -> Any:
    assert done.returncode == 0, done.stderr
    assert not [it for it in said(done) if "error" in it]
    return json.loads(done.stdout)


def error_of(done: Done) -> str:
    """The sentence of a command that failed; its code is that of the process, and nothing else is on standard output."""
    *notes, last = said(done)
    assert done.stdout == ""
    assert not [it for it in notes if "error" in it]
    assert set(last) == {"error", "exit_code"}
    assert last["exit_code"] == done.returncode != 0
    assert last["error"]
    return str(last["error"])


class World:
    """A tenant with an item on a server that runs, and a folder."""

    def __init__(self, databases: Databases | None) -> None:
        self.databases = databases
        self.place = Place(databases)
        self.places = [self.place]
        self.folder = self.place.folder
        self.server = Server(self.place).start()
        body = {"namespace": ["n"], "key": "k", "value": {"n": 1}}
        assert self.server.post("/v1/store/put", body, self.key()["key"]).status == 200

    def run(self, *arguments: str | Path, **variables: str) -> Done:
        return run(*arguments, *self.place.arguments(), **variables)

    def value(self, *arguments: str | Path, **variables: str) -> Any:
        return value_of(self.run(*arguments, **variables))

    def key(self) -> dict[str, Any]:
        made: dict[str, Any] = self.value("keys", "create", *ACME)
        return made

    def exported(self) -> Path:
        file = self.folder / "acme.export"
        if not file.exists():
            self.value("export", *ACME, "--to", file)
        return file

    def own_place(self) -> list[str]:
        """Of a database without a server, with tenant acme."""
        place = Place(self.databases)
        self.places.append(place)
        value_of(run("import", self.exported(), *ACME, *place.arguments()))
        value_of(run("keys", "create", *ACME, *place.arguments()))
        return place.arguments()

    def encrypted(self) -> tuple[list[str], Path]:
        place, file = self.own_place(), self.folder / f"{len(self.places)}.key"
        value_of(run("master-key", "create", "--to", file))
        self.encrypt(place, file)
        return place, file

    @staticmethod
    def encrypt(place: list[str], file: Path) -> Any:
        return value_of(run("encrypt", "--yes", *place, "--master-key-file", file))

    def remove(self) -> None:
        self.server.kill()
        for place in self.places:
            place.remove()


@pytest.fixture(scope="module")
def world(engine_databases: Databases | None) -> Iterator[World]:
    made = World(engine_databases)
    try:
        yield made
    finally:
        made.remove()


def token(world: World) -> Any:
    return world.value("token", "mint", *ACME, "--subject", "ann")


def new_role(world: World) -> Any:
    return world.value("sql-role", "create", *ACME)


def keys_revoke(world: World) -> Any:
    return world.value("keys", "revoke", *ACME, "--key-id", world.key()["key_id"])


def audit(world: World) -> Any:
    world.key()
    return world.value("audit", *ACME, "--limit", "2")


def token_revoke(world: World) -> Any:
    return world.value("token", "revoke", *ACME, "--token-id", token(world)["token_id"])


def sql_role_list(world: World) -> Any:
    new_role(world)
    return world.value("sql-role", "list", *ACME)


def sql_role_drop(world: World) -> Any:
    return world.value("sql-role", "drop", *ACME, "--name", new_role(world)["name"])


def export(world: World) -> Any:
    return world.value("export", *ACME, "--to", world.folder / "another.export")


def import_(world: World) -> Any:
    return world.value("import", world.exported(), "--tenant", "other")


def backup(world: World) -> Any:
    programs = {"THREADKEEP_POSTGRES_PROGRAMS": str(settings.PG_BIN or "")}
    return world.value("backup", "--to", world.folder / "backups", **programs)


def restore(world: World) -> Any:
    place = world.own_place()
    return value_of(run("restore", "--in-place", "--as-of", "2026-01-01T00:00:00Z", *place))


def encrypt(world: World) -> Any:
    place, file = world.own_place(), world.folder / "a.key"
    value_of(run("master-key", "create", "--to", file))
    return world.encrypt(place, file)


def rotate(world: World) -> Any:
    place, file = world.encrypted()
    new = file.with_suffix(".new")
    value_of(run("master-key", "create", "--to", new))
    keys = ["--master-key-file", file, "--new-master-key-file", new]
    return value_of(run("master-key", "rotate", *place, *keys))


def destroy(world: World) -> Any:
    place, file = world.encrypted()
    return value_of(run("master-key", "destroy", *ACME, "--yes", *place, "--master-key-file", file))


@dataclass(frozen=True)
class Expected:
    """What a command answers: an object with at least these fields, or a list of such objects."""

    answer: Callable[[World], Any]
    fields: set[str]
    is_list: bool = False
    # None: every engine.
    engine: str | None = None


def plain(*arguments: str) -> Callable[[World], Any]:
    return lambda world: world.value(*arguments)


USAGE = {"bytes", "threads", "items", "measured_at", "quota"}
KEY = {"key_id", "prefix", "read_only", "created_at"}
# `serve` does not end by itself: a test of its own has it.
COMMANDS: dict[str, Expected] = {
    "healthcheck": Expected(
        lambda world: value_of(run("healthcheck", "--url", world.server.url)), {"ready"}
    ),
    "completions": Expected(lambda _: value_of(run("completions", "bash")), {"shell", "script"}),
    "config check": Expected(plain("config", "check"), {"valid"}),
    "config show": Expected(plain("config", "show"), {"name", "secret"}, is_list=True),
    "migrate": Expected(plain("migrate"), {"engine", "up_to_date"}),
    "keys create": Expected(World.key, {"key", *KEY}),
    "keys list": Expected(plain("keys", "list", *ACME), KEY, is_list=True),
    "keys revoke": Expected(keys_revoke, {"key_id"}),
    "tenants": Expected(
        plain("tenants"), {"tenant", "bytes", "threads", "items", "last_write"}, is_list=True
    ),
    "quotas set": Expected(plain("quotas", "set", *ACME, "--threads-max", "7"), USAGE),
    "quotas show": Expected(plain("quotas", "show", *ACME), USAGE),
    "audit": Expected(audit, {"event_id", "at", "act", "details", "count"}, is_list=True),
    "token mint": Expected(token, {"token", "token_id", "expires_at", "subject", "grants"}),
    "token revoke": Expected(token_revoke, {"token_id"}),
    "token rotate-secrets": Expected(plain("token", "rotate-secrets", *ACME), {"removed"}),
    "console": Expected(
        plain("console", *ACME), {"url", "tenant", "token_id", "expires_at", "read_only"}
    ),
    "sql-role create": Expected(new_role, {"name", "url"}, engine="postgres"),
    "sql-role list": Expected(
        sql_role_list, {"name", "created_at"}, is_list=True, engine="postgres"
    ),
    "sql-role drop": Expected(sql_role_drop, {"name", "dropped"}, engine="postgres"),
    "erase": Expected(plain("erase", *ACME, "--subject", "ann"), {"keys", "threads"}),
    "export": Expected(export, {"items", "threads"}),
    "import": Expected(import_, {"items", "threads", "dry_run"}),
    "backup": Expected(backup, {"name", "engine", "began_at", "bytes", "sha256"}),
    "restore": Expected(restore, {"threads", "leases_ended", "tenants", "journal"}),
    "support": Expected(
        lambda w: w.value("support", "--to", w.folder / "support.tar.gz"), {"made"}
    ),
    "master-key create": Expected(lambda _: value_of(run("master-key", "create")), {"master_key"}),
    "master-key rotate": Expected(rotate, {"keys"}),
    "master-key destroy": Expected(destroy, {"tenant", "destroyed"}),
    "encrypt": Expected(encrypt, {"tenants"}),
    "doctor": Expected(plain("doctor"), {"sound", "engine", "parked"}),
}


def subcommands(*command: str) -> list[str]:
    help_ = subprocess.check_output([settings.BINARY, *command, "--help"], text=True)
    part = re.search(r"^Commands:\n(.*?)\n\n", help_, re.M | re.S)
    names = re.findall(r"^  (\S+)", part[1], re.M) if part else []
    return [it for it in names if it != "help"]


def commands() -> list[str]:
    """All of `threadkeep --help` that do something, and not those that have commands below them."""
    found = []
    for name in subcommands():
        below = subcommands(name)
        found += [f"{name} {it}" for it in below] or [name]
    return found


def test_every_command_is_in_the_table() -> None:
    assert sorted(commands()) == sorted([*COMMANDS, "serve"])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_one_json_value(world: World, engine: str, name: str) -> None:
    expected = COMMANDS[name]
    if expected.engine not in (None, engine):
        role = ["--name", "role"] if name == "sql-role drop" else []
        assert "PostgreSQL" in error_of(world.run(*name.split(), *ACME, *role))
        return
    value = expected.answer(world)
    rows = value if expected.is_list else [value]
    assert rows, "a list without rows shows nothing"
    for row in rows:
        assert isinstance(row, dict) and expected.fields <= set(row), row


@pytest.mark.parametrize("name", [*COMMANDS, "serve"])
def test_a_wrong_command_line_is_one_json_object(name: str) -> None:
    done = run(*name.split(), "--no-such-option")
    assert error_of(done).startswith("unexpected argument '--no-such-option'")
    assert done.returncode == 2


def test_a_server_says_its_addresses_in_one_line(world: World) -> None:
    place = Place(world.databases)
    world.places.append(place)
    listen = ["--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", "--allow-unsafe"]
    server = subprocess.Popen(
        [settings.BINARY, "serve", "--json", *listen, *place.arguments()],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=clean_environment(),
    )
    try:
        assert server.stdout
        said = json.loads(server.stdout.readline())
        assert set(said) == {"listening", "metrics"}
        assert request(said["listening"], "GET", "/healthz").status == 200
        server.terminate()
        assert server.wait(settings.PATIENCE_SECONDS) == 0
        assert server.stdout.read() == ""
    finally:
        server.kill()
        server.wait()


def test_errors_of_all_kinds_are_json_objects(world: World, tmp_path: Path) -> None:
    absent = ("--data-dir", tmp_path / "absent")
    missing = "tenant nobody has nothing here"
    for code, sentence, done in [
        (1, missing, world.run("keys", "list", "--tenant", "nobody")),
        (1, missing, world.run("audit", "--tenant", "nobody")),
        (1, "nothing listens", run("healthcheck", "--url", f"http://127.0.0.1:{free_port()}")),
        (2, "requires a subcommand", run("keys")),
        (2, "were not provided: --subject <SUBJECT>", world.run("erase", *ACME)),
        (2, "--to -", world.run("export", *ACME, "--to", "-")),
        (2, "`busy-second` is no setting", config_with(tmp_path, "busy-second = 1")),
        (2, "cannot listen on", world.run("serve", "--listen", "nowhere")),
        (4, "there is no database", run("tenants", *absent)),
        (4, "could not run: there is no database", run("doctor", *absent)),
    ]:
        assert sentence in error_of(done)
        assert done.returncode == code


def config_with(folder: Path, text: str) -> Done:
    file = folder / "threadkeep.toml"
    file.write_text(text)
    return run("config", "check", "--config", file)


def test_notes_are_json_objects(world: World) -> None:
    place = Place(world.databases)
    world.places.append(place)
    done = run("keys", "create", *ACME, *place.arguments())
    assert value_of(done)["key"].startswith("tk_")
    notes = [it["note"] for it in said(done)]
    assert [it for it in notes if "first key of this database" in it]
    assert "made tenant acme" in notes


def test_nobody_is_asked_before_keys_are_signed(world: World) -> None:
    place, file = world.own_place(), world.folder / "asked.key"
    value_of(run("master-key", "create", "--to", file))
    done = run("encrypt", *place, "--master-key-file", file)
    assert "the master key would sign these" in error_of(done)


def test_fields_are_those_of_the_api(world: World) -> None:
    """Where the same can be asked over HTTP, the answers are equal."""
    key = world.key()["key"]
    keys = world.server.get("/v1/keys?limit=1000", key).json()["keys"]
    assert [without_use(it) for it in world.value("keys", "list", *ACME)] == [
        *map(without_use, keys)
    ]
    asked = world.server.get("/v1/usage", key).json()
    assert set(world.value("quotas", "show", *ACME)) == set(asked)
    events = world.server.get("/v1/audit?limit=3", key).json()["events"]
    assert world.value("audit", *ACME, "--limit", "3") == events


def without_use(key: dict[str, Any]) -> dict[str, Any]:
    """A server notes uses of keys a while after them."""
    return {name: value for name, value in key.items() if name != "last_used_on"}


def test_secrets_are_not_in_the_settings(world: World) -> None:
    url = "postgres://ann:a-password-that-nobody-shows@db/x"
    done = run("config", "show", THREADKEEP_DATABASE_URL=url)
    assert "nobody-shows" not in done.stdout
    rows = {it["name"]: it for it in value_of(done)}
    assert rows["database-url"] == {
        "name": "database-url", "secret": True, "source": "THREADKEEP_DATABASE_URL"
    }  # fmt: skip
    assert rows["redis-url"] == {"name": "redis-url", "secret": True}
    assert rows["connections"] == {
        "name": "connections", "secret": False, "source": "default", "value": 8
    }  # fmt: skip
    assert rows["keyless"]["value"] is False
    assert rows["cors-origin"]["value"] == []


def test_the_flags_of_before_are_still_there(world: World) -> None:
    for flags in (["doctor", "--format", "json"], ["--json", "tenants"]):
        done = subprocess.run(
            [settings.BINARY, *flags, *world.place.arguments()],
            capture_output=True,
            text=True,
            env=clean_environment(),
        )
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)


def test_many_events_are_one_list(world: World) -> None:
    world.value("quotas", "set", "--tenant", "busy", "--threads-max", "1")
    row = "tenant, at - n.i, event_id, actor, act, object, details, count"
    world.place.query(
        f"with recursive n(i) as (select 1 union all select i + 1 from n where i < {2 * PAGE}) "
        f"insert into audit_events select {row} from audit_events, n where tenant = 'busy'"
    )
    for limit in (PAGE, PAGE + 1, 2 * PAGE + 1, 3 * PAGE):
        events = world.value("audit", "--tenant", "busy", "--limit", str(limit))
        assert len(events) == min(limit, 2 * PAGE + 1)
    assert world.value("audit", "--tenant", "busy", "--act", "refused") == []
