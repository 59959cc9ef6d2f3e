"""Tests that a server which is told to stop answers the requests it has, waits for them as long as
its settings say, and loses no write that it acknowledged.
"""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from support import settings
from support.committers import Crowd
from support.http import request
from support.native import Native
from support.server import Server
from support.waiting import wait_until

# Longer than a test waits for anything: who waits for it fails.
LONG = str(settings.PATIENCE_SECONDS * 10)
ENOUGH = 100


def connect(server: Server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), settings.PATIENCE_SECONDS)


def send(server: Server, which: signal.Signals) -> None:
    assert server.process is not None
    server.process.send_signal(which)


def end(server: Server) -> int:
    assert server.process is not None
    return server.process.wait(settings.PATIENCE_SECONDS)


def readiness(server: Server) -> int:
    return request(server.url, "GET", "/readyz").status


def test_a_server_that_drains_answers_requests_and_is_not_ready(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(options=["--drain-seconds", LONG])
    key = server.new_key()
    send(server, signal.SIGTERM)
    wait_until(lambda: readiness(server) == 503, "the server to be not ready")
    assert b"the server is stopping" in request(server.url, "GET", "/readyz").body
    assert server.get("/healthz").status == 200
    body = {"namespace": ["n"], "key": "k", "value": {}}
    assert server.post("/v1/store/put", body, key).status == 200
    # A second signal ends it at once.
    send(server, signal.SIGTERM)
    assert end(server) == 0
    assert "SIGTERM again" in server.tail()


def test_drained_servers_end_by_themselves(start_server: Callable[..., Server]) -> None:
    server = start_server(options=["--drain-seconds", "1"])
    assert server.stop() == 0
    assert "again" not in server.tail()


@contextmanager
def hang_ups(handler: signal.Handlers) -> Iterator[None]:
    """Programs that start meanwhile ignore them, as `nohup` starts a program, or do not."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_each_signal_ends_the_server_in_order(
    start_server: Callable[..., Server], which: signal.Signals
) -> None:
    # Also where the tests themselves run under `nohup`.
    with hang_ups(signal.SIG_DFL):
        server = start_server()
    send(server, which)
    assert end(server) == 0
    assert f"{which.name}: stopping" in server.tail()
    assert "cut off" not in server.tail()


def test_a_server_that_was_started_to_outlive_its_terminal_does(
    start_server: Callable[..., Server],
) -> None:
    with hang_ups(signal.SIG_IGN):
        server = start_server()
    send(server, signal.SIGHUP)
    assert readiness(server) == 200
    assert server.stop() == 0
    assert "SIGHUP" not in server.tail()


def half_a_body(server: Server, key: str) -> socket.socket:
    """Sends the half, and nothing more for ever."""
    client = connect(server)
    head = (
        f"POST /v1/store/put HTTP/1.1\r\nHost: {server.listen}\r\nAuthorization: Bearer {key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
    )
    client.sendall(head.encode())
    # The server asks for the body: so the request has begun.
    assert client.recv(4096).startswith(b"HTTP/1.1 100")
    client.sendall(b'{"namespace":')
    return client


def slow_reader(server: Server, key: str) -> socket.socket:
    """Asks for more than the system buffers, and reads only the beginning."""
    value = {"text": "x" * (24 << 20)}
    body = {"namespace": ["n"], "key": "large", "value": value}
    assert server.post("/v1/store/put", body, key).status == 200
    client = connect(server)
    asked = b'{"namespace":["n"],"key":"large"}'
    head = (
        f"POST /v1/store/get HTTP/1.1\r\nHost: {server.listen}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(asked)}\r\n\r\n"
    )
    client.sendall(head.encode() + asked)
    assert client.recv(12) == b"HTTP/1.1 200"
    return client


@pytest.mark.parametrize("hinder", [half_a_body, slow_reader], ids=lambda it: it.__name__)
def test_nobody_keeps_a_server_that_stops(
    start_server: Callable[..., Server], hinder: Callable[[Server, str], socket.socket]
) -> None:
    server = start_server(options=["--stop-seconds", "4"])
    with hinder(server, server.new_key()):
        assert server.stop() == 0
    # Their connections are cut off, and then the storage ends in order.
    assert "did not finish in time and are cut off" in server.tail()
    assert "the stop took longer" not in server.tail()


def test_a_second_signal_does_not_wait_for_requests(start_server: Callable[..., Server]) -> None:
    server = start_server(options=["--stop-seconds", LONG])
    with half_a_body(server, server.new_key()):
        send(server, signal.SIGINT)
        wait_until(lambda: "SIGINT: stopping" in server.tail(), "the first signal to be seen")
        send(server, signal.SIGINT)
        assert end(server) == 0
    assert "SIGINT again" in server.tail()


def test_however_a_server_is_told_to_end_no_acknowledged_commit_is_lost(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    key = server.new_key()
    with Crowd(server, key) as crowd:
        for signals in (2, 1):
            goal = crowd.acknowledged + ENOUGH
            wait_until(lambda goal=goal: crowd.acknowledged >= goal, "more commits")
            for _ in range(signals):
                send(server, signal.SIGTERM)
            assert end(server) == 0
            server.start()
    crowd.check_stored(Native(server.url, key))
