"""Revocation on two servers of one database, and a server that cannot learn what was revoked."""

import time
from collections.abc import Iterator

import pytest

from support import settings
from support.http import post_json
from support.postgres import Postgres
from support.server import Place, Server
from support.waiting import wait_until

# What is promised, in seconds.
REVOKED_WITHIN = 5
SILENT_WITHIN = 6


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    """A cluster that the test may stop."""
    assert settings.PG_BIN, "THREADKEEP_TEST_PG_BIN must name a folder with initdb and postgres"
    postgres = Postgres(settings.PG_BIN)
    try:
        postgres.start()
        yield postgres
    finally:
        postgres.remove()


@pytest.fixture
def pair(postgres: Postgres) -> Iterator[tuple[Server, Server]]:
    """Two servers on one database."""
    place = Place(postgres)
    servers = (Server(place), Server(place))
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.kill()


def status(server: Server, credential: str) -> int:
    return server.get("/v1/whoami", credential).status


def becomes(expected: int, server: Server, credential: str) -> float:
    """When the last request before that which was let in began, however slow its answer was."""
    let_in = 0.0

    def has_become() -> bool:
        nonlocal let_in
        begun = time.monotonic()
        found = status(server, credential)
        assert found in (200, 503, expected)
        if found == 200 != expected:
            let_in = begun
        return found == expected

    wait_until(has_become, f"status {expected}")
    return let_in


def test_a_revocation_reaches_both_servers_in_time(pair: tuple[Server, Server]) -> None:
    one, two = pair
    key = one.new_key()
    wait_until(lambda: status(two, key) == 200, "the other server to see the key")
    token, spared = (_mint(one, key) for _ in range(2))
    child = _post(two, token, "/v1/tokens/narrow", {})["token"]
    assert {status(server, it) for server in pair for it in (token, spared, child)} == {200}
    _post(one, token, "/v1/tokens/revoke", {})
    revoked_at = time.monotonic()
    # Here at once, with all that came from it.
    assert [status(one, it) for it in (token, child)] == [401, 401]
    for it in (token, child):
        assert becomes(401, two, it) - revoked_at < REVOKED_WITHIN
    for server in pair:
        answer = server.get("/v1/whoami", token)
        assert (answer.status, answer.code) == (401, "token_revoked")
        assert status(server, spared) == 200


def test_a_server_that_cannot_poll_falls_silent_and_recovers(
    pair: tuple[Server, Server], postgres: Postgres
) -> None:
    one, two = pair
    key = one.new_key()
    token = _mint(one, key)
    wait_until(lambda: status(two, token) == 200, "the other server to see the key")
    postgres.shut_down_immediately()
    stopped_at = time.monotonic()
    for server in pair:
        for it in (key, token):
            assert becomes(503, server, it) - stopped_at < SILENT_WITHIN
    for server in pair:
        # Whether a token is one at all cannot be told either.
        for it in (key, token, "tks_0123456789abcdef.AAAA.AAAA"):
            answer = server.get("/v1/whoami", it)
            assert (answer.status, answer.code) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) >= 1
        assert server.get("/readyz").status == 503
        assert server.get("/healthz").status == 200
    postgres.start()
    for server in pair:
        for it in (key, token):
            becomes(200, server, it)


def _post(server: Server, credential: str, path: str, body: object) -> dict[str, str]:
    answer = post_json(server.url, path, body, key=credential)
    assert answer.status == 200, answer.body
    decoded: dict[str, str] = answer.json()
    return decoded


def _mint(server: Server, key: str) -> str:
    return _post(server, key, "/v1/tokens", {"subject": "ann"})["token"]
