"""Tokens: what is sent, what comes back, how they end; labels by the shared vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

import threadkeep
from fake_server import FakeServer, Fault
from threadkeep import AsyncClient, Client
from threadkeep.errors import (
    InvalidError,
    ProtocolError,
    TokenExpiredError,
    TokenRevokedError,
    UnauthorizedError,
    error_of_problem,
)
from threadkeep.tokens import Grants

VECTORS = Path(__file__).parents[3] / "tests" / "vectors" / "labels.json"
GRANTS: Grants = {"threads": [{"id": "t", "actions": ["read", "append"]}]}
MINTED = {
    "token": "tks_secret",
    "token_id": "tok_1",
    "expires_at": "2026-01-31T12:00:00.000000Z",
    "grants": GRANTS,
    "subject": "ann",
    "later": True,
}


def answers(server: FakeServer, *bodies: Any) -> None:
    server.fault_path = "/v1/tokens"
    server.faults = [Fault(raw=ormsgpack.packb(body)) for body in bodies]


def sent(server: FakeServer) -> list[tuple[str, Any]]:
    return [(seen.path, seen.body) for seen in server.requests("/v1/tokens")]


EXPECTED = [
    ("/v1/tokens", {"subject": "ann", "grants": GRANTS, "ttl_seconds": 60}),
    ("/v1/tokens", {"subject": "ann"}),
    ("/v1/tokens/narrow", {"grants": GRANTS}),
    ("/v1/tokens/narrow", {"ttl_seconds": 5}),
    ("/v1/tokens/revoke", {"token_id": "tok_1"}),
    ("/v1/tokens/revoke", {"token": "tks_secret"}),
    ("/v1/tokens/revoke", {}),
]


def test_what_the_calls_send_and_answer(server: FakeServer) -> None:
    answers(server, *[MINTED] * 4, *[{"token_id": "tok_1"}] * 3)
    tokens = Client(server.url).tokens
    made = tokens.mint("ann", grants=GRANTS, ttl_seconds=60)
    assert (made.token, made.token_id, made.subject) == ("tks_secret", "tok_1", "ann")
    assert (made.grants, made.expires_at) == (GRANTS, MINTED["expires_at"])
    assert "secret" not in repr(made)
    assert tokens.mint("ann") == tokens.narrow(grants=GRANTS) == tokens.narrow(ttl_seconds=5)
    assert tokens.revoke("tok_1") == tokens.revoke(token="tks_secret") == tokens.revoke() == "tok_1"
    assert sent(server) == EXPECTED


READ_ONLY = ("/v1/tokens", {"read_only": True, "ttl_seconds": 60})
LIVE = {
    "token_id": "tok_1",
    "minter": "key_1",
    "minted_at": "2026-01-31T12:00:00.000000Z",
    "expires_at": "2026-01-31T20:00:00.000000Z",
    "later": True,
}


def test_a_token_that_only_reads_needs_no_subject(server: FakeServer) -> None:
    answers(server, MINTED)
    Client(server.url).tokens.mint(read_only=True, ttl_seconds=60)
    assert sent(server) == [READ_ONLY]


async def test_tokens_are_listed_in_pages(server: FakeServer) -> None:
    pages = [{"tokens": [LIVE], "next_cursor": "c"}, {"tokens": []}]
    answers(server, *pages, *pages)
    tokens = Client(server.url).tokens
    page = tokens.list(limit=1)
    assert (page.tokens[0].token_id, page.tokens[0].read_only) == ("tok_1", None)
    assert tokens.list(cursor=page.next_cursor).next_cursor is None
    coroutines = AsyncClient(server.url).tokens
    assert await coroutines.list(limit=1) == page
    assert (await coroutines.list(cursor="c")).tokens == []
    queries = ["/v1/tokens?limit=1", "/v1/tokens?cursor=c"] * 2
    assert [seen.path for seen in server.requests("/v1/tokens")] == queries


async def test_what_the_coroutines_send_and_answer(server: FakeServer) -> None:
    answers(server, *[MINTED] * 4, *[{"token_id": "tok_1"}] * 3)
    tokens = AsyncClient(server.url).tokens
    made = await tokens.mint("ann", grants=GRANTS, ttl_seconds=60)
    assert made == await tokens.mint("ann") == await tokens.narrow(grants=GRANTS)
    assert made == await tokens.narrow(ttl_seconds=5)
    assert await tokens.revoke("tok_1") == await tokens.revoke(token="tks_secret") == "tok_1"
    assert await tokens.revoke() == "tok_1"
    assert sent(server) == EXPECTED


def test_half_an_answer_is_an_error(server: FakeServer) -> None:
    answers(server, {"token": "tks_secret"}, {})
    tokens = Client(server.url).tokens
    with pytest.raises(ProtocolError) as caught:
        tokens.mint("ann")
    assert "secret" not in str(caught.value)
    with pytest.raises(ProtocolError):
        tokens.revoke("tok_1")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("token_expired", TokenExpiredError),
        ("token_revoked", TokenRevokedError),
        ("unauthorized", UnauthorizedError),
        ("later", UnauthorizedError),
    ],
)
def test_each_end_of_a_token_has_its_error(code: str, kind: type[Exception]) -> None:
    detail = "the token expired at …; ask whoever made it for a new one"
    error = error_of_problem(401, {"code": code, "detail": detail})
    assert type(error) is kind
    assert isinstance(error, UnauthorizedError)
    assert (error.detail, error.code) == (detail, code)


def test_labels_are_those_of_the_server() -> None:
    vectors = json.loads(VECTORS.read_text())
    assert len(vectors) > 10
    for vector in vectors:
        assert threadkeep.label(vector["subject"]) == vector["label"]
        former = vector.get("with_colons", vector["label"])
        assert threadkeep.label_with_colons(vector["subject"]) == former
        assert ":" not in vector["label"]
    with pytest.raises(InvalidError):
        threadkeep.label("\ud800")
