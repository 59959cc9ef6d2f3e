"""A server of answers that are bytes, for what no real server would say."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from threadkeep import Client


def problem(status: int, code: str) -> bytes:
    body = json.dumps({"title": "no", "status": status, "code": code, "detail": "no"}).encode()
    return answer(body, f"{status} No", "application/problem+json")


def answer(body: bytes, status: str = "200 OK", kind: str = "application/x-tar") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@contextmanager
def answering(
    answers: Callable[[int], bytes], *, body_bytes: int = 0
) -> Iterator[tuple[Client, list[str]]]:
    """A client of `serving`."""
    with serving(answers, body_bytes=body_bytes) as (url, targets):
        yield Client(url, transport="stdlib"), targets


@contextmanager
def serving(
    answers: Callable[[int], bytes], *, body_bytes: int = 0
) -> Iterator[tuple[str, list[str]]]:
    """The address of a server that reads the head of a request, answers it, and closes.

    `answers` is given the number of the request.
    `body_bytes`: of the body, which it reads before it answers. What is left unread resets the
    connection.
    """
    targets: list[str] = []

    def answer_one(connection: socket.socket) -> None:
        head = head_of(connection)
        for _ in range(body_bytes):
            connection.recv(1)
        targets.append(head.split(b" ")[1].decode())
        connection.sendall(answers(len(targets)))

    with handling(answer_one) as url:
        yield url, targets


def head_of(connection: socket.socket) -> bytes:
    """The head of a request, and nothing of its body."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(1)
    return head


@contextmanager
def handling(handle: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a server that does so with each connection, one by one, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    handle(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            # Wakes the thread, which a close alone would not.
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
