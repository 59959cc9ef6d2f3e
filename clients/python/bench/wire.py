"""Counts the bytes on the wire: a TCP proxy in a process of its own, in front of either side.

    python bench/wire.py HOST:PORT | /path/of/a/unix/socket

It prints the port it listens on; for every line it reads it prints the bytes that went up to the
target and those that came down. It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from typing import NamedTuple

READ_BYTES = 1 << 18


class Bytes(NamedTuple):
    """To the server and database, and from it."""

    up: int
    down: int


class Wire:
    """A running proxy. Connect to `port` on 127.0.0.1."""

    def __init__(self, target: str):
        self._process = subprocess.Popen(
            [sys.executable, __file__, target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.port = int(self._line())

    def count(self) -> Bytes:
        assert self._process.stdin is not None
        self._process.stdin.write("count\n")
        up, down = self._line().split()
        return Bytes(int(up), int(down))

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the proxy ended")
        return line

    def close(self) -> None:
        self._process.communicate()


async def serve(target: str) -> None:
    counts = [0, 0]

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await _connect(target)
        except OSError:
            writer.close()
            return
        up = _carry(reader, there[1], counts, 0)
        # Cancelled when the proxy ends, which is not worth a message.
        with suppress(asyncio.CancelledError):
            await asyncio.gather(up, _carry(there[0], writer, counts, 1))

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=READ_BYTES)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(*counts, flush=True)


async def _connect(target: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if target.startswith("/"):
        return await asyncio.open_unix_connection(target, limit=READ_BYTES)
    host, port = target.rsplit(":", 1)
    return await asyncio.open_connection(host, int(port), limit=READ_BYTES)


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counts: list[int], way: int
) -> None:
    try:
        while part := await reader.read(READ_BYTES):
            counts[way] += len(part)
            writer.write(part)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
