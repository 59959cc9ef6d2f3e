"""The core with sockets of its own: requests that leave slowly, and answers that come before."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable

import pytest

from raw_answers import answer, handling, head_of
from threadkeep.http.settings import settings_of
from threadkeep.http.transport import Answer, Limits, Request, SendFailedError, open_transport

LARGE = Request("POST", "/", bytes(32 << 20))
"""More than the buffers of a socket take."""
Send = Callable[[str, Request, float], Answer]


def blocking(url: str, request: Request, seconds: float) -> Answer:
    return open_transport(settings_of(url, None, transport="asyncio")).send(
        request, Limits(seconds)
    )


def in_a_loop(url: str, request: Request, seconds: float) -> Answer:
    core = open_transport(settings_of(url, None, transport="asyncio"))

    async def call() -> Answer:
        return await core.asend(request, Limits(seconds))

    return asyncio.run(call())


@pytest.fixture(params=[blocking, in_a_loop])
def send(request: pytest.FixtureRequest) -> Send:
    chosen: Send = request.param
    return chosen


def test_a_refusal_is_read_before_the_request_has_left(send: Send) -> None:
    stop = threading.Event()

    def refuses(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(answer(b"no", "413 No"))
        stop.wait(60)

    with handling(refuses) as url:
        status = send(url, LARGE, 20).status
        stop.set()
    assert status == 413


def test_a_request_leaves_as_fast_as_it_is_taken(send: Send) -> None:
    received: list[int] = []

    def slowly(connection: socket.socket) -> None:
        head_of(connection)
        missing = len(LARGE.body or b"")
        while missing:
            time.sleep(0.001)
            missing -= len(connection.recv(min(missing, 1 << 20)))
        received.append(missing)
        connection.sendall(answer(b"all"))

    with handling(slowly) as url:
        assert bytes(send(url, LARGE, 60).body) == b"all"
    assert received == [0]


@pytest.mark.parametrize("takes", [False, True], ids=["takes nothing", "answers nothing"])
def test_a_server_that_stands_still_is_waited_for_as_long_as_said(send: Send, takes: bool) -> None:
    stop = threading.Event()

    def stands_still(connection: socket.socket) -> None:
        if takes:
            connection.recv(1 << 20)
        stop.wait(60)

    request = Request("POST", "/", b"x") if takes else LARGE
    with handling(stands_still) as url:
        begun = time.monotonic()
        with pytest.raises(SendFailedError) as failed:
            send(url, request, 0.3)
        stop.set()
    assert failed.value.kind == "silent"
    assert time.monotonic() - begun >= 0.3


@pytest.mark.parametrize(
    ("data", "pause"), [(b"y", 0.02), (bytes(1 << 16), 0)], ids=["drips", "floods"]
)
def test_the_time_counts_in_all_and_not_from_byte_to_byte(
    send: Send, data: bytes, pause: float
) -> None:
    def drips(connection: socket.socket) -> None:
        connection.recv(1 << 20)
        with contextlib.suppress(OSError):  # Nobody waits any more.
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                time.sleep(pause)
                connection.sendall(data)

    with handling(drips) as url, pytest.raises(SendFailedError) as failed:
        send(url, Request("GET", "/"), 0.5)
    assert failed.value.kind == "silent"


def test_nobody_who_listens_is_unreached(send: Send) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(SendFailedError) as failed:
        send(url, Request("GET", "/"), 5)
    assert failed.value.kind == "unreached"
