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
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from support.callgrind import Counters, counting  # noqa: E402
from support.http import post_json  # noqa: E402
from support.native import Native, checkpoint, writes  # noqa: E402
from support.server import Place, Server  # noqa: E402

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


def fewest(counters: Counters, call: Call, count: int) -> float:
    """Instructions of one call, in the round of `count` calls that had the fewest."""
    numbers = iter(range(1, 1 << 62))

    def total(calls: int) -> int:
        said = counters.of(lambda: [call(next(numbers)) for _ in range(calls)])
        return sum(map(int, TOTALS.findall(said)))

    total(WARM_UP_CALLS)
    return min(total(count) for _ in range(ROUNDS)) / count


def measure(binary: Path, count: int) -> dict[str, float]:
    place = Place()
    try:
        with counting(place, binary) as counters:
            each = calls(counters.server).items()
            return {name: fewest(counters, call, count) for name, call in each}
    finally:
        place.remove()


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
