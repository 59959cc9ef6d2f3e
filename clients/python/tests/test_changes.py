"""Following changes over connections that a server closes."""

from __future__ import annotations

from raw_answers import serving
from threadkeep.langgraph import ThreadkeepStore

OF_ONE_CHANGE = (
    "id: {0}.0\nevent: ready\ndata: {{}}\n\n"
    "id: {0}.1\nevent: change\n"
    'data: {{"namespace": ["n"], "key": "{0}", "version": 1, "kind": "put"}}\n\n'
)


def closing_stream(number: int) -> bytes:
    """A stream as a server opens it that is about to stop: without the connection kept."""
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    return (head + OF_ONE_CHANGE.format(number)).encode()


def test_a_stream_without_a_kept_connection_is_read_and_followed_by_the_next() -> None:
    with (
        serving(closing_stream) as (url, targets),
        ThreadkeepStore(url) as store,
        store.changes(("n",)) as changes,
    ):
        assert [next(changes).key for _ in range(3)] == ["1", "2", "3"]
    assert len(targets) == 3
