"""Commands: which of them make a database, change its schema or make a tenant, and what a mistyped tenant is told."""

import json
import subprocess
from pathlib import Path

import pytest

from support import settings
from support.postgres import Databases
from support.server import Place, Server, clean_environment

Done = subprocess.CompletedProcess[str]

ACME = ("--tenant", "acme")
# What reads, and what changes only what is there.
BOUND: list[tuple[str, ...]] = [
    ("keys", "list", *ACME),
    ("keys", "revoke", *ACME, "--key-id", "key_x"),
    ("quotas", "show", *ACME),
    ("quotas", "set", *ACME, "--threads-max", "1"),
    ("audit", *ACME),
    ("audit", "--unknown"),
    ("erase", *ACME, "--subject", "ann"),
    ("token", "mint", *ACME, "--subject", "ann"),
    ("token", "revoke", *ACME, "--token-id", "tok_00000000000000000000000000000000"),
    ("token", "rotate-secrets", *ACME),
    ("tenants",),
    ("doctor",),
    ("export", *ACME, "--to", "acme.export"),
    ("import", "acme.export", *ACME, "--dry-run"),
]
# What puts the first thing into a new database.
MAKERS: list[tuple[str, ...]] = [("keys", "create", *ACME), ("import", "acme.export", *ACME)]
# What names a tenant and makes none.
NAMING = [it for it in BOUND if "--tenant" in it and it[1] != "set" and it[0] != "import"]
SQL_ROLES = [("sql-role", "create", *ACME), ("sql-role", "list", *ACME)]


def name(command: tuple[str, ...]) -> str:
    return " ".join(command[:2])


def run(place: Place, command: tuple[str, ...]) -> Done:
    return subprocess.run(
        [settings.BINARY, *command, *place.arguments()],
        capture_output=True,
        text=True,
        cwd=place.folder,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )


def tables(place: Place) -> int:
    """0 where there is no database, or nothing in it."""
    if place.databases:
        return int(place.query("select count(*) from pg_tables where schemaname = 'public'")[0][0])
    return len(list(place.folder.glob("data/*")))


def schema(place: Place) -> int:
    return int(place.query("select max(version) from schema_version")[0][0])


def age(place: Place) -> int:
    """Let the database look as an earlier version left it."""
    newest = schema(place)
    place.query(f"delete from schema_version where version = {newest}")
    return newest - 1


def tenants(place: Place) -> list[str]:
    return [row[0] for row in place.query("select tenant from tenants order by tenant")]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of `threadkeep export` with one item."""
    place, file = Place(), tmp_path_factory.mktemp("exports") / "file"
    server = Server(place).start()
    try:
        put_one(server, None)
        done = server.command("export", "--tenant", "default", "--to", str(file))
        assert done.returncode == 0, done.stderr
    finally:
        server.kill()
        place.remove()
    return file.read_bytes()


def put_one(server: Server, key: str | None) -> None:
    body = {"namespace": ["n"], "key": "k", "value": {"n": 1}}
    assert server.post("/v1/store/put", body, key).status == 200


@pytest.fixture
def furnished(own_place: Place, exported: bytes) -> Place:
    (own_place.folder / "acme.export").write_bytes(exported)
    return own_place


@pytest.mark.parametrize("command", BOUND, ids=name)
def test_only_what_has_something_to_put_there_makes_a_database(
    furnished: Place, command: tuple[str, ...]
) -> None:
    done = run(furnished, command)
    assert done.returncode == 4, done.stderr
    said = "no schema of threadkeep yet" if furnished.databases else "there is no database"
    assert said in done.stderr
    assert done.stdout == ""
    assert tables(furnished) == 0
    assert not (furnished.folder / "data").exists()


@pytest.mark.parametrize("command", MAKERS, ids=name)
def test_keys_create_and_import_make_a_database(furnished: Place, command: tuple[str, ...]) -> None:
    done = run(furnished, command)
    assert done.returncode == 0, done.stderr
    assert "threadkeep: made tenant acme\n" in done.stderr
    assert tables(furnished) > 0
    assert run(furnished, command).stderr.count("made tenant") == 0


@pytest.mark.parametrize("command", [*BOUND, *MAKERS], ids=name)
def test_no_command_beside_a_server_changes_the_schema(
    furnished: Place, command: tuple[str, ...]
) -> None:
    assert run(furnished, ("migrate",)).returncode == 0
    old = age(furnished)
    done = run(furnished, command)
    assert done.returncode == 2, done.stderr
    assert f"the database has schema {old}" in done.stderr
    assert "run `threadkeep migrate`" in done.stderr
    assert schema(furnished) == old


@pytest.mark.parametrize("command", [*NAMING, *SQL_ROLES], ids=name)
def test_a_mistyped_tenant_is_an_error_and_makes_none(
    own_place: Place, command: tuple[str, ...]
) -> None:
    if command in SQL_ROLES and not own_place.databases:
        return
    run(own_place, ("keys", "create", "--tenant", "acme-corp")).check_returncode()
    done = run(own_place, command)
    assert done.returncode == 1, done.stderr
    said = "tenant acme has nothing here; `threadkeep tenants` lists those that there are"
    assert said in done.stderr
    assert done.stdout == ""
    assert "acme" not in tenants(own_place)
    listed = run(own_place, ("tenants",)).stdout
    assert [line.split("\t")[0] for line in listed.splitlines()] == ["acme-corp"]


def test_a_tenant_that_is_made_is_said_once_and_on_standard_error(own_place: Place) -> None:
    run(own_place, ("migrate",)).check_returncode()
    made = run(own_place, ("quotas", "set", *ACME, "--threads-max", "1"))
    assert made.stderr == "threadkeep: made tenant acme\n"
    assert made.stdout.startswith("bytes\t")
    again = run(own_place, ("quotas", "set", *ACME, "--threads-max", "2"))
    assert (again.returncode, again.stderr) == (0, "")
    # A quota without a limit is none, so there is no tenant.
    other = run(own_place, ("quotas", "set", "--tenant", "other"))
    assert (other.returncode, other.stderr) == (0, "")
    key = run(own_place, ("keys", "create", "--tenant", "other"))
    assert "made tenant other" in key.stderr
    assert key.stdout.startswith("tk_") and key.stdout.count("\n") == 1


def test_tenants_are_listed_with_what_they_have(own_server: Server) -> None:
    place = own_server.place
    assert run(place, ("tenants",)).stdout == ""
    assert run(place, ("tenants", "--json")).stdout == "[]\n"
    first, _ = own_server.make_keys(["b-second", "a-first"])
    put_one(own_server, first)
    lines = [line.split("\t") for line in run(place, ("tenants",)).stdout.splitlines()]
    assert [it[0] for it in lines] == ["a-first", "b-second"]
    assert lines[0][1:] == ["0", "0", "0", "-"]
    assert int(lines[1][1]) > 0
    assert lines[1][2:4] == ["0", "1"]
    assert lines[1][4].endswith("Z")
    empty, used = json.loads(run(place, ("tenants", "--json")).stdout)
    assert empty == {"tenant": "a-first", "bytes": 0, "threads": 0, "items": 0, "last_write": None}
    assert used["tenant"] == "b-second"
    assert (used["bytes"], used["last_write"]) == (int(lines[1][1]), lines[1][4])


@pytest.mark.parametrize("more", [(), ("--format", "json"), ("--dry-run",)])
def test_an_import_says_what_is_in_no_export(furnished: Place, more: tuple[str, ...]) -> None:
    run(furnished, ("migrate",)).check_returncode()
    done = run(furnished, ("import", "acme.export", *ACME, *more))
    assert done.returncode == 0, done.stderr
    assert "keys, tokens, quotas and the audit log are in no export" in done.stderr
    assert "stay behind" not in done.stdout


def test_a_dry_run_of_an_import_makes_no_tenant(furnished: Place) -> None:
    run(furnished, ("keys", "create", "--tenant", "other")).check_returncode()
    files = furnished.folder / "files"
    workspace = files / "users" / "ann" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "a.md").write_text("text")
    sources = [
        (("acme.export",), ("items", "created")),
        (("--from", f"dir:{files}"), ("files", "imported")),
    ]
    for source, (kind, count) in sources:
        done = run(furnished, ("import", *source, *ACME, "--dry-run", "--format", "json"))
        assert done.returncode == 0, done.stderr
        counts = json.loads(done.stdout)
        assert counts["dry_run"] is True
        assert counts[kind][count] == 1
        assert "made tenant" not in done.stderr
        assert tenants(furnished) == [], "not even a row without a key"


def test_a_folder_that_cannot_be_looked_into_is_not_taken_for_no_database(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("data")
    done = subprocess.run(
        [settings.BINARY, "tenants", "--data-dir", tmp_path / "data"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )
    assert done.returncode == 7, done.stderr
    assert "cannot be read" in done.stderr


def test_databases_with_many_tenants_are_listed_whole(databases: Databases) -> None:
    for place in (Place(), Place(databases)):
        try:
            run(place, ("migrate",)).check_returncode()
            names = [f"t{number:03d}" for number in range(205)]
            rows = ", ".join(f"('{it}', 1, 0)" for it in names)
            place.query(f"insert into quotas (tenant, bytes_max, updated_at) values {rows}")
            listed = run(place, ("tenants",)).stdout.splitlines()
            assert [line.split("\t")[0] for line in listed] == names
            document = json.loads(run(place, ("tenants", "--json")).stdout)
            assert [it["tenant"] for it in document] == names
        finally:
            place.remove()
