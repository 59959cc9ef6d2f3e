"""A write that PostgreSQL refuses with an error of its own is answered 503 and stores nothing, and the next write works."""

from collections.abc import Callable

import pytest

from support.http import Answer
from support.native import Native, Refused, checkpoint
from support.server import Server

# SQLSTATEs that undo a statement for a reason that can be mended: disk full, out of memory, a configured limit, an I/O error of a
# file, a missing permission.
REFUSED = ["53100", "53200", "53400", "58030", "42501"]


def commit(server: Server, name: str) -> tuple[int, str]:
    try:
        Native(server.url, None).commit(name, checkpoint("1", {"channel": b"value"}))
    except Refused as refused:
        return refused.status, refused.code
    return 200, ""


def told(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.code or ""


def put(server: Server, name: str) -> tuple[int, str]:
    body = {"namespace": ["n"], "key": name, "value": {"n": 1}, "index": False}
    return told(server.post("/v1/store/put", body))


def append(server: Server, name: str) -> tuple[int, str]:
    body = {"kind": "chat", "key": [name], "entries": [{"id": "a", "data": {"text": "hello"}}]}
    return told(server.post("/v1/sessions/append", body))


@pytest.mark.parametrize(
    ("write", "table"), [(commit, "checkpoints"), (put, "items"), (append, "session_entries")]
)
@pytest.mark.parametrize("sqlstate", REFUSED)
def test_a_write_that_the_database_refuses_is_told_and_the_next_one_works(
    server_on_postgres: Server,
    write: Callable[[Server, str], tuple[int, str]],
    table: str,
    sqlstate: str,
) -> None:
    server = server_on_postgres
    assert write(server, "first") == (200, "")
    count = f"select count(*) from {table}"
    (stored,) = server.place.query(count)
    server.place.query(
        f"""create function refuse() returns trigger language plpgsql as
            $$ begin raise exception 'refused by the test' using errcode = '{sqlstate}'; end $$"""
    )
    server.place.query(f"create trigger refuse before insert on {table} execute function refuse()")
    assert write(server, "second") == (503, "unavailable")
    assert server.place.query(count) == [stored]
    assert "refused by the test" in server.all_output()
    server.place.query("drop function refuse() cascade")
    assert write(server, "second") == (200, "")
    assert server.place.query(count) == [(stored[0] + 1,)]
