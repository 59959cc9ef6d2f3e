"""Measures the recall of vector searches over many vectors in many namespaces.

Under some thousand candidates every search is exact; above, PostgreSQL asks an index. Pages are full
either way, also where a filter leaves what is far from the question.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from heapq import nlargest
from typing import TypeAlias

import pytest
from langgraph.store.base import PutOp
from threadkeep.langgraph import ThreadkeepStore

from support import settings
from support.clusters import DIMS, Clusters, cosine, unit
from support.server import Server
from support.waiting import wait_until

NAMESPACES = 500
QUERIES = 12
TOP = 10
PUTS_AT_ONCE = 500
# Into an index, on a busy core.
VECTORS_PER_SECOND = 100
ROUNDING = 1e-6

Vector: TypeAlias = "array[float]"


class Corpus:
    """What is stored, by its number: everything about an item follows from that."""

    def __init__(self, count: int) -> None:
        self.clusters = Clusters(7)
        self.vectors = [unit(self.clusters.vector()) for _ in range(count)]
        self.asked: dict[str, Vector] = {}
        step = max(1, count // QUERIES)
        self.targets = list(range(0, count, step))[:QUERIES]
        for target in self.targets:
            self.asked[f"near {target}"] = unit(self.clusters.near(self.vectors[target]))

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [list(self._of(text)) for text in texts]

    def _of(self, text: str) -> Vector:
        return self.asked[text] if text in self.asked else self.vectors[int(text)]

    def value(self, at: int) -> dict[str, object]:
        # Far: the half of the items that is farthest from the first question.
        return {"text": str(at), "rare": at % 100 == 0, "half": at % 2 == 0, "far": at in self.far}

    def mark_far(self, question: str) -> None:
        scores = {at: cosine(self.asked[question], it) for at, it in enumerate(self.vectors)}
        self.far = frozenset(sorted(scores, key=scores.__getitem__)[: len(scores) * 95 // 100])

    def score(self, question: str, at: int) -> float:
        return cosine(self.asked[question], self.vectors[at])

    def best(self, question: str, matches: Callable[[int], bool], count: int) -> list[int]:
        """The truth."""
        asked = self.asked[question]
        candidates = (at for at in range(len(self.vectors)) if matches(at))
        return nlargest(count, candidates, key=lambda at: cosine(asked, self.vectors[at]))


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    made = Corpus(settings.VECTORS)
    made.mark_far(f"near {made.targets[0]}")
    return made


@pytest.fixture(scope="module")
def store(server: Server, corpus: Corpus) -> Iterator[ThreadkeepStore]:
    index = {"dims": DIMS, "embed": corpus.embed, "fields": ["text"], "model": "clusters"}
    with ThreadkeepStore(server.url, api_key=server.new_key(), index=index) as made:
        for start in range(0, len(corpus.vectors), PUTS_AT_ONCE):
            numbers = range(start, min(start + PUTS_AT_ONCE, len(corpus.vectors)))
            made.batch(
                [PutOp((f"ns{at % NAMESPACES}",), str(at), corpus.value(at)) for at in numbers]
            )
        yield made


@pytest.fixture(scope="module")
def indexed(server: Server, store: ThreadkeepStore, corpus: Corpus) -> None:
    """On PostgreSQL the first large search begins the index; it is exact until it is there."""
    question = f"near {corpus.targets[0]}"
    first = [item.key for item in store.search((), query=question, limit=TOP)]
    assert first == [str(at) for at in corpus.best(question, lambda _: True, TOP)]
    if server.place.databases:
        valid = (
            "select 1 from pg_index x join pg_class c on c.oid = x.indexrelid"
            " where x.indisvalid and c.relname like 'item_vectors_cosine_384_%'"
        )
        # Beyond `maintenance_work_mem` PostgreSQL takes minutes.
        seconds = settings.PATIENCE_SECONDS + len(corpus.vectors) / VECTORS_PER_SECOND
        wait_until(lambda: server.place.query(valid), "the index of the vectors", seconds)


SCOPES: dict[str, tuple[dict[str, object] | None, Callable[[Corpus, int], bool]]] = {
    "everything": (None, lambda _, at: True),
    "half": ({"half": True}, lambda _, at: at % 2 == 0),
    "rare": ({"rare": True}, lambda _, at: at % 100 == 0),
    "far": ({"far": True}, lambda corpus, at: at in corpus.far),
}


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("name", SCOPES)
def test_recall_is_high_and_pages_are_full(
    store: ThreadkeepStore, corpus: Corpus, name: str
) -> None:
    conditions, matches = SCOPES[name]
    found_of_best = 0
    for question in corpus.asked:
        worst = corpus.best(question, lambda at: matches(corpus, at), TOP)[-1]
        enough = corpus.score(question, worst) - ROUNDING
        pages = [
            store.search((), query=question, filter=conditions, limit=TOP, offset=at)
            for at in (0, TOP, 5 * TOP)
        ]
        assert [len(page) for page in pages] == [TOP] * 3
        for item in (item for page in pages for item in page):
            assert item.score is not None and matches(corpus, int(item.key))
        # Some vectors are the same, so that it is the scores that say who is among the best.
        found_of_best += sum(corpus.score(question, int(it.key)) >= enough for it in pages[0])
        scores = [item.score for item in pages[0]]
        assert scores == sorted(scores, reverse=True)
    recall = found_of_best / (TOP * len(corpus.asked))
    print(f"recall at {TOP}, {name}: {recall:.3f}")
    assert recall >= 0.95


@pytest.mark.usefixtures("indexed")
def test_a_small_namespace_is_searched_exactly(store: ThreadkeepStore, corpus: Corpus) -> None:
    for target, question in zip(corpus.targets, corpus.asked, strict=True):
        place = target % NAMESPACES
        best = corpus.best(question, lambda at, place=place: at % NAMESPACES == place, 2 * TOP)
        found = [
            item.key
            for offset in (0, TOP)
            for item in store.search((f"ns{place}",), query=question, limit=TOP, offset=offset)
        ]
        assert found == [str(at) for at in best]


@pytest.mark.usefixtures("indexed")
def test_the_index_is_asked_and_others_are_not_found(
    server: Server, store: ThreadkeepStore, corpus: Corpus
) -> None:
    """The index is of all tenants: what another has put beside the question stays its own."""
    index = {"dims": DIMS, "embed": corpus.embed, "fields": ["text"], "model": "clusters"}
    question = next(iter(corpus.asked))
    with ThreadkeepStore(server.url, api_key=server.new_key(), index=index) as other:
        other.batch([PutOp(("ns0",), str(at), corpus.value(at)) for at in corpus.targets])
        found = other.search((), query=question, limit=100)
        assert {item.key for item in found} == {str(at) for at in corpus.targets}
    assert len(store.search((), query=question, limit=100)) == 100
    if server.place.databases:
        asked = (
            "select sum(idx_scan) from pg_stat_user_indexes"
            " where indexrelname like 'item_vectors_cosine_384_%'"
        )
        wait_until(lambda: server.place.query(asked)[0][0] > 0, "a look into the index")
