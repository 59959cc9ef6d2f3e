"""Limits that many requests reach together: followers and streams of one server, keys of one tenant."""

import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from support import settings
from support.limits import World
from support.limits.rows import get, post
from support.server import Server

# Sockets of the largest test, and what else is open.
FILES_NEEDED = 4_096


@pytest.fixture(scope="module", autouse=True)
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], FILES_NEEDED), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def hold(server: Server, method: str, path: str, key: str) -> socket.socket:
    """Asks for a stream, and leaves it open when its head is there."""
    parts = urlsplit(server.url)
    made = socket.create_connection((parts.hostname, parts.port), settings.PATIENCE_SECONDS)
    head = f"{method} {path} HTTP/1.1\r\nhost: {parts.netloc}\r\nauthorization: Bearer {key}\r\n"
    body = "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
    made.sendall((head + (body if method == "POST" else "\r\n")).encode())
    answered = made.recv(4_096)
    assert answered.startswith(b"HTTP/1.1 200"), answered
    return made


def test_a_server_has_so_many_followers_of_the_feed(own_server: Server) -> None:
    limits = own_server.get("/v1/limits", own_server.new_key()).json()
    most, of_tenant = limits["feed_followers_max"], limits["feed_followers_per_tenant_max"]
    path = "/v1/store/changes"
    with ExitStack() as held:
        for _ in range(most // of_tenant):
            key = own_server.new_key()
            for _ in range(of_tenant):
                held.enter_context(hold(own_server, "GET", path, key))

        answer = World(own_server, own_server.new_key()).ask(get(path))

    assert (answer.status, answer.code) == (429, "too_many_requests")
    assert answer.json()["limit"] == most
    assert int(answer.headers["retry-after"]) > 0


def test_a_server_has_so_many_streams_of_events(own_server: Server) -> None:
    limits = own_server.get("/v1/limits", own_server.new_key()).json()
    most, of_tenant = limits["event_streams_max"], limits["event_streams_per_tenant_max"]
    of_credential = limits["event_streams_per_credential_max"]
    path = "/threads/thread/stream/events"

    def tenant() -> World:
        world = World(own_server, own_server.new_key())
        world.must(post("/v1/threads/create", thread_id="thread"))
        return world

    with ExitStack() as held:
        left = most
        while left:
            world = tenant()
            grants = {"threads": [{"id": "thread", "actions": ["read"]}]}
            for number in range(of_tenant // of_credential):
                asked = post("/v1/tokens", subject=f"s{number}", grants=grants)
                token = world.must(asked)["token"]
                for _ in range(min(of_credential, left)):
                    held.enter_context(hold(own_server, "POST", path, token))
                left -= min(of_credential, left)

        answer = tenant().ask(post(path))

    assert (answer.status, answer.code) == (429, "too_many_requests")
    assert answer.json()["limit"] == most
    assert int(answer.headers["retry-after"]) > 0


COPY_KEYS = """
insert into keys (tenant, key_id, subject, hash, created_at)
with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < {count})
select tenant, key_id || '_' || n, subject, {hash}, created_at from keys, numbers where key_id = '{key_id}'
returning 1
"""


def test_a_tenant_makes_so_many_keys(
    engine: str, own_server: Server, start_server: Callable[..., Server]
) -> None:
    world = World(own_server, own_server.new_key())
    most = own_server.get("/v1/limits", world.key).json()["keys_per_tenant_max"]
    made = world.must(post("/v1/keys", name="one"))
    # Two are there, and two more are wanted.
    hashes = {"sqlite": "randomblob(32)", "postgres": "sha256(n::text::bytea)"}
    copying = COPY_KEYS.format(count=most - 3, key_id=made["key_id"], hash=hashes[engine])
    own_server.place.query(copying)

    world.must(post("/v1/keys", name="the last"))
    answer = world.ask(post("/v1/keys", name="one more"))

    assert (answer.status, answer.code) == (422, "invalid")
    assert (answer.json()["field"], answer.json()["limit"]) == ("keys", most)
    assert "one more" not in str(world.must(get("/v1/keys", limit=10)))
