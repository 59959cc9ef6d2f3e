"""Items of LangGraph's own stores: what an agent asks of them it finds, with what its own store would tell."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import StoreBackend
from langgraph.store.base import Item
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore
from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.langgraph import ThreadkeepStore

from imports.importing import Tenant, counted
from imports.sources import held
from support.postgres import Databases

NAMESPACES = [("users", "ann"), ("users", "bob", "notes"), ("filesystem",)]
VALUES: list[dict[str, Any]] = [
    {"text": "hello", "n": 1, "nested": {"list": [1, 2.5, None, True]}},
    {"large": "x" * 300_000},
    {"text": "\u00e4\u00f6\u00fc \U0001f600", "big": 2**63},
    {"tag": {"$threadkeep:bytes": "AAAA"}, "escaped": [{"$$threadkeep:bytes": "AAAA"}]},
    {},
]
OLD_FILE = {
    "content": ["first line", "second line", ""],
    "created_at": "2025-01-01T00:00:00+00:00",
    "modified_at": "2025-01-02T00:00:00+00:00",
}


@pytest.fixture(params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store with items, and its URL."""
    if request.param == "sqlite":
        url = f"{tmp_path}/store.db"
        opened: Any = SqliteStore.from_conn_string(url)
        url = f"sqlite:{url}"
    else:
        databases: Databases = request.getfixturevalue("databases")
        url = databases.url(databases.create())
        opened = PostgresStore.from_conn_string(url)
    with opened as store:
        store.setup()
        for namespace in NAMESPACES:
            for number, value in enumerate(VALUES):
                store.put(namespace, f"k{number}", value)
        store.put(("filesystem",), "/old.txt", OLD_FILE)
        store.put(("users", "ann"), "for an hour", {"a": 1}, ttl=60)
        yield url, store


def told(item: Item) -> tuple[Any, ...]:
    return (item.namespace, item.key, item.value)


def everything(store: Any) -> list[tuple[Any, ...]]:
    return sorted(map(told, store.search((), limit=1000)), key=lambda one: one[:2])


def test_every_item_is_what_its_store_tells(filled: Any, tenant: Tenant) -> None:
    url, theirs = filled
    before = held(url)
    report = tenant.imported(url)
    assert held(url) == before
    ours = ThreadkeepStore(tenant.server.url, api_key=tenant.key)
    assert everything(ours) == everything(theirs)
    assert counted(report, "imported") == {"items": len(NAMESPACES) * len(VALUES) + 2}
    again = tenant.imported(url)
    assert counted(again, "imported") == {}
    assert counted(again, "unchanged") == counted(report, "imported")


def test_the_newer_of_two_stays(filled: Any, tenant: Tenant) -> None:
    url, theirs = filled
    tenant.imported(url)
    ours = ThreadkeepStore(tenant.server.url, api_key=tenant.key)
    ours.put(("users", "ann"), "k0", {"changed": "here"})
    theirs.put(("users", "bob", "notes"), "k0", {"changed": "there"})
    theirs.put(("users", "bob", "notes"), "new", {"a": 1})
    if isinstance(theirs, SqliteStore):
        # Its times have whole seconds.
        later = str(datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=5))
        text = "update store set updated_at = ? where cast(value as text) like '%there%'"
        theirs.conn.execute(text, (later,))
        theirs.conn.commit()
    report = tenant.imported(url)
    assert counted(report, "imported") == {"items": 2}
    assert counted(report, "skipped") == {"items": 1}
    for namespace, key, value in [
        (("users", "ann"), "k0", {"changed": "here"}),
        (("users", "bob", "notes"), "k0", {"changed": "there"}),
    ]:
        found = ours.get(namespace, key)
        assert found is not None and found.value == value


def test_the_times_of_items_come_along(filled: Any, tenant: Tenant) -> None:
    url, theirs = filled
    begun = datetime(2025, 3, 1, 12, tzinfo=UTC)
    expected = {}
    for number, item in enumerate(reversed(theirs.search((), limit=1000))):
        made, put = (begun + timedelta(days=number, hours=h) for h in (0, 1))
        expected[item.namespace, item.key] = (made, put)
        mark = "?" if isinstance(theirs, SqliteStore) else "%s"
        text = (
            "update store set created_at = {0}, updated_at = {0} where prefix = {0} and key = {0}"
        )
        texts = [str(at.replace(tzinfo=None)) for at in (made, put)]
        place = [".".join(item.namespace), item.key]
        theirs.conn.execute(text.format(mark), [*texts, *place])
    if isinstance(theirs, SqliteStore):
        theirs.conn.commit()
    tenant.imported(url)
    ours = ThreadkeepStore(tenant.server.url, api_key=tenant.key)
    found = ours.search((), limit=1000)
    assert {(it.namespace, it.key): (it.created_at, it.updated_at) for it in found} == expected
    newest = sorted(expected, key=lambda place: expected[place], reverse=True)
    assert [(it.namespace, it.key) for it in found] == newest


def test_times_to_live_come_along_and_what_expired_does_not(filled: Any, tenant: Tenant) -> None:
    url, theirs = filled
    theirs.put(("users", "ann"), "gone", {"a": 1}, ttl=1)
    past = str(datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=5))
    if isinstance(theirs, SqliteStore):
        theirs.conn.execute("update store set expires_at = ? where key = 'gone'", (past,))
        theirs.conn.commit()
    else:
        theirs.conn.execute(
            "update store set expires_at = now() - interval '5 minutes' where key = 'gone'"
        )
    report = tenant.imported(url)
    assert counted(report, "skipped") == {"items": 1}
    rows = tenant.server.place.query("select count(*) from items where ttl_micros = 3600000000")
    assert rows == [(1,)] or rows[0][0] >= 1
    ours = ThreadkeepStore(tenant.server.url, api_key=tenant.key)
    assert ours.get(("users", "ann"), "gone") is None
    assert ours.get(("users", "ann"), "for an hour") is not None


def test_a_file_of_lines_stays_as_it_is_and_is_read_as_a_file(filled: Any, tenant: Tenant) -> None:
    url, theirs = filled
    tenant.imported(url)
    ours = ThreadkeepStore(tenant.server.url, api_key=tenant.key)
    found = ours.get(("filesystem",), "/old.txt")
    assert found is not None and found.value == OLD_FILE
    backend = ThreadkeepBackend(tenant.server.url, api_key=tenant.key, namespace=("filesystem",))
    reference = StoreBackend(store=theirs, namespace=lambda _: ("filesystem",))
    assert backend.read("/old.txt") == reference.read("/old.txt")


def test_an_item_that_cannot_be_is_named_and_the_others_come(
    tenant: Tenant, tmp_path: Path
) -> None:
    with SqliteStore.from_conn_string(f"{tmp_path}/s.db") as store:
        store.setup()
        for key in ("a", "b", "c"):
            store.put(("n",), key, {"key": key})
    with closing(sqlite3.connect(f"{tmp_path}/s.db")) as connection, connection:
        connection.execute("update store set value = '[1]' where key = 'b'")
    done = tenant.run(f"sqlite:{tmp_path}/s.db")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert counted(report, "imported") == {"items": 2} and counted(report, "failed") == {"items": 1}
    assert '"b" of ["n"]' in report["failures"][0]["place"]
