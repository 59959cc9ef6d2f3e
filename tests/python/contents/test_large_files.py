"""Files that are larger than the server's memory may grow: up, down, in the middle, broken off."""

import hashlib
import http.client
import itertools
import json
from collections.abc import Callable, Iterator

import pytest

from support import settings
from support.http import request
from support.raw import MIB, Watched, pieces, send, take
from support.server import Server

# What the server may take above what it took before, whatever the size of the file.
GROWTH_BYTES_MAX = 100 * MIB
PLACE = "?ns=ann&ns=workspace&path=/large.bin"


def digest(of: Iterator[bytes]) -> str:
    total = hashlib.sha256()
    for piece in of:
        total.update(piece)
    return total.hexdigest()


def test_a_large_file_goes_up_and_down_in_bounded_memory(own_server: Server) -> None:
    size = settings.CONTENT_MIB
    key = own_server.new_key()
    # What a first small request takes is not the file's.
    send(own_server, "PUT", "/v1/files/content?ns=ann&path=/warm", key, pieces(1))
    with Watched(own_server) as memory:
        stored = json.loads(send(own_server, "PUT", f"/v1/files/content{PLACE}", key, pieces(size)))
        assert stored["size_bytes"] == size * MIB
        taken = digest(take(own_server, f"/v1/files/content{PLACE}", key))
    assert taken == digest(pieces(size))
    assert memory.grown < GROWTH_BYTES_MAX, f"{memory.grown / MIB:.0f} MiB"
    # A range in the middle, over the border of slices.
    start = size * MIB // 2 - 1000
    middle = b"".join(
        take(
            own_server,
            f"/v1/files/content{PLACE}",
            key,
            {"range": f"bytes={start}-{start + 1999}"},
        )
    )
    before, behind = itertools.islice(pieces(size), size // 2 - 1, size // 2 + 1)
    assert middle == before[-1000:] + behind[:1000]


def test_an_upload_that_breaks_off_goes_on(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    key = server.new_key()
    place = json.dumps({"namespace": ["ann", "workspace"], "path": "/film.bin"}).encode()
    begun = request(
        server.url,
        "POST",
        "/v1/files/uploads",
        body=place,
        headers={"content-type": "application/json"},
        key=key,
    )
    upload = f"/v1/files/uploads/{json.loads(begun.body)['upload_id']}"
    parts = [list(pieces(6, seed=number)) for number in range(3)]
    send(server, "PUT", f"{upload}/parts/1", key, iter(parts[0]))
    # The line breaks in the second part: more was announced than comes.
    connection = http.client.HTTPConnection(
        server.url.removeprefix("http://"), timeout=settings.PATIENCE_SECONDS
    )
    connection.putrequest("PUT", f"{upload}/parts/2")
    connection.putheader("x-api-key", key)
    connection.putheader("content-length", str(6 * MIB))
    connection.endheaders()
    for piece in parts[1][:3]:
        connection.send(piece)
    connection.close()
    # And then the server dies.
    server.kill()
    server.start()
    arrived = json.loads(server.get(upload, key=key).body)["parts"]
    assert [part["part"] for part in arrived] == [1]
    for number in (3, 2):
        send(server, "PUT", f"{upload}/parts/{number}", key, iter(parts[number - 1]))
    completed = request(
        server.url,
        "POST",
        f"{upload}/complete",
        body=b"{}",
        headers={"content-type": "application/json"},
        key=key,
    )
    assert completed.status == 200, completed
    whole = b"".join(take(server, "/v1/files/content?ns=ann&ns=workspace&path=/film.bin", key))
    assert whole == b"".join(piece for part in parts for piece in part)


@pytest.mark.parametrize("breaks_at", [1, 20])
def test_what_broke_off_without_an_upload_leaves_nothing(
    own_server: Server, breaks_at: int
) -> None:
    key = own_server.new_key()
    connection = http.client.HTTPConnection(
        own_server.url.removeprefix("http://"), timeout=settings.PATIENCE_SECONDS
    )
    connection.putrequest("PUT", f"/v1/files/content{PLACE}")
    connection.putheader("x-api-key", key)
    connection.putheader("content-length", str(40 * MIB))
    connection.endheaders()
    for piece in pieces(breaks_at):
        connection.send(piece)
    connection.close()
    assert own_server.get(f"/v1/files/content{PLACE}", key=key).status == 404
