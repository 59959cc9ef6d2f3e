"""Single calls: put, put_writes, get_tuple; one task, many on one saver, many with one each."""

from __future__ import annotations

import statistics
import time
import uuid
from typing import Any

from cpu import CAN_MEASURE, Cpu, Meter, median_cpu
from measure import Call, Goal, Row, Timed, in_turns, median, millis, per_second, row, timed
from sides import OURS, SIDES, THEIRS, Field
from workloads import CHANNELS, checkpoint, config, writes

GOALS: dict[str, dict[str, Goal]] = {
    "put": {"p50": Goal(at_most=0.8), "shared": Goal(at_least=6)},
}
SERVER_BUDGET = 150e-6
"""Seconds of CPU that the server may use for a small call."""
ALONE, SHARED, APART = "1 task", "tasks on one saver", "tasks with a saver each"


async def calls(field: Field, *, rounds: int, number: int, tasks: int) -> list[Row]:
    rows = []
    for kind in ("put", "put_writes", "get_tuple"):
        for setting in (ALONE, SHARED, APART):
            name = f"{kind}, {setting if setting == ALONE else f'{tasks} {setting}'}"
            found: dict[str, list[Timed]] = {side: [] for side in SIDES}
            used: dict[str, list[Cpu]] = {side: [] for side in SIDES}
            # The first round of each side warms it up and is not counted.
            for counted, side in enumerate(in_turns(SIDES, rounds + 1)):
                count = 1 if setting == ALONE else tasks
                share = number if setting == ALONE else max(1, 2 * number // tasks)
                savers = tasks if setting == APART else 1
                result, cpu = await _round(field, side, kind, (count, share), savers)
                if counted >= len(SIDES):
                    found[side].append(result)
                    used[side].append(cpu)
            rows += _rows(kind, setting, name, {side: median(found[side]) for side in SIDES})
            if CAN_MEASURE and setting != APART:
                rows += _cpu_rows(name, {side: median_cpu(used[side]) for side in SIDES})
    return rows


async def _round(
    field: Field, side: str, kind: str, load: tuple[int, int], savers: int
) -> tuple[Timed, Cpu]:
    """Times of the calls, and the CPU that one of them used."""
    threads = [str(uuid.uuid4()) for _ in range(load[0])]
    async with field.savers(side, savers) as made:
        # Each saver has opened its connection before it is timed.
        parents = [await _begin(made[at % savers], thread) for at, thread in enumerate(threads)]
        call = _call(kind, made, threads, parents)
        meter = Meter(field.server.pid, field.databases.pid)
        result = await timed(call, *load)
        return result, meter.used().of_one(load[0] * load[1])


async def _begin(saver: Any, thread: str) -> Any:
    """A thread of three checkpoints with the writes of two tasks on the last; its address."""
    where = config(thread)
    for step in range(3):
        where = await saver.aput(where, *checkpoint(step))
    for task in ("a", "b"):
        await saver.aput_writes(where, writes(3), task)
    return where


def _call(kind: str, savers: list[Any], threads: list[str], parents: list[Any]) -> Call:
    async def put(task: int, number: int) -> None:
        saver = savers[task % len(savers)]
        parents[task] = await saver.aput(parents[task], *checkpoint(number + 3))

    async def put_writes(task: int, number: int) -> None:
        await savers[task % len(savers)].aput_writes(
            parents[task], writes(number), f"task {number}", "~1"
        )

    async def get_tuple(task: int, _: int) -> None:
        found = await savers[task % len(savers)].aget_tuple(config(threads[task]))
        assert CHANNELS[0] in found.checkpoint["channel_values"]

    return {"put": put, "put_writes": put_writes, "get_tuple": get_tuple}[kind]


def _rows(kind: str, setting: str, name: str, found: dict[str, Timed]) -> list[Row]:
    goals, ours, theirs = GOALS.get(kind, {}), found[OURS], found[THEIRS]
    if setting == ALONE:
        return [
            row(f"{name}, p50", ours.p50, theirs.p50, millis, goals.get("p50")),
            row(f"{name}, p99", ours.p99, theirs.p99, millis),
        ]
    goal = goals.get("shared") if setting == SHARED else None
    return [
        row(name, ours.rate, theirs.rate, per_second, goal),
        row(f"{name}, p99", ours.p99, theirs.p99, millis),
    ]


def _cpu_rows(name: str, used: dict[str, Cpu]) -> list[Row]:
    """The reference has no server in between: that one is compared with its budget."""
    ours, theirs = used[OURS], used[THEIRS]
    budget = Goal(at_most=1)
    return [
        row(f"{name}, CPU of the client", ours.client, theirs.client, millis),
        row(
            f"{name}, CPU of the server and its budget", ours.server, SERVER_BUDGET, millis, budget
        ),
        row(f"{name}, CPU of PostgreSQL", ours.postgres, theirs.postgres, millis),
        row(f"{name}, CPU of all parts", ours.total(), theirs.client + theirs.postgres, millis),
    ]


def blocking_calls(field: Field, *, rounds: int, number: int) -> list[Row]:
    """The same put from a plain program without an event loop."""
    medians: dict[str, list[float]] = {side: [] for side in SIDES}
    for counted, side in enumerate(in_turns(SIDES, rounds + 1)):
        saver, closable = field.sync_saver(side)
        where, times = config(str(uuid.uuid4())), []
        for step in range(number):
            arguments = checkpoint(step)
            begun = time.perf_counter()
            where = saver.put(where, *arguments)
            times.append(time.perf_counter() - begun)
        closable.close()
        if counted >= len(SIDES):
            medians[side].append(statistics.median(times))
    ours, theirs = (statistics.median(medians[side]) for side in (OURS, THEIRS))
    return [row("put, blocking, p50", ours, theirs, millis)]
