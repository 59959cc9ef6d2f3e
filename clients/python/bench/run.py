"""Speed and size against the Postgres savers, on one PostgreSQL, fsync on; `make bench` runs it.

THREADKEEP_TEST_PG_BIN names the folder of initdb, THREADKEEP_BIN the server (default: the release
build). Only the ratios mean anything: the absolute figures are those of this machine at this
minute. See README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
os.environ.setdefault("THREADKEEP_BIN", str(ROOT / "target" / "release" / "threadkeep"))

import agents  # noqa: E402
import calls  # noqa: E402
import file_calls  # noqa: E402
import followed  # noqa: E402
import growth  # noqa: E402
import large_states  # noqa: E402
import snapshot_calls  # noqa: E402
import store_calls  # noqa: E402
import store_vectors  # noqa: E402
import thread_searches  # noqa: E402
import wire_states  # noqa: E402
from measure import Row  # noqa: E402
from sides import Field, Postgres  # noqa: E402

from support import settings  # noqa: E402


def parts(options: argparse.Namespace) -> dict[str, Callable[[Field], Awaitable[list[Row]]]]:
    """The parts of the benchmark by name."""

    async def blocking(field: Field) -> list[Row]:
        return calls.blocking_calls(field, rounds=options.rounds, number=options.calls)

    async def items(field: Field) -> list[Row]:
        return store_calls.calls(
            field, items=options.items, rounds=options.rounds, number=options.calls
        )

    async def by_meaning(field: Field) -> list[Row]:
        return store_vectors.searches(field, vectors=options.vectors)

    async def agent_files(field: Field) -> list[Row]:
        return file_calls.calls(
            field, counts=options.files, rounds=options.rounds, number=options.calls
        )

    async def frozen(field: Field) -> list[Row]:
        return snapshot_calls.takes_and_restores(
            field,
            checkpoints=options.snapshot_checkpoints,
            files=options.snapshot_files,
            rounds=options.rounds,
        )

    async def thread_pages(field: Field) -> list[Row]:
        return thread_searches.searches(
            field,
            threads=options.threads,
            few=options.few_threads,
            checkpoints=options.thread_checkpoints,
            rounds=options.rounds,
            number=options.calls,
        )

    async def whole_states(field: Field) -> list[Row]:
        return large_states.states(field, sizes=options.state_bytes)

    return {
        "snapshots": frozen,
        "calls": lambda field: calls.calls(
            field, rounds=options.rounds, number=options.calls, tasks=options.tasks
        ),
        "followed": lambda field: followed.puts(
            field, rounds=options.rounds, number=options.calls, tasks=options.tasks
        ),
        "blocking": blocking,
        "store": items,
        "vectors": by_meaning,
        "files": agent_files,
        "threads": thread_pages,
        "wire": lambda field: wire_states.states(
            field, checkpoints=options.checkpoints, rounds=options.rounds, number=options.calls
        ),
        "turns": lambda field: agents.turns(field, turns=options.turns),
        "long": lambda field: agents.long_thread(
            field, checkpoints=options.checkpoints, rounds=options.rounds
        ),
        "javascript": lambda field: growth.javascript(field, turns=options.javascript_turns),
        "chat": lambda field: growth.chat(field, turns=options.chat_turns),
        "large": lambda field: growth.large(
            field, size_bytes=options.large_bytes, rounds=options.rounds
        ),
        "states": whole_states,
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="PART",
        help="snapshots calls followed blocking store vectors files threads wire turns long"
        " javascript chat large states",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--rounds", type=int, help="rounds per side, in turns (7)")
    parser.add_argument("--calls", type=int, help="calls per round and task (200)")
    parser.add_argument("--tasks", type=int, default=32, help="tasks at once (32)")
    parser.add_argument("--turns", type=int, help="turns of the agent (15)")
    parser.add_argument("--items", type=int, help="items in the store (100,000)")
    parser.add_argument("--vectors", type=int, help="items with a vector (20,000)")
    parser.add_argument("--files", type=int, nargs="+", help="files (100 1,000 10,000)")
    parser.add_argument("--threads", type=int, help="threads with metadata (100,000)")
    parser.add_argument("--few-threads", type=int, help="of the tenant beside it (1,000)")
    parser.add_argument("--thread-checkpoints", type=int, help="checkpoints of each of them (10)")
    parser.add_argument("--checkpoints", type=int, help="length of the long threads (600)")
    parser.add_argument("--chat-turns", type=int, help="turns of the chat (200)")
    parser.add_argument("--javascript-turns", type=int, help="turns with whole lists (20)")
    parser.add_argument("--large-bytes", type=int, help="size of the large state (5,000,000)")
    parser.add_argument(
        "--state-bytes", type=int, nargs="+", help="sizes of large states (20,000,000 60,000,000)"
    )
    parser.add_argument("--snapshot-checkpoints", type=int, help="of the thread taken (1,000)")
    parser.add_argument("--snapshot-files", type=int, help="taken with it (1,000)")
    options = parser.parse_args()
    full = {
        "rounds": 7,
        "calls": 200,
        "turns": 15,
        "items": 100_000,
        "vectors": 20_000,
        "files": [100, 1_000, 10_000],
        "threads": 100_000,
        "few_threads": 1_000,
        "thread_checkpoints": 10,
        "checkpoints": 600,
        "chat_turns": 200,
        "javascript_turns": 20,
        "large_bytes": 5_000_000,
        "state_bytes": [20_000_000, 60_000_000],
        "snapshot_checkpoints": 1_000,
        "snapshot_files": 1_000,
    }
    quick = {
        "rounds": 2,
        "calls": 20,
        "turns": 3,
        "items": 2_000,
        "vectors": 5_100,
        "files": [60],
        "threads": 1_100,
        "few_threads": 50,
        "thread_checkpoints": 2,
        "checkpoints": 45,
        "chat_turns": 10,
        "javascript_turns": 2,
        "large_bytes": 300_000,
        "state_bytes": [9_000_000],
        "snapshot_checkpoints": 40,
        "snapshot_files": 30,
    }
    for name, number in (quick if options.quick else full).items():
        if getattr(options, name) is None:
            setattr(options, name, number)
    return options


def table(rows: list[Row]) -> str:
    lines = [
        "| measure | threadkeep | reference | ratio | goal | met |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(line, rows)])


def line(one: Row) -> str:
    met = {True: "yes", False: "**no**", None: ""}[one.met]
    cells = [one.measure, one.threadkeep, one.reference, f"{one.ratio:.3g}", one.goal, met]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


async def run(options: argparse.Namespace, postgres: Postgres) -> list[Row]:
    rows: list[Row] = []
    for name, part in parts(options).items():
        if options.only and name not in options.only:
            continue
        print(f"… {name}", file=sys.stderr, flush=True)
        # A part has databases of its own, so that what one leaves behind slows down no other.
        field = Field(postgres)
        try:
            found = await part(field)
        finally:
            field.close()
        # Shown at once: the whole takes half an hour, and may be interrupted.
        print(*map(line, found), sep="\n", file=sys.stderr, flush=True)
        rows += found
    return rows


def main() -> None:
    options = arguments()
    assert settings.PG_BIN, "THREADKEEP_TEST_PG_BIN must name a folder with initdb and postgres"
    postgres = Postgres(settings.PG_BIN, fsync=True)
    try:
        postgres.start()
        rows = asyncio.run(run(options, postgres))
    finally:
        postgres.remove()
    print(f"{os.cpu_count()} cores, {platform.machine()}, PostgreSQL with fsync on, medians\n")
    print(table(rows))
    if options.json:
        options.json.write_text(
            json.dumps([asdict(one) for one in rows], indent=1, ensure_ascii=False)
        )


if __name__ == "__main__":
    main()
