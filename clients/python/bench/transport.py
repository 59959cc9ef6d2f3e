"""Round-trip cost of the HTTP cores that the package could stand on.

Starts a minimal HTTP/1.1 server in a process of its own (it parses nothing but Content-Length, so
that the client's share dominates) and posts a body of 2.5 KB to it, the size of a usual commit.
Prints one Markdown row per candidate: microseconds per call (median) with one caller, and calls
per second with 16 callers. Candidates that are not installed are skipped and named.

    python bench/transport.py [calls]
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import http.client
import multiprocessing
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

BODY = b"x" * 2500
ANSWER = b"\x81\xaageneration\xb00123456789abcdef"
HEADERS = {"content-type": "application/msgpack", "accept": "application/msgpack"}
CALLERS = 16

Post = Callable[[], Any]
AsyncPost = Callable[[], Awaitable[Any]]


class Echo(asyncio.Protocol):
    """Answers every complete request with the same few bytes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end].lower()
            start = head.index(b"content-length:") + 15
            length = int(head[start:].split(b"\r\n", 1)[0])
            if len(self.received) < end + 4 + length:
                return
            self.received = self.received[end + 4 + length :]
            self.transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/msgpack\r\n"
                b"content-length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)
            )


def serve(ports: Any) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def http_client(port: int) -> Post:
    local = threading.local()

    def post() -> bytes:
        connection = getattr(local, "connection", None)
        if connection is None:
            connection = local.connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.connect()
            import socket

            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.request("POST", "/", BODY, HEADERS)
        body: bytes = connection.getresponse().read()
        return body

    return post


def urllib3(port: int) -> Post:
    import urllib3

    pool = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=CALLERS)
    return lambda: pool.urlopen("POST", "/", BODY, HEADERS).data


def httpx_sync(port: int) -> Post:
    import httpx

    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False)
    return lambda: client.post("/", content=BODY, headers=HEADERS).content


def pyreqwest_sync(port: int) -> Post:
    from pyreqwest.client import SyncClientBuilder

    client = SyncClientBuilder().no_proxy().default_headers(HEADERS).build()
    url = f"http://127.0.0.1:{port}/"
    return lambda: bytes(client.post(url).body_bytes(BODY).build().send().bytes())


def pyreqwest_async(port: int) -> AsyncPost:
    from pyreqwest.client import ClientBuilder

    client = ClientBuilder().no_proxy().default_headers(HEADERS).build()
    url = f"http://127.0.0.1:{port}/"

    async def post() -> bytes:
        response = await client.post(url).body_bytes(BODY).build().send()
        return bytes(await response.bytes())

    return post


def own_sockets(port: int) -> Any:
    """The core of the package for plain HTTP."""
    from threadkeep.http.settings import settings_of
    from threadkeep.http.transport import open_transport

    return open_transport(settings_of(f"http://127.0.0.1:{port}", None, transport="asyncio"))


def asyncio_sync(port: int) -> Post:
    from threadkeep.http.transport import Request

    core, request = own_sockets(port), Request("POST", "/", BODY)
    return lambda: core.send(request).body


def asyncio_async(port: int) -> AsyncPost:
    from threadkeep.http.transport import Request

    core, request = own_sockets(port), Request("POST", "/", BODY)

    async def post() -> Any:
        return (await core.asend(request)).body

    return post


def aiohttp(port: int) -> AsyncPost:
    import aiohttp

    session = aiohttp.ClientSession()

    async def post() -> bytes:
        async with session.post(f"http://127.0.0.1:{port}/", data=BODY, headers=HEADERS) as answer:
            return await answer.read()

    return post


def httpx_async(port: int) -> AsyncPost:
    import httpx

    client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False)

    async def post() -> bytes:
        return (await client.post("/", content=BODY, headers=HEADERS)).content

    return post


def http_client_in_threads(port: int) -> AsyncPost:
    post_sync = http_client(port)
    pool = concurrent.futures.ThreadPoolExecutor(CALLERS)

    async def post() -> bytes:
        answer: bytes = await asyncio.get_running_loop().run_in_executor(pool, post_sync)
        return answer

    return post


def measure_sync(post: Post, calls: int) -> tuple[float, float]:
    for _ in range(200):
        post()
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        post()
        times.append(time.perf_counter() - begun)

    def work() -> None:
        for _ in range(calls // CALLERS):
            post()

    threads = [threading.Thread(target=work) for _ in range(CALLERS)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = (calls // CALLERS) * CALLERS / (time.perf_counter() - begun)
    return statistics.median(times) * 1e6, rate


async def measure_async(make: Callable[[int], AsyncPost], port: int, calls: int) -> Any:
    post = make(port)
    for _ in range(200):
        await post()
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        await post()
        times.append(time.perf_counter() - begun)

    async def work() -> None:
        for _ in range(calls // CALLERS):
            await post()

    begun = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CALLERS)))
    rate = (calls // CALLERS) * CALLERS / (time.perf_counter() - begun)
    return statistics.median(times) * 1e6, rate


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    server = context.Process(target=serve, args=(ports,), daemon=True)
    server.start()
    port = ports.get()
    print("| core | one caller, µs | 16 callers, calls/s |\n|---|---|---|")
    for name, make in (
        ("asyncio, sync", asyncio_sync),
        ("pyreqwest, sync", pyreqwest_sync),
        ("http.client, sync", http_client),
        ("urllib3, sync", urllib3),
        ("httpx, sync", httpx_sync),
    ):
        try:
            micros, rate = measure_sync(make(port), calls)
            print(f"| {name} | {micros:.0f} | {rate:,.0f} |")
        except ImportError as missing:
            print(f"| {name} | {missing} | |")
    for name, make_async in (
        ("asyncio, async", asyncio_async),
        ("pyreqwest, async", pyreqwest_async),
        ("aiohttp, async", aiohttp),
        ("http.client in threads, async", http_client_in_threads),
        ("httpx, async", httpx_async),
    ):
        try:
            micros, rate = asyncio.run(measure_async(make_async, port, calls))
            print(f"| {name} | {micros:.0f} | {rate:,.0f} |")
        except ImportError as missing:
            print(f"| {name} | {missing} | |")
    server.terminate()


if __name__ == "__main__":
    main()
