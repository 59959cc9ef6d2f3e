"""Keys of the own tenant: what is sent, and what comes back."""

from __future__ import annotations

from typing import Any

import ormsgpack
import pytest

from fake_server import FakeServer, Fault
from threadkeep import AsyncClient, Client
from threadkeep.errors import ProtocolError

KEY = {
    "key_id": "key_1",
    "name": "deploy",
    "prefix": "tkr_abcde",
    "read_only": True,
    "created_at": "2026-01-31T12:00:00.000000Z",
    "expires_at": "2026-05-01T12:00:00.000000Z",
    "last_used_on": "2026-02-01",
    "later": True,
}
PAGES = [{"keys": [KEY], "next_cursor": "c"}, {"keys": []}]
EXPECTED = [
    ("/v1/keys?limit=1", None),
    ("/v1/keys?cursor=c", None),
    ("/v1/keys", {"name": "deploy", "subject": "ann", "read_only": True, "ttl_seconds": 60}),
    ("/v1/keys", {}),
    ("/v1/keys/revoke", {"key_id": "key_1"}),
    ("/v1/keys/revoke", {"key_id": "key_1", "own": True}),
]


def answers(server: FakeServer, *bodies: Any) -> None:
    server.fault_path = "/v1/keys"
    server.faults = [Fault(raw=ormsgpack.packb(body)) for body in bodies]


def all_answers(server: FakeServer) -> None:
    made = {**KEY, "key": "tkr_secret"}
    answers(server, *PAGES, made, made, {"key_id": "key_1"}, {"key_id": "key_1"})


def sent(server: FakeServer) -> list[tuple[str, Any]]:
    return [(seen.path, seen.body or None) for seen in server.requests("/v1/keys")]


def test_what_the_calls_send_and_answer(server: FakeServer) -> None:
    all_answers(server)
    keys = Client(server.url).keys
    page = keys.list(limit=1)
    assert (page.keys[0].name, page.keys[0].read_only, page.keys[0].subject) == (
        "deploy",
        True,
        None,
    )
    assert (page.keys[0].expires_at, page.keys[0].last_used_on) == (
        "2026-05-01T12:00:00.000000Z",
        "2026-02-01",
    )
    assert keys.list(cursor=page.next_cursor).next_cursor is None
    made = keys.create("deploy", subject="ann", read_only=True, ttl_seconds=60)
    assert (made.key, made.key_id, made.prefix) == ("tkr_secret", "key_1", "tkr_abcde")
    assert made.expires_at == "2026-05-01T12:00:00.000000Z"
    assert "secret" not in repr(made)
    assert keys.create() == made
    assert keys.revoke("key_1") == keys.revoke("key_1", own=True) == "key_1"
    assert sent(server) == [(path, body or None) for path, body in EXPECTED]


async def test_what_the_coroutines_send_and_answer(server: FakeServer) -> None:
    all_answers(server)
    keys = AsyncClient(server.url).keys
    page = await keys.list(limit=1)
    assert (await keys.list(cursor=page.next_cursor)).keys == []
    made = await keys.create("deploy", subject="ann", read_only=True, ttl_seconds=60)
    assert made == await keys.create()
    assert await keys.revoke("key_1") == await keys.revoke("key_1", own=True) == "key_1"
    assert sent(server) == [(path, body or None) for path, body in EXPECTED]


def test_half_an_answer_is_an_error(server: FakeServer) -> None:
    answers(server, {"keys": 1}, {"key_id": "key_1"}, {})
    keys = Client(server.url).keys
    for call in (keys.list, keys.create, lambda: keys.revoke("key_1")):
        with pytest.raises(ProtocolError):
            call()
