"""Searches of threads against a plain table of as many rows with jsonb and a GIN index.

The reference is what one would write without us: `threads (id, title, metadata, created)` in the
same PostgreSQL, asked by psycopg on one open connection.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg
from measure import Goal, Row, in_turns, millis, row
from psycopg.types.json import Jsonb
from sides import OURS, SIDES, THEIRS, Field

from threadkeep import AsyncClient, Client

PAGE = 20
TASKS = 32
THREE_TIMES, TWICE = Goal(at_most=3.0), Goal(at_most=2.0)
HITS = (1, 10, 1_000)
"""How many threads have a value of the field of this name."""

PLAIN = """
create table threads (id text primary key, title text, metadata jsonb not null,
    created timestamptz not null default clock_timestamp());
create index on threads using gin (metadata jsonb_path_ops);
create index on threads (created)
"""
FILL = "insert into threads (id, title, metadata) values (%s, %s, %s)"
FOUND = "select id, title, metadata, created from threads"
NEWEST = f"{FOUND} order by created desc limit {PAGE}"
BY_METADATA = f"{FOUND} where metadata @> %s order by created desc limit {PAGE}"
BY_TITLE = f"{FOUND} where position(%s in lower(title)) > 0 order by created desc limit {PAGE}"
COUNTED = "select count(*) from threads where metadata @> %s"


def metadata(at: int) -> dict[str, Any]:
    """Some 200 bytes, with fields of which so many threads share a value."""
    shared = {f"of_{hits}": at // hits for hits in HITS}
    return {**shared, "all": True, "customer": f"customer-{at % 5_000}", "tags": ["a", at % 7]}


def title(at: int) -> str:
    return f"Conversation {at} about {at % 977} things"


class Asked(NamedTuple):
    """A call of both sides; each answers how many rows it found."""

    name: str
    ours: Callable[[Client], int]
    theirs: Callable[[psycopg.Connection[Any]], int]
    goal: Goal


def by_metadata(name: str, wanted: dict[str, Any]) -> Asked:
    def ours(client: Client) -> int:
        return len(client.threads.search(metadata=wanted, limit=PAGE).threads)

    def theirs(plain: psycopg.Connection[Any]) -> int:
        return len(plain.execute(BY_METADATA, [Jsonb(wanted)]).fetchall())

    return Asked(name, ours, theirs, THREE_TIMES)


def counted(name: str, wanted: dict[str, Any]) -> Asked:
    def ours(client: Client) -> int:
        return client.threads.count(metadata=wanted)

    def theirs(plain: psycopg.Connection[Any]) -> int:
        (found,) = plain.execute(COUNTED, [Jsonb(wanted)]).fetchone() or (0,)
        return int(found)

    return Asked(name, ours, theirs, TWICE)


def asked(threads: int) -> list[Asked]:
    middle = threads // 2
    newest = Asked(
        f"newest {PAGE}",
        lambda client: len(client.threads.search(limit=PAGE).threads),
        lambda plain: len(plain.execute(NEWEST).fetchall()),
        TWICE,
    )
    words = f"conversation {middle} "
    by_title = Asked(
        "by a part of one title",
        lambda client: len(client.threads.search(q=words, limit=PAGE).threads),
        lambda plain: len(plain.execute(BY_TITLE, [words]).fetchall()),
        THREE_TIMES,
    )
    found = [
        by_metadata(f"by metadata, {hits:,} hits", {f"of_{hits}": middle // hits}) for hits in HITS
    ]
    return [
        newest,
        by_metadata("by metadata, no hit", {"of_1": -1}),
        *found,
        by_metadata(f"by metadata, {threads:,} hits", {"all": True}),
        counted("count, 10 hits", {"of_10": middle // 10}),
        counted(f"count, {threads:,} hits", {"all": True}),
        by_title,
    ]


async def fill(field: Field, threads: int) -> None:
    """As many threads on both sides, with the same titles and metadata."""
    async with AsyncClient(field.server.url, api_key=field.key) as client:

        async def some(task: int) -> None:
            for at in range(task, threads, TASKS):
                await client.threads.create(f"t-{at}", title=title(at), metadata=metadata(at))

        await asyncio.gather(*map(some, range(TASKS)))
    with psycopg.connect(field.reference_url(), autocommit=True) as plain:
        plain.execute(PLAIN)
        rows = [(f"t-{at}", title(at), Jsonb(metadata(at))) for at in range(threads)]
        with plain.cursor() as cursor, plain.transaction():
            cursor.executemany(FILL, rows)
    for name in (field.place.name, field.reference):
        assert name is not None
        field.databases.run("vacuum analyze", name)


def timed(call: Callable[[Any], int], side: Any) -> tuple[float, int]:
    begun = time.perf_counter()
    found = call(side)
    return time.perf_counter() - begun, found


async def searches(field: Field, *, threads: int, rounds: int, number: int) -> list[Row]:
    await fill(field, threads)
    share = max(5, number // 10)
    rows = []
    with (
        Client(field.server.url, api_key=field.key) as client,
        psycopg.connect(field.reference_url(), autocommit=True) as plain,
    ):
        for one in asked(threads):
            medians: dict[str, list[float]] = {side: [] for side in SIDES}
            for counted_round, side in enumerate(in_turns(SIDES, rounds + 1)):
                call, of = (one.ours, client) if side == OURS else (one.theirs, plain)
                times = [timed(call, of) for _ in range(share)]
                assert {found for _, found in times} == {one.theirs(plain)}, one.name
                # The first round of each side warms it up and is not counted.
                if counted_round >= len(SIDES):
                    medians[side].append(statistics.median(took for took, _ in times))
            ours, theirs = (statistics.median(medians[side]) for side in (OURS, THEIRS))
            measure = f"{threads:,} threads, {one.name}, p50"
            rows.append(row(measure, ours, theirs, millis, one.goal))
    return rows
