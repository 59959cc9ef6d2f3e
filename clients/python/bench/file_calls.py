"""Files: ThreadkeepBackend against deepagents' StoreBackend over PostgresStore, blocking calls.

Each folder has files of 2 KB. Times are taken without anything in between, round trips and bytes
afterwards through a proxy that counts.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from deepagents.backends import StoreBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import create_file_data
from langgraph.store.base import Op, PutOp, Result
from langgraph.store.postgres import PostgresStore
from measure import Goal, Row, in_turns, millis, row, size
from sides import OURS, SIDES, THEIRS, Field
from wire import Wire

from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.http.connection import Connection
from threadkeep.http.transport import Answer, Request

FILE_BYTES = 2_048
FOLDERS = 50
KINDS = 100
"""Kinds of marks in the files: a search for one finds as many files less."""
UPLOADED = 100
NAMESPACE = "files"
FILLED_AT_ONCE = 500

APART = (
    "update store set updated_at = store.updated_at + apart.at * interval '1 microsecond'"
    " from (select prefix, key, row_number() over (order by key) as at from store) as apart"
    " where store.prefix = apart.prefix and store.key = apart.key"
)
"""Its pages are by time, and skip and repeat what has the same one, as a batch has."""

Call = Callable[[BackendProtocol], bool]
"""Says whether the answer is right."""


@dataclass
class Side:
    """One side's backend, and how often it asked."""

    backend: BackendProtocol
    round_trips: int = 0
    edits: dict[str, int] = field(default_factory=dict)


class CountedStore(PostgresStore):
    """Counts its calls; each is one statement or more."""

    side: Side

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.side.round_trips += 1
        return super().batch(ops)


class CountedConnection(Connection):
    """Counts its requests."""

    side: Side

    def probe(self, request: Request, *, is_write: bool = False) -> Answer:
        self.side.round_trips += 1
        return super().probe(request, is_write=is_write)


def namespace_of(count: int) -> tuple[str, str]:
    # None begins with another: the other side would list both.
    return (NAMESPACE, f"{count}-files")


def path(at: int) -> str:
    return f"/folder-{at % FOLDERS:02}/file-{at:05}.md"


def content(at: int) -> str:
    """2 KB of lines with a mark, and a line to edit."""
    words = random.Random(at)
    lines = [f"# File {at}", f"mark-{at % KINDS:03}", "edited 0 times"]
    while sum(map(len, lines)) + len(lines) < FILE_BYTES - 80:
        lines.append(" ".join(f"word{words.randrange(5_000)}" for _ in range(8)))
    text = "\n".join(lines) + "\n"
    return text + "." * (FILE_BYTES - len(text) - 1) + "\n"


@contextmanager
def opened(place: Field, side: str, count: int, wire: Wire | None = None) -> Iterator[Side]:
    namespace = namespace_of(count)
    if side == OURS:
        url = f"http://127.0.0.1:{wire.port}" if wire else place.server.url
        backend = ThreadkeepBackend(url, api_key=place.key, namespace=namespace)
        ours = backend.connection = CountedConnection(backend.connection.settings)
        ours.side = Side(backend)
        yield ours.side
        backend.close()
        return
    with CountedStore.from_conn_string(place.reference_url(wire)) as store:
        assert isinstance(store, CountedStore)
        store.side = Side(StoreBackend(namespace=lambda _: namespace, store=store))
        yield store.side


def fill(place: Field, side: str, count: int) -> None:
    with opened(place, side, count) as found:
        for start in range(0, count, FILLED_AT_ONCE):
            part = range(start, min(count, start + FILLED_AT_ONCE))
            if side == OURS:
                made = [(path(at), content(at).encode()) for at in part]
                assert all(it.error is None for it in found.backend.upload_files(made))
                continue
            # Its own upload puts one by one, which would take the rest of the day.
            store: Any = found.backend._store  # type: ignore[attr-defined]
            namespace = namespace_of(count)
            store.batch(
                [PutOp(namespace, path(at), dict(create_file_data(content(at)))) for at in part]
            )
    if side == THEIRS:
        place.databases.run(APART, place.reference)


def measures(count: int) -> dict[str, tuple[Callable[[int, Side], Call], Goal | None]]:
    """Each makes a call with all it needs, so that only the call is timed."""
    folder = range(0, count, FOLDERS)

    def ls(at: int, _: Side) -> Call:
        return lambda it: len(it.ls("/folder-00").entries or ()) == len(folder)

    def glob(at: int, _: Side) -> Call:
        expected = len(range(7, count, 10))
        return lambda it: len(it.glob("**/*7.md").matches or ()) == expected

    def grep(at: int, _: Side) -> Call:
        kind = at % KINDS
        expected = len(range(kind, count, KINDS))
        return lambda it: len(it.grep(f"mark-{kind:03}").matches or ()) == expected

    def read(at: int, _: Side) -> Call:
        name, held = path(at * 7_919 % count), content(at * 7_919 % count)
        first = held.split("\n")[0]

        def call(it: BackendProtocol) -> bool:
            found = it.read(name, 0, 100).file_data
            return found is not None and found["content"].startswith(first)

        return call

    def edit(at: int, side: Side) -> Call:
        name = path(at * 7_919 % count)
        times = side.edits.get(name, 0)
        side.edits[name] = times + 1
        old, new = f"edited {times} times", f"edited {times + 1} times"
        return lambda it: it.edit(name, old, new).occurrences == 1

    def upload(at: int, _: Side) -> Call:
        made = [(f"/new/{at}/{n}.md", content(n).encode()) for n in range(UPLOADED)]
        return lambda it: all(one.error is None for one in it.upload_files(made))

    largest = count >= 10_000
    return {
        "ls": (ls, Goal(at_most=1 / 50) if largest else None),
        "glob": (glob, Goal(at_most=1 / 50) if largest else None),
        "grep": (grep, Goal(at_most=1 / 100) if largest else None),
        "read": (read, Goal(at_most=1.0)),
        "edit": (edit, Goal(at_most=1.0)),
        f"upload of {UPLOADED}": (upload, Goal(at_most=1 / 3)),
    }


def calls(place: Field, *, counts: list[int], rounds: int, number: int) -> list[Row]:
    rows: list[Row] = []
    with PostgresStore.from_conn_string(place.reference_url()) as store:
        store.setup()
    for count in counts:
        for side in SIDES:
            fill(place, side, count)
        for name in (place.place.name, place.reference):
            assert name is not None
            place.databases.run("vacuum analyze", name)
        rows += of_count(place, count, rounds, number)
    return rows


def of_count(place: Field, count: int, rounds: int, number: int) -> list[Row]:
    rows: list[Row] = []
    edits: dict[str, dict[str, int]] = {side: {} for side in SIDES}
    for name, (measure, goal) in measures(count).items():
        times: dict[str, list[float]] = {side: [] for side in SIDES}
        # What reads everything takes long on the other side.
        share = max(3, number // 20) if name in ("ls", "glob", "grep") else max(5, number // 5)
        share = share if name.startswith(("ls", "glob", "grep", "read", "edit")) else 3
        for counted, side in enumerate(in_turns(SIDES, rounds + 1)):
            with opened(place, side, count) as found:
                found.edits = edits[side]
                took = [
                    timed(measure(counted * share + at, found), found.backend)
                    for at in range(share)
                ]
            # The first round of each side warms it up and is not counted.
            if counted >= len(SIDES):
                times[side].append(statistics.median(took))
        ours, theirs = (statistics.median(times[side]) for side in (OURS, THEIRS))
        what = f"{name}, {count:,} files"
        rows.append(row(f"{what}, p50", ours, theirs, millis, goal))
        rows += counted_rows(place, count, what, measure, edits)
    return rows


def counted_rows(
    place: Field,
    count: int,
    what: str,
    measure: Callable[[int, Side], Call],
    edits: dict[str, dict[str, int]],
) -> list[Row]:
    """Round trips and bytes of one call."""
    asked: dict[str, int] = {}
    moved: dict[str, int] = {}
    for side in SIDES:
        wire = place.wire(side)
        try:
            with opened(place, side, count, wire) as found:
                found.edits = edits[side]
                # Connecting and preparing are not counted.
                assert measure(1_000_000, found)(found.backend)
                before, found.round_trips = sum(wire.count()), 0
                assert measure(1_000_001, found)(found.backend)
                asked[side], moved[side] = found.round_trips, sum(wire.count()) - before
        finally:
            wire.close()
    return [
        row(f"{what}, round trips", asked[OURS], asked[THEIRS], lambda it: f"{it:.0f}"),
        row(f"{what}, bytes", moved[OURS], moved[THEIRS], size),
    ]


def timed(call: Call, backend: BackendProtocol) -> float:
    begun = time.perf_counter()
    right = call(backend)
    took = time.perf_counter() - begun
    assert right
    return took
