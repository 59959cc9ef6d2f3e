"""Streaming of files: complete or an error, also over connections that are lost."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepagents")

from fake_server import FakeServer, Fault
from threadkeep import Client
from threadkeep.errors import InvalidError, NotFoundError, ProtocolError, TransportError

NS = ("u 1", "w/x")
DATA = bytes(range(256)) * 40


@pytest.fixture
def client(server: FakeServer) -> Client:
    return Client(server.url)


def test_bytes_come_back(client: Client, server: FakeServer) -> None:
    file = io.BytesIO(b"before" + DATA)
    file.seek(6)
    assert client.files.put_content(NS, "/ä&b.bin", file) == 1
    assert client.files.stat(NS, "/ä&b.bin") is not None
    target = io.BytesIO(b"before, and much more" * 1_000)
    target.seek(6)
    assert client.files.get_content(NS, "/ä&b.bin", target) == len(DATA)
    assert target.getvalue() == b"before" + DATA
    (sent,) = [seen for seen in server.requests("/content") if seen.method == "PUT"]
    assert sent.headers["content-type"] == "application/octet-stream"
    assert sent.headers["content-length"] == str(len(DATA))


def test_a_type_is_told_or_guessed(client: Client, server: FakeServer) -> None:
    client.files.put_content(NS, "/a.png", io.BytesIO(b"x"))
    client.files.put_content(NS, "/b", io.BytesIO(b""), media_type="text/x-own")
    types = [seen.headers["content-type"] for seen in server.requests("/content")]
    assert types == ["image/png", "text/x-own"]


@pytest.mark.parametrize("apply", [True, False])
def test_a_lost_connection_sends_all_of_it_again(
    client: Client, server: FakeServer, apply: bool
) -> None:
    server.faults = [Fault(drop=True, apply=apply), Fault(status=503)]
    client.files.put_content(NS, "/a", io.BytesIO(DATA))
    assert client.files.download(NS, ["/a"])[0].data == DATA
    puts = [seen for seen in server.requests("/content") if seen.method == "PUT"]
    assert len({seen.headers["idempotency-key"] for seen in puts}) == 1 < len(puts)


def test_a_cut_answer_is_gone_on_with(client: Client, server: FakeServer) -> None:
    client.files.put_content(NS, "/a", io.BytesIO(DATA))
    server.seen.clear()
    server.faults = [Fault(cut=100), Fault(cut=200), Fault(drop=True)]
    target = io.BytesIO()
    assert client.files.get_content(NS, "/a", target) == len(DATA)
    assert target.getvalue() == DATA
    ranges = [seen.headers.get("range") for seen in server.requests("/content")]
    assert ranges == [None, "bytes=100-", "bytes=300-", "bytes=300-"]


def test_of_another_state_all_is_asked_for_again(client: Client, server: FakeServer) -> None:
    client.files.put_content(NS, "/a", io.BytesIO(b"old" * 1_000))
    server.faults = [Fault(cut=1_000)]
    server.on_content = lambda: client_of(server).files.write(NS, "/a", "new")
    target = io.BytesIO()
    assert client.files.get_content(NS, "/a", target) == 3
    assert target.getvalue() == b"new"


def client_of(server: FakeServer) -> Client:
    return Client(server.url)


def test_what_never_comes_is_an_error(client: Client, server: FakeServer) -> None:
    client.files.put_content(NS, "/a", io.BytesIO(DATA))
    server.faults = [Fault(drop=True)] * 9
    with pytest.raises(TransportError):
        client.files.get_content(NS, "/a", io.BytesIO())
    server.faults = []
    with pytest.raises(NotFoundError):
        client.files.get_content(NS, "/none", io.BytesIO())
    with pytest.raises(InvalidError):
        client.files.put_content("text", "/a", io.BytesIO())
    server.faults = [Fault(raw=b"<html>", content_type="text/html")]
    with pytest.raises(ProtocolError):
        client.files.put_content(NS, "/a", io.BytesIO(DATA))


def test_a_file_is_never_held_whole(client: Client, server: FakeServer, tmp_path: Path) -> None:
    size = 32 << 20
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as made:
        made.truncate(size)
    sent: Any = None
    tracemalloc.start()
    try:
        with source.open("rb") as file:
            server.discard_content = True
            client.files.put_content(NS, "/a", file)
            sent = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        server.zeros = size
        with target.open("w+b") as file:
            assert client.files.get_content(NS, "/a", file) == size
        received = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert target.stat().st_size == size
    assert max(sent, received) < size // 4, (sent, received)
