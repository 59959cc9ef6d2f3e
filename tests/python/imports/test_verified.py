"""What an import wrote is read back and compared: here a trigger of the target's database loses it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore

from equivalence import graphs
from imports.importing import Tenant
from support.server import Place, Server

SAID = "what was read back is not what the source has"
KEYS = {
    "writes": ["tenant", "thread_key", "ns", "checkpoint_id", "task_id", "idx"],
    "items": ["tenant", "namespace", "key"],
}


def lose_rows_of(table: str, place: Place) -> None:
    if place.databases:
        body = "begin return null; end"
        place.query(f"create function lose() returns trigger language plpgsql as $${body}$$")
        each = "for each row execute function lose()"
        place.query(f"create trigger lose before insert on {table} {each}")
        return
    same = " and ".join(f"{key} = new.{key}" for key in KEYS[table])
    gone = f"delete from {table} where {same};"
    place.query(f"create trigger lose after insert on {table} begin {gone} end")


@pytest.fixture
def tenant(own_server: Server) -> Tenant:
    return Tenant(own_server)


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "checkpoints.db"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = graphs.chain("delta", saver)
        graph.invoke({"log": ["one"]}, {"configurable": {"thread_id": "t"}})
        yield f"sqlite:{path}"


@pytest.fixture
def item(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "store.db"
    with SqliteStore.from_conn_string(str(path)) as store:
        store.setup()
        store.put(("users", "ann"), "k", {"text": "hello"})
        yield f"sqlite:{path}"


def test_a_lost_write_is_told(thread: str, tenant: Tenant) -> None:
    lose_rows_of("writes", tenant.server.place)
    done = tenant.run(thread)
    report = json.loads(done.stdout)
    assert done.returncode != 0
    assert report["checkpoints"]["failed"] > 0
    assert SAID in done.stdout + done.stderr


def test_a_lost_item_is_told(item: str, tenant: Tenant) -> None:
    lose_rows_of("items", tenant.server.place)
    done = tenant.run(item)
    report = json.loads(done.stdout)
    assert done.returncode != 0
    assert (report["items"]["failed"], report["items"]["imported"]) == (1, 0)
    assert SAID in done.stdout + done.stderr


def test_a_file_that_is_not_there_is_told(tenant: Tenant, tmp_path: Path) -> None:
    lose_rows_of("items", tenant.server.place)
    file = tmp_path / "users" / "ann" / "memory" / "a.md"
    file.parent.mkdir(parents=True)
    file.write_text("text")
    done = tenant.run(str(tmp_path))
    report = json.loads(done.stdout)
    assert done.returncode != 0
    assert (report["files"]["failed"], report["files"]["imported"]) == (1, 0)
    assert SAID in done.stdout + done.stderr
