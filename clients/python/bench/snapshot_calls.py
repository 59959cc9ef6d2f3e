"""Snapshots of a long thread and many files, and what commits on another thread notice of them."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint, uuid6
from measure import Row, millis, per_second
from sides import Field
from support.server import Place, Server

from threadkeep import Client
from threadkeep.langgraph import ThreadkeepSaver

FILE_BYTES = 2_000
FILES = ("ann", "filesystem")
TOGETHER_SECONDS = 1.0
"""What a take of both may last."""


def takes_and_restores(field: Field, *, checkpoints: int, files: int, rounds: int) -> list[Row]:
    """On PostgreSQL and on SQLite."""
    rows = []
    for engine, place in [("PostgreSQL", Place(field.databases)), ("SQLite", Place())]:
        server = Server(place).start()
        try:
            rows += _Scene(server, engine, checkpoints, files).measure(rounds)
        finally:
            server.kill()
            place.remove()
    return rows


class _Scene:
    def __init__(self, server: Server, engine: str, checkpoints: int, files: int) -> None:
        self.engine, self.files = engine, files
        self.access: dict[str, Any] = {"api_key": server.new_key()}
        self.url = server.url
        self.client = Client(self.url, **self.access)
        self.sizes = f"{checkpoints:,} checkpoints and {files:,} files"
        writer = _Writer(self.saver(), "long")
        for _ in range(checkpoints):
            writer.put()
        self.write(range(files))

    def saver(self) -> ThreadkeepSaver:
        return ThreadkeepSaver(self.url, **self.access)

    def write(self, numbers: range) -> None:
        for number in numbers:
            text = f"{number} {time.perf_counter_ns()} ".ljust(FILE_BYTES, "x")
            self.client.files.write(FILES, f"/{number}.md", text)

    def measure(self, rounds: int) -> list[Row]:
        thread: dict[str, Any] = {"threads": [("long", "head")]}
        both: dict[str, Any] = thread | {"namespaces": [FILES]}
        take = self.client.snapshots.take
        alone = _Beside(self.saver(), "alone")
        with alone.running():
            time.sleep(3 * TOGETHER_SECONDS)
        beside = _Beside(self.saver(), "beside")
        taken: dict[str, list[float]] = {"head": [], "files": [], "both": [], "restored": []}
        for _ in range(rounds):
            taken["head"].append(_seconds(lambda: take(**thread)))
            taken["files"].append(_seconds(lambda: take(namespaces=[FILES])))
            with beside.running():
                begun = time.perf_counter()
                snapshot_id = take(**both).snapshot_id
                taken["both"].append(time.perf_counter() - begun)
            self.write(range(self.files))
            with beside.running():
                begun = time.perf_counter()
                self.client.snapshots.restore(snapshot_id)
                taken["restored"].append(time.perf_counter() - begun)
        median = {name: statistics.median(times) for name, times in taken.items()}
        both_, goal = median["both"], TOGETHER_SECONDS
        parts = f"{millis(median['head'])} and {millis(median['files'])}"
        on = f"on {self.engine}"
        worst, usual = max(beside.times), max(alone.times)
        rate = len(beside.times) / sum(beside.times)
        rate_alone = len(alone.times) / sum(alone.times)
        return [
            Row(
                f"take of {self.sizes} {on}; apart {parts}",
                millis(both_),
                millis(goal),
                both_ / goal,
                "≤ 1",
                both_ <= goal,
            ),
            Row(
                f"restore of the same {on}, all files changed",
                millis(median["restored"]),
                millis(both_),
                median["restored"] / both_,
            ),
            Row(
                f"commits on another thread meanwhile {on} ({len(beside.times)}), without",
                per_second(rate),
                per_second(rate_alone),
                rate / rate_alone,
            ),
            Row(f"the slowest of them {on}", millis(worst), millis(usual), worst / usual),
        ]


class _Writer:
    """A thread whose list grows by one with each checkpoint."""

    def __init__(self, saver: ThreadkeepSaver, thread: str) -> None:
        self.saver, self.count = saver, 0
        self.texts: list[str] = []
        self.config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}

    def put(self) -> None:
        self.count += 1
        self.texts = [*self.texts[-400:], f"{self.count} said at {time.perf_counter_ns()}"]
        version = str(self.count)
        point = empty_checkpoint() | {
            "id": str(uuid6(clock_seq=self.count)),
            "channel_values": {"log": self.texts},
            "channel_versions": {"log": version},
        }
        metadata: Any = {"source": "loop", "step": self.count, "parents": {}}
        made: Any = point
        self.config = self.saver.put(self.config, made, metadata, {"log": version})


class _Beside:
    """Commits one after the other while something else is going on."""

    def __init__(self, saver: ThreadkeepSaver, thread: str) -> None:
        self.writer, self.times = _Writer(saver, thread), list[float]()

    @contextmanager
    def running(self) -> Iterator[None]:
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                self.times.append(_seconds(self.writer.put))

        worker = threading.Thread(target=work)
        worker.start()
        try:
            yield
        finally:
            stop.set()
            worker.join()


def _seconds(act: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun
