"""Making keys beside a running server: what is said, and that they work at once."""

import pytest

from support.http import request
from support.server import Server


def status(server: Server, key: str | None = None) -> int:
    return request(server.url, "GET", "/v1/whoami", key=key).status


def test_the_first_key_says_what_becomes_of_those_without_one(own_server: Server) -> None:
    assert status(own_server) == 200
    made = own_server.command("keys", "create", "--tenant", "acme")
    key = made.stdout.strip()
    assert made.stdout == f"{key}\n" and key.startswith("tk_")
    said = made.stderr
    assert "this is the first key" in said and "401" in said
    assert "in tenant `default`" in said and "threadkeep keys create --tenant default" in said
    assert key not in said
    assert status(own_server, key) == 200
    assert status(own_server) == 401
    # What it says is what works.
    kept = own_server.command("keys", "create", "--tenant", "default")
    answer = request(own_server.url, "GET", "/v1/whoami", key=kept.stdout.strip())
    assert (answer.status, answer.json()["tenant"]) == (200, "default")
    assert kept.stderr == "threadkeep: made tenant default\n", "only the first one needs words"


@pytest.mark.parametrize("subject", [(), ("--subject", "ann")])
def test_a_key_works_at_once(own_server: Server, subject: tuple[str, ...]) -> None:
    own_server.command("keys", "create", "--tenant", "acme")
    for number in range(10):
        made = own_server.command("keys", "create", "--tenant", f"t{number}", *subject)
        assert status(own_server, made.stdout.strip()) == 200
