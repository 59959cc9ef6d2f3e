"""Measures the client's part of a put: the encoding alone, and the whole call.

The server is the minimal one of `transport.py`, so the figures are the client's share and the
loopback's. The checkpoint is that of a usual superstep: a 1 KB skeleton and two new values.

    python bench/put.py [calls]
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage
from transport import serve

from threadkeep.langgraph import ThreadkeepSaver
from threadkeep.langgraph.encode import checkpoint_op, commit_body, target_of
from threadkeep.langgraph.exchange import Exchange

VERSIONS = {f"channel-{n}": f"{n:032}.0.{n:016}" for n in range(9)}
NEW = dict(list(VERSIONS.items())[:2])
CHECKPOINT: Any = {
    "v": 4,
    "id": "1f0c0000-0000-6000-8001-000000000000",
    "ts": "2026-01-01T00:00:00.000000+00:00",
    "channel_values": {"channel-0": [AIMessage("x" * 600, id="m")], "channel-1": {"k": "v" * 200}},
    "channel_versions": VERSIONS,
    "versions_seen": {"node": dict(list(VERSIONS.items())[:4])},
    "updated_channels": ["channel-0"],
}
METADATA: Any = {"source": "loop", "step": 1, "parents": {}}
CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}


def median_micros(work: Callable[[], Any], calls: int) -> float:
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6


async def amedian_micros(saver: ThreadkeepSaver, calls: int) -> float:
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        await saver.aput(CONFIG, CHECKPOINT, METADATA, NEW)
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    server = context.Process(target=serve, args=(ports,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ports.get()}"
    saver = ThreadkeepSaver(url)
    exchange = Exchange(32 << 20)

    def serialize() -> None:
        for channel in NEW:
            saver.serde.dumps_typed(CHECKPOINT["channel_values"][channel])

    def encode() -> None:
        target = target_of(CONFIG)
        op = checkpoint_op(saver.serde, CONFIG, target, CHECKPOINT, METADATA, NEW)
        commit_body("t", "w" * 16, {"generation": "g" * 16}, exchange.packed("t", [op]).joined())

    print("| part | median, µs |\n|---|---|")
    print(f"| serializer alone | {median_micros(serialize, calls):.0f} |")
    print(f"| whole encoding | {median_micros(encode, calls):.0f} |")
    for name in ("pyreqwest", "stdlib"):
        saver = ThreadkeepSaver(url, transport=name)  # type: ignore[arg-type]
        put = lambda s=saver: s.put(CONFIG, CHECKPOINT, METADATA, NEW)  # noqa: E731
        median_micros(put, 200)
        print(f"| put, {name} | {median_micros(put, calls):.0f} |")
        print(f"| aput, {name} | {asyncio.run(amedian_micros(saver, calls)):.0f} |")
    saver = ThreadkeepSaver(url, transport="asyncio")
    asyncio.run(amedian_micros(saver, 200))
    print(f"| aput, asyncio | {asyncio.run(amedian_micros(saver, calls)):.0f} |")
    server.terminate()


if __name__ == "__main__":
    main()
