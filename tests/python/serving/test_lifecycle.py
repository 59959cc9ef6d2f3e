"""Starting, stopping and sharing: what is stored outlives the process, and a stop finishes what runs."""

import socket
import subprocess
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import msgpack
import pytest

from support import settings
from support.committers import Crowd
from support.http import MSGPACK, request
from support.native import Native, checkpoint, writes
from support.pooler import ForgetfulPooler
from support.postgres import Databases, Postgres
from support.server import Ended, Place, Server, clean_environment, free_port
from support.waiting import wait_until

THREAD = "thread"
ENOUGH = 200


def commit_one(native: Native) -> None:
    native.commit(THREAD, checkpoint("c1", {"a": b"value"}), writes("c1", "task", [b"write"]))


@pytest.mark.parametrize("end", [Server.stop, Server.kill], ids=["stopped", "killed"])
def test_a_restarted_server_has_everything_and_knows_its_keys(
    own_server: Server, end: Callable[[Server], object]
) -> None:
    native = Native(own_server.url, own_server.new_key())
    commit_one(native)
    before = native.get(THREAD)
    thread = native.thread(THREAD)

    end(own_server)
    own_server.start()

    assert native_again(native).get(THREAD) == before
    assert native.thread(THREAD) == thread


def native_again(native: Native) -> Native:
    """The same caller on a new connection, since the old one ended with the server."""
    native.close()
    return native


def test_port_zero_takes_a_free_port_and_says_which(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(listen="127.0.0.1:0")

    assert not server.url.endswith(":0")
    assert server.get("/healthz").status == 200
    assert server.stdout.read_text() == f"listening on {server.url}\n"


def test_metrics_have_a_listener_of_their_own_where_one_is_named(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(options=["--metrics-listen=127.0.0.1:0"])
    key = server.new_key()
    told, _ = server.stdout.read_text().splitlines()
    place, path = urlsplit(told.removeprefix("metrics on ")), "/metrics"
    operators = f"http://{place.netloc}"

    assert place.path == path
    counted = request(operators, "GET", path)
    assert counted.status == 200
    assert b'route="/v1/whoami",status="200"' in counted.body
    assert request(operators, "GET", "/readyz").status == 200
    assert request(operators, "GET", "/v1/whoami", key=key).status == 404
    assert server.get(path, key).status == 404
    assert server.stop() == 0


def test_an_address_for_metrics_that_cannot_be_had_is_named(
    server: Server, start_server: Callable[..., Server]
) -> None:
    with pytest.raises(Ended, match="THREADKEEP_METRICS_LISTEN"):
        start_server(options=[f"--metrics-listen={server.listen}"])


def test_sigterm_ends_the_server_with_status_zero(own_server: Server) -> None:
    assert own_server.stop() == 0


def refuses_connections(server: Server) -> bool:
    host, port = server.url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), settings.PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass  # it was waiting to be accepted when the listener closed: ask again
    return False


def test_a_request_that_runs_when_the_server_is_stopped_gets_its_answer(
    own_server: Server,
) -> None:
    key = own_server.new_key()
    host, port = own_server.url.removeprefix("http://").split(":")
    body = msgpack.packb({"thread_id": THREAD, "ops": [checkpoint("c1", {"a": b"value"})]})
    head = (
        f"POST /v1/checkpoints/commit HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: {MSGPACK}\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )

    with socket.create_connection((host, int(port)), settings.PATIENCE_SECONDS) as running:
        running.sendall(head.encode())
        # The server asks for the body: so the request has begun.
        assert running.recv(4096).startswith(b"HTTP/1.1 100")
        assert own_server.process is not None
        own_server.process.terminate()
        wait_until(lambda: refuses_connections(own_server), "the server to stop accepting")
        running.sendall(body)
        answer = running.recv(4096)

    assert answer.startswith(b"HTTP/1.1 200")
    assert own_server.stop() == 0
    own_server.start()
    assert Native(own_server.url, key).thread(THREAD) is not None


def test_stops_under_load_lose_no_acknowledged_commit(own_server: Server) -> None:
    key = own_server.new_key()

    with Crowd(own_server, key) as crowd:
        for _ in range(2):
            goal = crowd.acknowledged + settings.COMMITS_BETWEEN_FAULTS
            wait_until(lambda goal=goal: crowd.acknowledged >= goal, "more commits")
            assert own_server.stop() == 0
            own_server.start()

    crowd.check_stored(Native(own_server.url, key))


def start_and_wait_for_end(
    place: Place, *options: str, database_url: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """A server that is expected to refuse to start."""
    stored = ["--database-url", database_url] if database_url else place.arguments()
    return subprocess.run(
        [
            settings.BINARY,
            "serve",
            "--listen",
            f"127.0.0.1:{free_port()}",
            *stored,
            *options,
        ],
        capture_output=True,
        text=True,
        cwd=place.folder,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )


def test_a_second_server_on_one_sqlite_file_is_told_so() -> None:
    place = Place()
    server = Server(place)
    try:
        server.start()
        second = start_and_wait_for_end(place)
        assert second.returncode != 0
        assert "another" in second.stderr.lower()
        assert server.get("/readyz").status == 200
    finally:
        server.kill()
        place.remove()


@pytest.fixture
def postgres_without_fsync() -> Iterator[Postgres]:
    assert settings.PG_BIN is not None
    postgres = Postgres(settings.PG_BIN, fsync=False)
    try:
        postgres.start()
        yield postgres
    finally:
        postgres.remove()


def test_a_database_that_does_not_sync_is_refused_unless_it_is_meant(
    postgres_without_fsync: Postgres,
) -> None:
    place = Place(postgres_without_fsync)
    server = Server(place, allow_unsafe=True)
    try:
        refused = start_and_wait_for_end(place)
        server.start()
        assert refused.returncode != 0
        assert "fsync" in refused.stderr
        assert server.get("/readyz").status == 200
    finally:
        server.kill()
        place.remove()


def test_commits_wait_for_the_disk_whatever_the_database_says(databases: Databases) -> None:
    place = Place(databases)
    place.query(f'alter database "{place.name}" set synchronous_commit = off')
    server = Server(place)
    try:
        # A server whose own setting does not count refuses to serve, as the next test shows.
        commit_one(Native(server.start().url, server.new_key()))
    finally:
        server.kill()
        place.remove()


@pytest.mark.parametrize(
    ("setting", "changed"),
    [
        (b"synchronous_commit=on", b"synchronous_commit=0 "),
        (b"force_generic_plan", b"force_custom_plan "),
    ],
)
def test_a_database_that_settings_of_the_session_do_not_reach_is_refused(
    databases: Databases, setting: bytes, changed: bytes
) -> None:
    place = Place(databases)
    with ForgetfulPooler(place.arguments()[1], setting, changed) as pooler:
        refused = start_and_wait_for_end(place, "--allow-unsafe", database_url=pooler.url)
    place.remove()
    assert pooler.changed > 0
    assert refused.returncode != 0
    assert "pooler in transaction mode" in refused.stderr


def test_two_servers_on_one_database_share_every_thread_and_lose_nothing(
    databases: Databases,
) -> None:
    place = Place(databases)
    servers = [Server(place), Server(place)]
    try:
        for server in servers:
            server.start()
        key = servers[0].new_key()
        wait_until(lambda: servers[1].get("/v1/whoami", key).status == 200, "the key to be known")

        with Crowd(servers[0], key) as first, Crowd(servers[1], key) as second:
            wait_until(
                lambda: min(first.acknowledged, second.acknowledged) >= ENOUGH, "commits on both"
            )

        # Each server shows what the other one stored.
        first.check_stored(Native(servers[1].url, key))
        second.check_stored(Native(servers[0].url, key))
        assert first.retries == second.retries == 0
    finally:
        for server in servers:
            server.kill()
        place.remove()
