"""What cannot be imported from is refused before anything is written, and no answer shows a credential."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from imports.importing import Tenant
from support.postgres import Databases

SECRET = "hunter2-secret"


def refused(tenant: Tenant, source: str) -> str:
    done = tenant.run(source)
    assert done.returncode not in (0, -6, 101), done.stderr
    assert done.stdout == ""
    assert SECRET not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (f"mysql://root:{SECRET}@h/db", "postgres://…, sqlite:PATH"),
        (f"postgres://ann:{SECRET}@127.0.0.1:1/db?password={SECRET}", "postgres://127.0.0.1:1/db"),
        (f"postgres://ann:{SECRET}@[broken/db", "--from cannot be read"),
        ("sqlite:/nowhere/a.db", "there is no file /nowhere/a.db"),
        ("sqlite:", "names nothing"),
        ("dir:/nowhere", "is no folder"),
        ("s3:///prefix", "bucket"),
    ],
)
def test_a_place_that_is_none_is_named(tenant: Tenant, source: str, told: str) -> None:
    assert told in refused(tenant, source)


def test_files_that_are_no_database_or_have_other_tables(tenant: Tenant, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"this is no database, it is only long enough to look at" * 100)
    assert "cannot be opened" in refused(tenant, f"sqlite:{path}")
    for statement, told in [
        ("create table other (a)", "none of the tables"),
        (
            "create table checkpoints (tenant, id)",
            "unknown layout: the table checkpoints has no column",
        ),
        ("create table store (key, value)", "unknown layout: the table store has no column prefix"),
    ]:
        path.unlink()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)
        assert told in refused(tenant, f"sqlite:{path}")


def test_databases_with_other_tables(tenant: Tenant, databases: Databases) -> None:
    name = databases.create()
    assert "none of the tables" in refused(tenant, databases.url(name))
    databases.run("create table checkpoints (thread_id text, checkpoint_ns text)", name)
    told = refused(tenant, databases.url(name))
    assert "unknown layout" in told and "checkpoint_id" in told


def test_a_folder_with_another_layout(tenant: Tenant, tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "a.txt").write_bytes(b"a")
    assert "unknown layout" in refused(tenant, f"dir:{tmp_path}")
