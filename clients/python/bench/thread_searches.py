"""Searches of threads against a plain table of as many rows, and against themselves.

What is found is compared with the plain table. Pages in an order that the plain table has no index
for are held against our own list by the time of creation, and against a tenant of few threads.
Values are asked for on the Agent Server wire; a thread has the same ones in its metadata.
"""

from __future__ import annotations

import base64
import secrets
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from measure import Goal, Row, in_turns, millis, row, size
from sides import OURS, SIDES, THEIRS, Field
from support.http import post_json
from thread_rows import HITS, PAGE, Scene, Stage
from workloads import checkpoint, config

from threadkeep import Client, ThreadkeepError
from threadkeep.langgraph import ThreadkeepSaver

THREE_TIMES, TWICE, HALF_MORE = Goal(at_most=3.0), Goal(at_most=2.0), Goal(at_most=1.5)
TEN_TIMES, EVEN, A_TENTH_MORE = Goal(at_most=10.0), Goal(at_most=1.05), Goal(at_most=1.1)
A_SEVENTH_MORE = Goal(at_most=1.15)
DISK_BYTES = 1_024
"""What a thread may take in `threads`, `thread_details` and their indexes."""
SORTS = ("updated", "state_updated", "created", "thread_id", "status")
ORDERS = ("desc", "asc")
ENGINES = ("PostgreSQL", "SQLite")
WIRE_PAGE = "/threads/search"


class Asked(NamedTuple):
    """A call of both sides; each answers how many rows it found."""

    name: str
    ours: Callable[[], int]
    theirs: Callable[[], int]
    goal: Goal


def searches(
    field: Field, *, threads: int, few: int, checkpoints: int, rounds: int, number: int
) -> list[Row]:
    rows = []
    for engine in ENGINES:
        scene = Scene(field, engine, threads, few, checkpoints)
        try:
            with (
                Client(scene.server.url, api_key=scene.key) as client,
                Client(scene.server.url, api_key=scene.few_key) as few_client,
            ):
                # The first search of a tenant derives the states that nobody derived before.
                settle(client, few_client)
                for asked in [
                    *against_plain(scene, client),
                    *by_values(scene),
                    *against_created(client),
                    *against_few(client, few_client, few),
                    *far_pages(scene, client),
                ]:
                    rows.append(measured(scene, asked, rounds, number))
            rows += [puts(scene, rounds, number), scalar_puts(scene, rounds, number)]
            if engine == "PostgreSQL":
                rows.append(disk(scene))
        finally:
            scene.close()
        rows += encrypted(field, engine, max(10, threads // 10), checkpoints, rounds, number)
    return rows


def settle(*clients: Client) -> None:
    """Wait until the state of every thread is derived."""
    for client in clients:
        while True:
            try:
                client.threads.count(status="busy")
                break
            except ThreadkeepError as error:
                # The client tries again by itself, until its own time is over.
                if error.code not in ("threads_indexing", "transport"):
                    raise
                time.sleep(0.5)


def page(client: Client, **conditions: Any) -> int:
    return len(client.threads.search(limit=PAGE, **conditions).threads)


def against_plain(scene: Scene, client: Client) -> Iterator[Asked]:
    plain, threads = scene.plain, scene.threads
    middle = threads // 2
    yield Asked(f"newest {PAGE}", lambda: page(client), plain.newest, TWICE)
    wanted: list[tuple[str, dict[str, Any]]] = [("no hit", {"of_1": -1})]
    wanted += [(f"{hits:,} hits", {f"of_{hits}": middle // hits}) for hits in HITS]
    wanted.append((f"{threads:,} hits", {"all": True}))
    for name, metadata in wanted:
        yield Asked(
            f"by metadata, {name}",
            lambda metadata=metadata: page(client, metadata=metadata),
            lambda metadata=metadata: plain.found(metadata, None),
            THREE_TIMES,
        )
    for status in ("idle", "interrupted", "error"):
        yield Asked(
            f"by status {status}",
            lambda status=status: page(client, status=status),
            lambda status=status: plain.found(None, status),
            THREE_TIMES,
        )
    for name, metadata in [wanted[3], wanted[4]]:
        yield Asked(
            f"interrupted, by metadata, {name}",
            lambda metadata=metadata: page(client, status="interrupted", metadata=metadata),
            lambda metadata=metadata: plain.found(metadata, "interrupted"),
            THREE_TIMES,
        )
    for name, metadata in [wanted[2], wanted[4]]:
        yield Asked(
            f"count by metadata, {name}",
            lambda metadata=metadata: client.threads.count(metadata=metadata),
            lambda metadata=metadata: plain.counted(metadata),
            TWICE,
        )
    words = f"conversation {middle} "
    yield Asked(
        "by a part of one title",
        lambda: page(client, q=words),
        lambda: plain.titled(words),
        THREE_TIMES,
    )


def by_values(scene: Scene) -> Iterator[Asked]:
    middle = scene.threads // 2
    wanted = [("no hit", {"of_1": -1})]
    wanted += [(f"{hits:,} hits", {f"of_{hits}": middle // hits}) for hits in HITS]
    for name, values in wanted:
        body = {"values": values, "limit": PAGE, "select": ["thread_id"]}
        yield Asked(
            f"by values, {name} / by metadata",
            lambda body=body: len(wire_page(scene, body)),
            lambda values=values: scene.plain.found(values, None),
            THREE_TIMES,
        )


def against_created(client: Client) -> Iterator[Asked]:
    for sort in SORTS:
        for order in ORDERS:
            yield Asked(
                f"page by {sort} {order} / by created",
                lambda sort=sort, order=order: page(client, sort=sort, order=order),
                lambda: page(client),
                TWICE,
            )


def against_few(client: Client, few_client: Client, few: int) -> Iterator[Asked]:
    for sort in SORTS:
        yield Asked(
            f"page by {sort} / of {few:,} threads",
            lambda sort=sort: page(client, sort=sort),
            lambda sort=sort: page(few_client, sort=sort),
            HALF_MORE,
        )


def far_pages(scene: Scene, client: Client) -> Iterator[Asked]:
    """Near the end: by an offset of the Agent Server wire, and by a cursor."""
    last = scene.threads - PAGE

    def at(offset: int) -> int:
        body = {"limit": PAGE, "offset": offset, "select": ["thread_id"]}
        return len(wire_page(scene, body))

    yield Asked(f"offset {last:,} / first page", lambda: at(last), lambda: at(0), TEN_TIMES)
    walked = client.threads.search(sort="thread_id", limit=1_000)
    while True:
        cursor = walked.next_cursor
        walked = client.threads.search(sort="thread_id", limit=1_000, cursor=cursor)
        if walked.next_cursor is None:
            break
    yield Asked(
        "cursor to the last 1,000 / first page",
        lambda: page(client, sort="thread_id", cursor=cursor),
        lambda: page(client, sort="thread_id"),
        HALF_MORE,
    )


def wire_page(scene: Scene, body: dict[str, Any]) -> list[Any]:
    found: list[Any] = post_json(scene.server.url, WIRE_PAGE, body, key=scene.key).json()
    return found


def puts(scene: Scene, rounds: int, number: int) -> Row:
    """A put of a tenant with many threads against one of a tenant without any."""
    sides = {OURS: (scene.key, checkpoint), THEIRS: (scene.none_key, checkpoint)}
    found = timed_puts(scene, sides, "new", rounds, number)
    measure = f"{scene.engine}, put with {scene.threads:,} threads / with none, p50"
    return row(measure, *found, millis, EVEN)


def scalar_puts(scene: Scene, rounds: int, number: int) -> Row:
    """A put with a short value that searches look at, new in each step, against one without."""
    sides = {OURS: (scene.key, counting), THEIRS: (scene.key, checkpoint)}
    found = timed_puts(scene, sides, "counting", rounds, number)
    measure = f"{scene.engine}, put with a scalar channel that changes / without, p50"
    return row(measure, *found, millis, A_SEVENTH_MORE)


Step = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def counting(step: int) -> Step:
    made, metadata, new = checkpoint(step)
    made["channel_values"]["count"] = step
    made["channel_versions"]["count"] = new["count"] = new[next(iter(new))]
    return made, metadata, new


def timed_puts(
    scene: Scene,
    sides: dict[str, tuple[str, Callable[[int], Step]]],
    thread: str,
    rounds: int,
    number: int,
) -> tuple[float, float]:
    """Medians of both sides, each on a thread of its own."""
    medians: dict[str, list[float]] = {side: [] for side in SIDES}
    savers = {side: ThreadkeepSaver(scene.server.url, api_key=sides[side][0]) for side in SIDES}
    wheres: dict[str, Any] = {side: config(f"{thread} {side}") for side in SIDES}
    step = 0
    for side in in_turns(SIDES, rounds + 1):
        times = []
        for _ in range(number):
            made = sides[side][1](step)
            begun = time.perf_counter()
            wheres[side] = savers[side].put(wheres[side], *made)
            times.append(time.perf_counter() - begun)
            step += 1
        medians[side].append(statistics.median(times))
    for saver in savers.values():
        saver.close()
    ours, theirs = (statistics.median(medians[side][1:]) for side in SIDES)
    return ours, theirs


def disk(scene: Scene) -> Row:
    """What the row of a thread, its title and its metadata take with all indexes."""
    scene.vacuum()
    total = "pg_total_relation_size('threads') + pg_total_relation_size('thread_details')"
    ((taken, threads),) = scene.place.query(f"select {total}, (select count(*) from threads)")
    measure = f"{scene.engine}, disk of a thread without its checkpoints / {DISK_BYTES} bytes"
    return row(measure, float(taken) / threads, DISK_BYTES, size, Goal(at_most=1.0))


def encrypted(
    field: Field, engine: str, threads: int, checkpoints: int, rounds: int, number: int
) -> Iterator[Row]:
    """Lists by status and time of a tenant whose content is encrypted, against one without."""
    master_key = base64.b64encode(secrets.token_bytes(32)).decode()
    stages = [
        Stage(field, engine, threads, checkpoints, environment)
        for environment in ({"THREADKEEP_MASTER_KEY": master_key}, None)
    ]
    try:
        sealed, plain = (Client(it.server.url, api_key=it.key) for it in stages)
        with sealed, plain:
            settle(sealed, plain)
            for stage in stages:
                stage.vacuum()
            for name, asked in [
                *((f"page by {sort}", {"sort": sort}) for sort in SORTS),
                *((f"by status {it}", {"status": it}) for it in ("idle", "interrupted", "error")),
            ]:
                calls = Asked(
                    f"{name}, encrypted / plain",
                    lambda asked=asked: page(sealed, **asked),
                    lambda asked=asked: page(plain, **asked),
                    A_TENTH_MORE,
                )
                yield measured(stages[0], calls, rounds, number)
    finally:
        for stage in stages:
            stage.close()


def measured(stage: Stage, asked: Asked, rounds: int, number: int) -> Row:
    found = timed(asked, rounds, max(5, number // 10))
    measure = f"{stage.engine}, {stage.threads:,} threads, {asked.name}, p50"
    return row(measure, *found, millis, asked.goal)


def timed(asked: Asked, rounds: int, number: int) -> tuple[float, float]:
    """Medians of our call and the other one; both find as many rows."""
    medians: dict[str, list[float]] = {side: [] for side in SIDES}
    for counted_round, side in enumerate(in_turns(SIDES, rounds + 1)):
        call = asked.ours if side == OURS else asked.theirs
        times, found = [], set()
        for _ in range(number):
            begun = time.perf_counter()
            found.add(call())
            times.append(time.perf_counter() - begun)
        assert found == {asked.theirs()}, (asked.name, found)
        # The first round of each side warms it up and is not counted.
        if counted_round >= len(SIDES):
            medians[side].append(statistics.median(times))
    ours, theirs = (statistics.median(medians[side]) for side in SIDES)
    return ours, theirs
