"""Calls read the same rows of indexes whatever PostgreSQL's statistics say: of empty tables, of full ones, of other times."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.http import post_json
from support.native import Native, checkpoint, writes
from support.postgres import Databases
from support.server import Place, Server
from support.waiting import wait_until

# A statement that reads all rows of the tenant reads 30 for one here, on average.
THREADS = 60
# What is looked up by primary key, and has other indexes.
TABLES = ("threads", "scopes", "items", "sessions")
# So much the batches of two runs may differ: background work shares them out in another way.
TIMES_MAX = 1.1
# Below it a difference is no way to find rows, which would be 30 for each thread: what walks through
# all threads in the background may do so by another index of the same order, a few times where the
# machine is busy.
ROWS_FREE = 6 * THREADS


@pytest.fixture
def place(databases: Databases) -> Iterator[Place]:
    place = Place(databases)
    try:
        assert Server(place).command("migrate").returncode == 0
        for (table,) in place.query("select tablename from pg_tables where schemaname = 'public'"):
            place.query(f'alter table "{table}" set (autovacuum_enabled = off)')
        yield place
    finally:
        place.remove()


@contextmanager
def serving(place: Place) -> Iterator[Server]:
    server = Server(place).start()
    try:
        yield server
        assert server.stop() == 0
    finally:
        server.kill()


def work(server: Server, key: str) -> None:
    """Commits, reads, items, files and sessions of new threads and of known ones."""
    native = Native(server.url, key)

    def post(route: str, **body: object) -> None:
        answer = post_json(server.url, route, body, key=key)
        assert answer.status == 200, answer.body

    for number in range(THREADS):
        thread, first, second = f"thread-{number}", f"{1:032}", f"{2:032}"
        write = writes(first, "task", [b"write"])
        native.commit(thread, checkpoint(first, {"m": b"one %d" % number}, step=1), write)
        native.commit(thread, checkpoint(second, {"m": b"two"}, parent=first, step=2))
        assert native.get(thread)["checkpoint"] is not None
        # Derives its state now, and leaves nothing to do in the background.
        post("/v1/threads/get", thread_id=thread)
        item = {"namespace": ["users", str(number % 10)], "key": f"item-{number}"}
        post("/v1/store/put", **item, value={"number": number})
        post("/v1/store/put", **item, value={"number": -number})
        post("/v1/store/get", **item)
        file = {"namespace": ["files"], "path": f"/{number}.md"}
        post("/v1/files/write", **file, content="hello")
        post("/v1/files/edit", **file, old_string="hello", new_string="goodbye")
        session = {"kind": "chat", "key": ["ann", str(number)]}
        post("/v1/sessions/append", **session, entries=[{"id": "a", "data": {"text": "hello"}}])
        post("/v1/sessions/append", **session, entries=[{"id": "b", "data": {"text": "again"}}])
        post("/v1/sessions/load", **session)
    native.close()


def one_row_for_each_tenant(place: Place, table: str) -> None:
    """The tenant alone seems to find a row as well as the whole key does."""
    # No state of these threads is to be derived in the background.
    place.query(
        f"""insert into {table}
            select (jsonb_populate_record(null::{table}, to_jsonb(one)
                || jsonb_build_object('tenant', 'tenant-' || n, 'is_stale', false))).*
            from (select * from {table} limit 1) one, generate_series(1, 1000) n"""
    )
    place.query(f"delete from {table} where tenant not like 'tenant-%'")
    place.query(f"analyze {table}")


def rows_read(place: Place) -> Counter[str]:
    """Rows that each index gave so far. A session reports the last of its own when it ends."""
    sessions = f"""select count(*) from pg_stat_activity
        where datname = '{place.name}' and pid <> pg_backend_pid()"""
    wait_until(lambda: place.query(sessions) == [(0,)], "the server's sessions to end")
    rows = place.query("select indexrelname, idx_tup_read from pg_stat_user_indexes")
    return Counter({name: int(read) for name, read in rows})


def counted(place: Place, tenant: str) -> Counter[str]:
    """What the work of a new tenant reads, with plans of a server that has just started."""
    with serving(place) as server:
        (key,) = server.make_keys([tenant])
    before = rows_read(place)
    with serving(place) as server:
        work(server, key)
    return rows_read(place) - before


def test_calls_read_the_same_rows_whatever_the_statistics_say(place: Place) -> None:
    read = {"no statistics": counted(place, "first")}
    place.query("analyze")
    read["statistics of what is there"] = counted(place, "second")
    for table in TABLES:
        one_row_for_each_tenant(place, table)
    read["statistics of one row for each tenant"] = counted(place, "third")
    place.query(f"truncate {', '.join(TABLES)}")
    place.query("analyze")
    read["statistics of empty tables"] = counted(place, "fourth")

    expected = read["statistics of what is there"]
    different = {
        (statistics, index): (rows, expected[index])
        for statistics, of_index in read.items()
        for index, rows in of_index.items()
        if rows > TIMES_MAX * expected[index] + ROWS_FREE
    }
    assert different == {}


def test_no_other_index_of_these_tables_is_one_of_the_tenant_in_its_own_collation(
    place: Place,
) -> None:
    tables = ", ".join(f"'{table}'::regclass" for table in [*TABLES, "contents"])
    found = place.query(
        f"""select i.indexrelid::regclass::text from pg_index i
            cross join lateral unnest(i.indkey::int2[], i.indcollation::oid[]) k (number, "collation")
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
            join pg_collation c on c.oid = k."collation"
            where i.indrelid in ({tables}) and not i.indisprimary and i.indpred is null
                and a.attname = 'tenant' and c.collname = 'C'"""
    )
    assert found == []
