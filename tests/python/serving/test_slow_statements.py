"""A slow statement of the database is a line of the log, with its text and without values, on both engines."""

import json
from collections.abc import Callable

from support.native import Native, checkpoint
from support.server import Server
from support.waiting import wait_until

SECRET = "mark-of-a-value"
MIB = 1 << 20


def commit(server: Server) -> None:
    """A commit that takes a database longer than a millisecond."""
    native = Native(server.url, server.new_key())
    try:
        value = (SECRET * (4 * MIB // len(SECRET))).encode()
        native.commit(f"thread-{SECRET}", checkpoint("c1", {f"channel-{SECRET}": value}))
    finally:
        native.close()


def slow(server: Server) -> list[dict[str, object]]:
    lines = [json.loads(it) for it in server.log.read_text().splitlines() if it.startswith("{")]
    return [it for it in lines if str(it.get("message", "")).startswith("slow statement")]


def test_a_slow_statement_is_logged_without_values(start_server: Callable[..., Server]) -> None:
    server = start_server(options=["--slow-statement-ms", "1", "--log-format", "json"])
    commit(server)
    found = wait_until(lambda: slow(server), "a slow statement in the log")
    for line in found:
        assert line["level"] == "WARN"
        assert str(line["elapsed_secs"]) >= "0.001"
        assert line["summary"]
    assert any("insert into" in f"{it['summary']} {it['db.statement']}" for it in found)
    assert SECRET not in server.all_output()


def test_none_is_logged_where_none_is_asked_for(start_server: Callable[..., Server]) -> None:
    server = start_server(options=["--slow-statement-ms", "0", "--log-format", "json"])
    commit(server)
    assert server.stop() == 0
    assert slow(server) == []
