"""What does Redis save? Reads of content from an object store, and listings, with and without.

Each read of content is made by a server that was just started, as by one of several behind a load
balancer: without Redis it asks the object store, with Redis another server has read the same
before. The store is an S3-speaking server on this machine, reached through a proxy that keeps each
request back as long as stores of a cloud take. Medians; THREADKEEP_BIN names the server.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
os.environ.setdefault("THREADKEEP_BIN", str(ROOT / "target" / "release" / "threadkeep"))
sys.path.insert(0, str(ROOT / "tests" / "python"))

from support.object_store import BUCKET, ObjectStore  # noqa: E402
from support.postgres import Postgres  # noqa: E402
from support.proxy import Proxy  # noqa: E402
from support.redis import Redis  # noqa: E402
from support.server import Place, Server  # noqa: E402
from support.waiting import wait_until  # noqa: E402

from support import settings  # noqa: E402

MIB = 1 << 20
FILE = "/v1/files/content?ns=ann&path=/large.bin"
RANGE_BYTES = 64 << 10
PACKING = ["--object-store-every-seconds=1", "--object-store-pack-bytes-min=1000"]
NAMESPACE = ["ann", "files"]


class Slow(Proxy):
    """Keeps everything that clients send back for a while."""

    def __init__(self, url: str, delay_ms: int):
        super().__init__(url)
        self.delay_ms = delay_ms

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                time.sleep(self.delay_ms / 1000)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


class World:
    """One database with its object store and its Redis."""

    def __init__(self, folder: Path, databases: Postgres):
        self.place = Place(databases)
        self.store = ObjectStore(folder).start()
        self.redis = Redis(folder).start()
        self.endpoint = self.store.url
        self.key = ""

    @contextlib.contextmanager
    def server(self, *, shares: bool) -> Iterator[Server]:
        options = [f"--object-store-url=s3://{BUCKET}/p", *PACKING]
        if shares:
            options.append(f"--redis-url={self.redis.url}")
        environment = self.store.environment() | {"AWS_ENDPOINT": self.endpoint}
        server = Server(self.place, options=options, environment=environment).start()
        try:
            yield server
        finally:
            server.stop()

    def fill(self, mebibytes: int, files: int) -> None:
        with self.server(shares=False) as server:
            self.key = server.new_key()
            body = random.Random(1).randbytes(mebibytes * MIB)
            status, answer = self.ask(server, "PUT", FILE, body)
            assert status == 200, answer
            words = random.Random(2)
            for first in range(0, files, 500):
                batch = [
                    {"path": f"/d{at % 50}/{at}.md", "content": text(words)}
                    for at in range(first, min(files, first + 500))
                ]
                for file in batch:
                    place = f"/v1/files/content?ns={NAMESPACE[0]}&ns={NAMESPACE[1]}&path="
                    status, answer = self.ask(
                        server, "PUT", place + file["path"], file["content"].encode()
                    )
                    assert status == 200, answer
            wait_until(self.is_packed, "the file to be in the object store")

    def is_packed(self) -> bool:
        found = self.place.query("select count(*) from chunks where length(body) <> 25")
        return int(found[0][0]) == 0

    def ask(
        self, server: Server, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=120)
        own = {"x-api-key": self.key, "content-type": "application/octet-stream"} | headers
        connection.request(method, path, body=body or None, headers=own)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def close(self) -> None:
        self.redis.kill()
        self.store.kill()
        self.place.remove()


def text(words: random.Random) -> str:
    return "".join(words.choices("abcdefghij \n", k=2048))


def measure(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def reads(world: World, mebibytes: int, *, shares: bool) -> tuple[float, float, float]:
    """The whole file, the same again, p50 of small ranges; by servers that have read nothing."""
    places = [at * MIB + 4_321 for at in range(0, mebibytes, 2)]

    def whole(server: Server) -> None:
        status, content = world.ask(server, "GET", FILE)
        assert status == 200
        assert len(content) == mebibytes * MIB

    def part(server: Server, at: int) -> None:
        span = f"bytes={at}-{at + RANGE_BYTES - 1}"
        status, content = world.ask(server, "GET", FILE, b"", range=span)
        assert status == 206
        assert len(content) == RANGE_BYTES

    if shares:
        with world.server(shares=True) as server:
            whole(server)
            # It is stored behind the answer.
            wait_until(lambda: int(world.redis.ask("dbsize")) >= mebibytes * 4, "Redis")
            time.sleep(1)
    with world.server(shares=shares) as server:
        world.ask(server, "GET", "/v1/whoami")
        first = measure(lambda: whole(server))
        again = measure(lambda: whole(server))
    with world.server(shares=shares) as server:
        world.ask(server, "GET", "/v1/whoami")
        times = [measure(lambda at=at: part(server, at)) for at in places]  # type: ignore[misc]
    return first, again, statistics.median(times)


def listings(world: World, files: int, calls: int) -> dict[str, float]:
    """p50 of a listing of all files, and of what a remembered one would cost at least."""
    body = json.dumps({"namespace": NAMESPACE, "path": "/", "recursive": True}).encode()
    one = json.dumps({"namespace": NAMESPACE, "path": "/d0/0.md"}).encode()
    found: dict[str, float] = {}
    for shares in (False, True):
        with world.server(shares=shares) as server:
            answer = b""
            for name, path, sent in (
                ("listing", "/v1/files/ls", body),
                ("one row", "/v1/files/stat", one),
            ):
                times = []
                for _ in range(calls):
                    begun = time.perf_counter()
                    status, answer = world.ask(
                        server, "POST", path, sent, **{"content-type": "application/json"}
                    )
                    times.append(time.perf_counter() - begun)
                    assert status == 200, answer
                if name == "listing":
                    assert answer.count(b".md") == files, answer[:200]
                    kept = answer
                found[f"{name}, {'with' if shares else 'without'}"] = statistics.median(times)
            found["answer of Redis"] = fetched(world.redis, kept, calls)
            found["bytes"] = float(len(kept))
    return found


def fetched(redis: Redis, value: bytes, calls: int) -> float:
    """p50 of taking a value of this size out of Redis, on one connection."""
    with socket.create_connection(("127.0.0.1", redis.port)) as connection:
        stream = connection.makefile("rb")
        connection.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%b\r\n" % (len(value), value))
        assert stream.readline() == b"+OK\r\n"
        times = []
        for _ in range(calls):
            begun = time.perf_counter()
            connection.sendall(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
            length = int(stream.readline()[1:])
            assert len(stream.read(length + 2)) == len(value) + 2
            times.append(time.perf_counter() - begun)
        return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mebibytes", type=int, default=24, help="of the file")
    parser.add_argument("--files", type=int, default=1_000, help="of the listing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--delays-ms", type=int, nargs="*", default=[0, 10, 30])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        assert settings.PG_BIN, "THREADKEEP_TEST_PG_BIN names the folder of initdb"
        databases = Postgres(settings.PG_BIN, fsync=True)
        databases.start()
        world = World(Path(name), databases)
        try:
            world.fill(options.mebibytes, options.files)
            print(f"{'read by a fresh server':44} without      with   ratio")
            for delay_ms in options.delays_ms:
                report_reads(world, options, delay_ms)
            world.endpoint = world.store.url
            for what, value in listings(world, options.files, options.calls).items():
                shown = f"{value:,.0f}" if what == "bytes" else f"{value * 1000:.2f} ms"
                print(f"{options.files:,} files: {what:28} {shown:>12}")
        finally:
            world.close()
            databases.remove()


def report_reads(world: World, options: argparse.Namespace, delay_ms: int) -> None:
    whats = (f"{options.mebibytes} MiB", "the same again", "64 KiB of it")
    with Slow(world.store.url, delay_ms) as slow:
        world.endpoint = slow.url
        rounds: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
        for _ in range(options.rounds):
            for shares in (False, True):
                world.redis.ask("flushall")
                rounds[shares].append(reads(world, options.mebibytes, shares=shares))
        for at, what in enumerate(whats):
            without, shared = (
                statistics.median(it[at] for it in rounds[shares]) for shares in (False, True)
            )
            label = f"{what}, store {delay_ms} ms away"
            print(
                f"{label:44} {without * 1000:7.1f}   {shared * 1000:7.1f}   {shared / without:5.2f}"
            )


if __name__ == "__main__":
    main()
