"""Large states put and read, blocking: time and peak memory of both sides.

Each put and each get is a process of its own, because only a fresh one has a peak of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from measure import Row, millis, row, size

FILE_BYTES = 1_000_000
CALLS = ("put", "get")


def state(size_bytes: int) -> dict[str, Any]:
    """The files of an agent as one channel. Compresses to half of its size."""
    noise = random.Random(1)
    names = (f"/data/{at}.txt" for at in range(max(1, size_bytes // FILE_BYTES)))
    return {name: {"content": noise.randbytes(FILE_BYTES // 2).hex()} for name in names}


def states(field: Any, *, sizes: list[int]) -> list[Row]:
    """Of states of these sizes: the time of a put and a get, and what the processes needed."""
    # Not above: the process of one call needs neither.
    from sides import OURS, SIDES

    rows: list[Row] = []
    for size_bytes in sizes:
        thread = str(uuid.uuid4())
        for call in CALLS:
            found = {}
            for side in SIDES:
                url = field.server.url if side == OURS else field.reference_url()
                server = field.server.process.pid if side == OURS else None
                found[side] = _measured(call, url, field.key, thread, size_bytes, server)
            ours, theirs = (found[side] for side in SIDES)
            what = f"{call} of a state of {size(size_bytes)}"
            rows += [
                row(what, ours["seconds"], theirs["seconds"], millis),
                row(f"client's memory, {what}", ours["client"], theirs["client"], size),
                row(f"server's memory, {what}", ours["server"], theirs["server"], size),
            ]
    return rows


def _measured(
    call: str, url: str, key: str, thread: str, size_bytes: int, server: int | None
) -> dict[str, float]:
    """What one call needed beyond what its processes had before it."""
    options = [call, url, thread, str(size_bytes), "" if server is None else str(server)]
    done = subprocess.run(
        [sys.executable, __file__, *options],
        env={**os.environ, "THREADKEEP_API_KEY": key},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


# In the process of one call


class Peak:
    """How much more memory a process has at its peak than at the beginning, in bytes."""

    def __init__(self, process_id: int):
        self._folder = Path("/proc") / str(process_id)
        # Its peak so far is forgotten.
        (self._folder / "clear_refs").write_text("5")
        self._begun = self._read("VmRSS")

    def bytes(self) -> int:
        return max(0, self._read("VmHWM") - self._begun)

    def _read(self, name: str) -> int:
        lines = (self._folder / "status").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1024


def one_call(options: argparse.Namespace) -> dict[str, float]:
    """Measure it; a read is compared with what was put."""
    saver, backend, close = _saver(options.url)
    want = state(options.size_bytes)
    config: Any = {"configurable": {"thread_id": options.thread, "checkpoint_ns": ""}}
    version = {"files": "1"}
    made: Any = {
        "v": 4,
        "id": "1f0c0000-0000-6000-8001-000000000000",
        "ts": "2026-01-01T00:00:00.000000+00:00",
        "channel_values": {"files": want},
        "channel_versions": version,
        "versions_seen": {},
    }
    saver.get_tuple({"configurable": {"thread_id": "unknown", "checkpoint_ns": ""}})
    client, server = Peak(os.getpid()), Peak(int(options.server or backend))
    begun = time.perf_counter()
    if options.call == "put":
        saver.put(config, made, {"source": "loop", "step": 1, "parents": {}}, version)
    else:
        found = saver.get_tuple(config)
    took = time.perf_counter() - begun
    figures = {"seconds": took, "client": client.bytes(), "server": server.bytes()}
    if options.call == "get":
        assert found is not None
        assert found.checkpoint["channel_values"] == {"files": want}
    close()
    return figures


def _saver(url: str) -> tuple[Any, int, Any]:
    """A saver, the process at the other end of its connection where it is the only one, its end."""
    if url.startswith("http"):
        from threadkeep.langgraph import ThreadkeepSaver

        ours = ThreadkeepSaver(url, timeout=600)
        return ours, 0, ours.close
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    connection: Any = psycopg.connect(url, autocommit=True, row_factory=dict_row)
    return PostgresSaver(connection), connection.info.backend_pid, connection.close


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("call", choices=CALLS)
    parser.add_argument("url")
    parser.add_argument("thread")
    parser.add_argument("size_bytes", type=int)
    parser.add_argument("server", help="process of the server; empty: that of the connection")
    print(json.dumps(one_call(parser.parse_args())))


if __name__ == "__main__":
    main()
