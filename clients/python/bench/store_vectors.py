"""Searches by meaning: ThreadkeepStore over HTTP and PostgresStore, blocking calls.

Both embed with the same function, whose time is nothing; both have an HNSW index with its usual
settings. The items lie in 500 namespaces.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from measure import Row, millis, per_second, row
from sides import OURS, THEIRS, Field
from support.clusters import DIMS, Clusters, cosine, unit
from support.server import Place
from support.waiting import wait_until

from threadkeep.langgraph import ThreadkeepStore

NAMESPACES = 500
PUTS_AT_ONCE = 100
QUERIES = 40
QUERIES_OF_RECALL = 10
TOP = 10
INDEXED_FROM = 5_001
"""Vectors from which on the server asks an index on PostgreSQL."""
INDEX_SECONDS_MAX = 1_800


@dataclass(frozen=True)
class Scope:
    """What is searched, and which of the numbered items are in it."""

    contains: Callable[[int], bool]
    namespace: tuple[str, ...] = ()
    filter: dict[str, Any] | None = None
    offset: int = 0

    def search(self, store: Any, query: str) -> list[Any]:
        return store.search(
            self.namespace, query=query, filter=self.filter, limit=TOP, offset=self.offset
        )


SCOPES = {
    "everything": Scope(lambda at: True),
    "one namespace": Scope(lambda at: at % NAMESPACES == 7, namespace=("ns7",)),
    "filter, 1 of 100": Scope(lambda at: at % 100 == 0, filter={"rare": True}),
    "filter, 1 of 2": Scope(lambda at: at % 2 == 0, filter={"half": True}),
    "page 6": Scope(lambda at: True, offset=5 * TOP),
}


def searches(field: Field, *, vectors: int) -> list[Row]:
    """Both sides hold the same; what threadkeep finds is counted and checked."""
    corpus = Corpus(vectors)
    index: Any = {"dims": DIMS, "embed": corpus.embed, "fields": ["text"]}
    with (
        ThreadkeepStore(field.server.url, api_key=field.key, index=index) as ours,
        PostgresStore.from_conn_string(field.reference_url(), index=index) as theirs,
    ):
        theirs.setup()
        sides: dict[str, Any] = {OURS: ours, THEIRS: theirs}
        took = {side: fill(store, vectors) for side, store in sides.items()}
        of = f"{vectors:,} vectors"
        speeds = [vectors / seconds for seconds in took.values()]
        rows = [row(f"items stored, {of} of {DIMS} dimensions", *speeds, per_second)]
        if vectors >= INDEXED_FROM:
            took[OURS] += wait_for_index(field.place, ours, next(iter(corpus.asked)))
            speeds = [vectors / seconds for seconds in took.values()]
            rows.append(row("the same, until the index is there", *speeds, per_second))
        for name, scope in SCOPES.items():
            found = {side: Found(store, scope, corpus) for side, store in sides.items()}
            found[OURS].check(scope, vectors)
            ratio = found[OURS].seconds / found[THEIRS].seconds
            cells = [found[side].shown() for side in (OURS, THEIRS)]
            rows.append(Row(f"search by meaning of {of}: {name}, p50", *cells, ratio))
        recalls = [corpus.recall(store) for store in sides.values()]
        rows.append(row(f"recall at {TOP} of {of}", *recalls, lambda share: f"{share:.3f}"))
        return rows


class Corpus:
    def __init__(self, count: int) -> None:
        clusters = Clusters(11)
        self.vectors = [unit(clusters.vector()) for _ in range(count)]
        targets = range(0, count, max(1, count // QUERIES))
        self.asked = {f"near {at}": unit(clusters.near(self.vectors[at])) for at in targets}
        asked = list(self.asked)[:QUERIES_OF_RECALL]
        self.recalled = {query: self.best(query) for query in asked}

    def embed(self, texts: list[str]) -> list[list[float]]:
        of = (self.asked.get(text) or self.vectors[int(text)] for text in texts)
        return [list(vector) for vector in of]

    def best(self, query: str) -> set[str]:
        """The keys of the true neighbours."""
        asked = self.asked[query]
        numbers = range(len(self.vectors))
        ranked = nlargest(TOP, numbers, key=lambda at: cosine(asked, self.vectors[at]))
        return {str(at) for at in ranked}

    def recall(self, store: Any) -> float:
        """The share of the true neighbours that a search of everything finds."""
        found_of_best = 0
        for query in self.recalled:
            found = {item.key for item in SCOPES["everything"].search(store, query)}
            found_of_best += len(self.recalled[query] & found)
        return found_of_best / (TOP * len(self.recalled))


def fill(store: Any, count: int) -> float:
    """How many seconds it took."""
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
    return time.perf_counter() - begun


class Found:
    """What the queries of the corpus find in a scope, and the median of their seconds."""

    def __init__(self, store: Any, scope: Scope, corpus: Corpus) -> None:
        times = []
        self.answers: list[list[Any]] = []
        for query in corpus.asked:
            begun = time.perf_counter()
            self.answers.append(scope.search(store, query))
            times.append(time.perf_counter() - begun)
        self.seconds = statistics.median(times)

    def shown(self) -> str:
        hits = sum(map(len, self.answers)) / len(self.answers)
        return f"{millis(self.seconds)}, {hits:.1f} hits"

    def check(self, scope: Scope, vectors: int) -> None:
        """Every page is full, and of the scope."""
        there = sum(map(scope.contains, range(vectors))) - scope.offset
        for answer in self.answers:
            assert len(answer) == min(TOP, there), (len(answer), there)
            assert all(scope.contains(int(item.key)) for item in answer)


def wait_for_index(place: Place, store: ThreadkeepStore, query: str) -> float:
    """How many seconds it took; a first large search asks for it."""
    begun = time.perf_counter()
    valid = (
        "select 1 from pg_index x join pg_class c on c.oid = x.indexrelid"
        " where x.indisvalid and c.relname like 'item_vectors_cosine%'"
    )
    store.search((), query=query)
    wait_until(lambda: place.query(valid), "the index of the vectors", INDEX_SECONDS_MAX)
    return time.perf_counter() - begun
