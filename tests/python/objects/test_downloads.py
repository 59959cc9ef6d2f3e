"""Downloads of what lies in an object store that does not answer: an error, or a body that is cut off, and never an answer without bytes."""

import http.client
import io
import random
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support import settings
from support.http import Answer, request
from support.object_store import BUCKET, ObjectStore
from support.raw import MIB, pieces, send
from support.server import Place, Server
from support.waiting import wait_until

FILE = "/v1/files/content?ns=ann&ns=workspace&path=/large.bin"
DRIVE = "/api/storage/download?path=/large.bin&subject=ann"
# More than a value has, and than one slice.
SIZE_MIB = 20
EAGER = ["--object-store-every-seconds=1", "--object-store-pack-bytes-min=1000"]
# Of downloads: the server reads a slice ahead of what was taken, and sockets hold some.
TAKEN_BYTES = 64 << 10


@pytest.fixture
def object_store(tmp_path: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(tmp_path)
    try:
        yield store.start()
    finally:
        store.kill()


def archive() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        member = tarfile.TarInfo("noise.bin")
        member.size = 3 * MIB
        tar.addfile(member, io.BytesIO(random.Random(7).randbytes(member.size)))
    return file.getvalue()


def is_moved(place: Place) -> bool:
    left = "select count(*) from chunks where length(body) <> 25"
    claims = "select count(*) from scope_packing where claimed_until > 0"
    some = place.query("select 1 from packs limit 1")
    return bool(some) and int(place.query(f"select ({left}) + ({claims})")[0][0]) == 0


class Stored:
    """A large file and an archive that lie in the store, and a server that has read neither."""

    def __init__(self, server: Server):
        self.server = server
        self.key = server.new_key()
        self.sent = b"".join(pieces(SIZE_MIB))
        self.tar = archive()
        send(server, "PUT", FILE, self.key, pieces(SIZE_MIB))
        answer = request(
            server.url, "PUT", "/v1/snapshots/archive?workspace=w", self.tar, key=self.key
        )
        assert answer.status == 201, answer
        take = {"snapshot_id": "s", "archive": answer.json()["archive_id"]}
        taken = server.post("/v1/snapshots/take", take, self.key)
        assert taken.status == 201, taken
        signed = server.get("/api/storage/url?path=/large.bin&subject=ann", self.key)
        assert signed.status == 200, signed
        self.signed = signed.json()["url"]
        wait_until(lambda: is_moved(server.place), "all of it to be moved to the object store")
        server.stop()
        server.start()

    def downloads(self) -> dict[str, Callable[[], Answer]]:
        def get(path: str, **headers: str) -> Callable[[], Answer]:
            return lambda: request(self.server.url, "GET", path, key=self.key, headers=headers)

        return {
            "whole": get(FILE),
            "range": get(FILE, Range="bytes=5000000-5000099"),
            "last bytes": get(FILE, Range="bytes=-10"),
            "drive": get(DRIVE),
            "signed": lambda: request(self.server.url, "GET", self.signed),
            "archive": get("/v1/snapshots/archive?snapshot_id=s"),
        }


def all_of(downloads: dict[str, Callable[[], Answer]]) -> dict[str, Answer]:
    with ThreadPoolExecutor(len(downloads)) as pool:
        running = {name: pool.submit(download) for name, download in downloads.items()}
        return {name: it.result() for name, it in running.items()}


def test_a_store_that_does_not_answer_is_said_before_the_head(
    start_server: Callable[..., Server], object_store: ObjectStore
) -> None:
    options = [f"--object-store-url=s3://{BUCKET}/p", *EAGER]
    server = start_server(options=options, environment=object_store.environment())
    stored = Stored(server)

    object_store.pause()
    for name, answer in all_of(stored.downloads()).items():
        assert (answer.status, answer.code) == (503, "unavailable"), (name, answer)
        assert "retry-after" in answer.headers, name
    object_store.go_on()

    whole = stored.sent
    expected = {
        "whole": (200, whole),
        "range": (206, whole[5_000_000:5_000_100]),
        "last bytes": (206, whole[-10:]),
        "drive": (200, whole),
        "signed": (200, whole),
        "archive": (200, stored.tar),
    }
    answers = all_of(stored.downloads())
    assert {name: (it.status, it.body) for name, it in answers.items()} == expected


def test_a_store_that_stops_in_the_middle_cuts_the_body_off(
    start_server: Callable[..., Server], object_store: ObjectStore
) -> None:
    options = [f"--object-store-url=s3://{BUCKET}/p", *EAGER]
    server = start_server(options=options, environment=object_store.environment())
    stored = Stored(server)
    host = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=settings.PATIENCE_SECONDS)
    connection.request("GET", FILE, headers={"x-api-key": stored.key})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["content-length"]) == (200, str(len(stored.sent)))
    begun = answer.read(TAKEN_BYTES)

    object_store.pause()
    with pytest.raises((http.client.IncompleteRead, ConnectionError)) as cut:
        answer.read()

    object_store.go_on()
    connection.close()
    if isinstance(cut.value, http.client.IncompleteRead):
        begun += cut.value.partial
    assert len(begun) < len(stored.sent)
    assert stored.sent.startswith(begun)
