"""Counts the instructions that the server executes for one call: put, get, store put.

Valgrind counts them, on SQLite, so that the load of the machine plays no part.

    THREADKEEP_BIN=target/release/threadkeep python clients/python/bench/instructions.py

With THREADKEEP_BENCH_OTHER_BIN it counts those of another binary too, prints the ratio, and fails
where that is over `--ratio-max`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from support.http import post_json  # noqa: E402
from support.native import Native, checkpoint, writes  # noqa: E402
from support.server import Place, Server  # noqa: E402
from support.waiting import wait_until  # noqa: E402

from support import settings  # noqa: E402

# What the first calls cost once: connections, statements, caches.
WARM_UP_CALLS = 20
# The lowest counts: what the server does for itself meanwhile, such as a look at its keys, adds.
ROUNDS = 12
TOTALS = re.compile(r"(?m)^totals: (\d+)")
VALUE = b"a sentence of a conversation, of which there are many. " * 40
Call = Callable[[int], None]


def calls(server: Server) -> dict[str, Call]:
    """A turn's calls. Each has a number of its own, so that nothing is said twice."""
    native = Native(server.url, None)

    def put(number: int) -> None:
        at = f"{number:08}"
        ops = [checkpoint(at, {"messages": VALUE + at.encode()}, step=number)]
        native.commit("thread", *ops, writes(at, "task", [VALUE]))

    def get(_: int) -> None:
        native.get("read")

    def store_put(number: int) -> None:
        item: dict[str, Any] = {"namespace": ["notes"], "key": f"k{number % 10}"}
        item["value"] = {"number": number, "text": "a note " * 40}
        answer = post_json(server.url, "/v1/store/put", item)
        assert answer.status == 200, answer.body

    native.commit("read", checkpoint("1", {"messages": VALUE}), writes("1", "task", [VALUE]))
    return {"put": put, "get": get, "store put": store_put}


class Counter:
    """A server under callgrind: its counters begin at zero, and are read behind a round."""

    def __init__(self, server: Server, folder: Path):
        self.server, self._folder = server, folder

    def of(self, call: Call, count: int) -> float:
        """Instructions of one call, in the round of `count` calls that had the fewest."""
        numbers = iter(range(1, 1 << 62))
        self._round(call, numbers, WARM_UP_CALLS)
        return min(self._round(call, numbers, count) for _ in range(ROUNDS)) / count

    def _round(self, call: Call, numbers: Iterator[int], count: int) -> int:
        self._control("--zero")
        for _ in range(count):
            call(next(numbers))
        before = set(self._dumps())
        self._control("--dump")
        # The server writes it when it next gets a turn.
        wait_until(lambda: set(self._dumps()) - before, "the counters to be written")
        (dump,) = set(self._dumps()) - before
        return sum(map(int, TOTALS.findall(dump.read_text())))

    def _dumps(self) -> list[Path]:
        """Those that are written to their end."""
        return [it for it in self._folder.glob("counted.*") if TOTALS.search(it.read_text())]

    def _control(self, what: str) -> None:
        command = ["callgrind_control", what, str(self.server.pid)]
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder)


@contextmanager
def counted(binary: Path) -> Iterator[Counter]:
    """The server as a program that valgrind runs; `exec` keeps its process."""
    folder = Path(tempfile.mkdtemp(prefix="tk-counted-"))
    wrapper = folder / "threadkeep"
    options = f"--tool=callgrind --callgrind-out-file={folder}/counted --log-file={folder}/log"
    wrapper.write_text(f'#!/bin/sh\nexec valgrind {options} "{binary}" "$@"\n')
    wrapper.chmod(0o755)
    place = Place()
    server = Server(place, binary=wrapper)
    try:
        yield Counter(server.start(), folder)
    finally:
        server.kill()
        place.remove()
        shutil.rmtree(folder, ignore_errors=True)


def measure(binary: Path, count: int) -> dict[str, float]:
    with counted(binary) as counter:
        return {name: counter.of(call, count) for name, call in calls(counter.server).items()}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--calls", type=int, default=25, help="of a round")
    arguments.add_argument("--ratio-max", type=float, default=1.03)
    options = arguments.parse_args()
    if shutil.which("valgrind") is None:
        print("no valgrind here (Debian: apt-get install valgrind): nothing was counted")
        return 0
    ours = measure(settings.BINARY, options.calls)
    other = os.environ.get("THREADKEEP_BENCH_OTHER_BIN")
    theirs = measure(Path(other).resolve(), options.calls) if other else {}
    print("| call | instructions of the server |" + (" of the other | ratio |" if theirs else ""))
    print("|---|---|" + ("---|---|" if theirs else ""))
    too_many = False
    for name, count in ours.items():
        row = f"| {name} | {count:,.0f} |"
        if theirs:
            ratio = count / theirs[name]
            too_many |= ratio > options.ratio_max
            row += f" {theirs[name]:,.0f} | {ratio:.3f} |"
        print(row)
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main())
