"""Searches by meaning: threadkeep over HTTP and PostgresStore, on one PostgreSQL with fsync on.

Both embed with the same function, whose time is nothing; both have an HNSW index with its usual
settings. The items lie in 500 namespaces.

    python bench/store_vectors.py [vectors]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from sides import Postgres

from threadkeep.langgraph import ThreadkeepStore

from support import settings  # isort: skip
from support.clusters import DIMS, Clusters, cosine, unit  # isort: skip
from support.server import Place, Server  # isort: skip

NAMESPACES = 500
PUTS_AT_ONCE = 100
QUERIES = 40
TOP = 10
Search = Callable[[Any, str], list[Any]]

SEARCHES: dict[str, Search] = {
    "everything": lambda store, query: store.search((), query=query, limit=TOP),
    "one namespace": lambda store, query: store.search(("ns7",), query=query, limit=TOP),
    "filter, 1 of 100": lambda store, query: store.search(
        (), query=query, filter={"rare": True}, limit=TOP
    ),
    "filter, 1 of 2": lambda store, query: store.search(
        (), query=query, filter={"half": True}, limit=TOP
    ),
    "page 6": lambda store, query: store.search((), query=query, limit=TOP, offset=5 * TOP),
}


class Corpus:
    def __init__(self, count: int) -> None:
        clusters = Clusters(11)
        self.vectors = [unit(clusters.vector()) for _ in range(count)]
        targets = range(0, count, max(1, count // QUERIES))
        self.asked = {f"near {at}": unit(clusters.near(self.vectors[at])) for at in targets}

    def embed(self, texts: list[str]) -> list[list[float]]:
        of = (self.asked.get(text) or self.vectors[int(text)] for text in texts)
        return [list(vector) for vector in of]

    def best(self, query: str, matches: Callable[[int], bool]) -> set[str]:
        asked = self.asked[query]
        found = (at for at in range(len(self.vectors)) if matches(at))
        ranked = sorted(found, key=lambda at: cosine(asked, self.vectors[at]), reverse=True)
        return {str(at) for at in ranked[:TOP]}


def fill(store: Any, count: int) -> float:
    """Items per second."""
    begun = time.perf_counter()
    for start in range(0, count, PUTS_AT_ONCE):
        store.batch(
            [
                PutOp(
                    (f"ns{at % NAMESPACES}",),
                    str(at),
                    {"text": str(at), "rare": at % 100 == 0, "half": at % 2 == 0},
                )
                for at in range(start, min(start + PUTS_AT_ONCE, count))
            ]
        )
    return count / (time.perf_counter() - begun)


def median_millis(store: Any, search: Search, queries: Sequence[str]) -> tuple[float, float]:
    """The median, and how many hits a search had on average."""
    times, hits = [], 0
    for query in queries:
        begun = time.perf_counter()
        hits += len(search(store, query))
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e3, hits / len(queries)


def wait_for_index(place: Place, store: ThreadkeepStore, query: str) -> float:
    begun = time.perf_counter()
    valid = (
        "select 1 from pg_index x join pg_class c on c.oid = x.indexrelid"
        " where x.indisvalid and c.relname like 'item_vectors_cosine%'"
    )
    store.search((), query=query)
    while not place.query(valid):
        time.sleep(0.2)
    return time.perf_counter() - begun


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    corpus = Corpus(count)
    queries = list(corpus.asked)
    assert settings.PG_BIN is not None, "THREADKEEP_TEST_PG_BIN must name a folder with postgres"
    postgres = Postgres(Path(settings.PG_BIN), fsync=True)
    postgres.start()
    place = Place(postgres)
    server = Server(place)
    index: Any = {"dims": DIMS, "embed": corpus.embed, "fields": ["text"]}
    try:
        server.start()
        name = postgres.create()
        with (
            ThreadkeepStore(server.url, api_key=server.new_key(), index=index) as ours,
            PostgresStore.from_conn_string(postgres.url(name), index=index) as theirs,
        ):
            theirs.setup()
            sides: dict[str, Any] = {"threadkeep": ours, "PostgresStore": theirs}
            print(f"{count} vectors of {DIMS} dimensions\n\n| measure | {' | '.join(sides)} |")
            print("|---|---|---|")
            speeds = [fill(store, count) for store in sides.values()]
            print("| items stored per second |", " | ".join(f"{it:.0f}" for it in speeds), "|")
            if count > 5_000:
                seconds = wait_for_index(place, ours, queries[0])
                print(f"| index built in the background, s | {seconds:.1f} | while storing |")
            for what, search in SEARCHES.items():
                found = [median_millis(store, search, queries) for store in sides.values()]
                cells = (f"{millis:.1f} ms, {hits:.1f} hits" for millis, hits in found)
                print(f"| {what} |", " | ".join(cells), "|")
            recalls = []
            for store in sides.values():
                found_of_best = sum(
                    len(
                        corpus.best(query, lambda _: True)
                        & {item.key for item in SEARCHES["everything"](store, query)}
                    )
                    for query in queries[:10]
                )
                recalls.append(found_of_best / (TOP * 10))
            print("| recall at 10, everything |", " | ".join(f"{it:.3f}" for it in recalls), "|")
    finally:
        server.kill()
        place.remove()
        postgres.remove()


if __name__ == "__main__":
    main()
