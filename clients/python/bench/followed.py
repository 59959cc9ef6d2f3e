"""Puts while somebody follows the threads of the tenant, against puts while nobody does."""

from __future__ import annotations

import http.client
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cpu import CAN_MEASURE, Cpu, Meter, median_cpu
from measure import Row, Timed, in_turns, median, millis, per_second, row, timed
from sides import OURS, Field
from workloads import checkpoint, config

ALONE, FOLLOWED = "nobody follows", "followed"
PATH = "/v1/threads/changes"


async def puts(field: Field, *, rounds: int, number: int, tasks: int) -> list[Row]:
    rows: list[Row] = []
    for count in (1, tasks):
        found: dict[str, list[Timed]] = {ALONE: [], FOLLOWED: []}
        used: dict[str, list[Cpu]] = {ALONE: [], FOLLOWED: []}
        # The first round of each warms up and is not counted.
        for counted, state in enumerate(in_turns((ALONE, FOLLOWED), rounds + 1)):
            if state == FOLLOWED:
                with follower(field):
                    result, cpu = await _round(field, count, number)
            else:
                result, cpu = await _round(field, count, number)
            if counted >= len(found):
                found[state].append(result)
                used[state].append(cpu)
        rows += _rows(count, found, used)
    return rows


async def _round(field: Field, tasks: int, number: int) -> tuple[Timed, Cpu]:
    share = number if tasks == 1 else max(1, 2 * number // tasks)
    async with field.savers(OURS) as (saver,):
        parents: list[Any] = [
            await saver.aput(config(str(uuid.uuid4())), *checkpoint(0)) for _ in range(tasks)
        ]

        async def put(task: int, step: int) -> None:
            parents[task] = await saver.aput(parents[task], *checkpoint(step + 1))

        meter = Meter(field.server.pid, field.databases.pid)
        result = await timed(put, tasks, share)
        return result, meter.used().of_one(tasks * share)


def _rows(tasks: int, found: dict[str, list[Timed]], used: dict[str, list[Cpu]]) -> list[Row]:
    alone, followed = median(found[ALONE]), median(found[FOLLOWED])
    name = f"put, {tasks} {'task' if tasks == 1 else 'tasks on one saver'}, followed or not"
    rows = [
        row(f"{name}, p50", followed.p50, alone.p50, millis),
        row(f"{name}, p99", followed.p99, alone.p99, millis),
        row(f"{name}, rate", followed.rate, alone.rate, per_second),
    ]
    if CAN_MEASURE:
        with_it, without = median_cpu(used[FOLLOWED]), median_cpu(used[ALONE])
        rows += [
            row(f"{name}, CPU of the server", with_it.server, without.server, millis),
            row(f"{name}, CPU of PostgreSQL", with_it.postgres, without.postgres, millis),
        ]
    return rows


@contextmanager
def follower(field: Field) -> Iterator[None]:
    """Reads the feed of all threads of the tenant, in a thread of its own."""
    place = field.server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(place)
    connection.request("GET", PATH, headers={"x-api-key": field.key})
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    assert connection.sock is not None
    socket = connection.sock
    is_ready = threading.Event()

    def read() -> None:
        try:
            for line in answer:
                if line == b"event: ready\n":
                    is_ready.set()
        except (OSError, ValueError):
            # The socket was shut down.
            return

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    assert is_ready.wait(10)
    try:
        yield
    finally:
        socket.shutdown(2)
        reading.join()
        connection.close()
