"""Random operations: after every step the store answers as InMemoryStore does.

Left out, because the in-memory store is wrong there: `created_at` that a put resets and namespaces that
a read makes (compared by content instead), comparisons of other things than numbers and across types
(it raises, or takes True for 1), and fields that are absent and compared with null.
"""

import asyncio
import contextlib
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from threadkeep.langgraph import ThreadkeepStore

LABELS = ["a", "ab", "b", "*", "%", "a:b", "ü ", "_"]
KEYS = ["", "k", "K", "/a b.md", "/ü%2F..", "nul\0", "lone\ud800", "a.b"]
ANY_LABEL = st.sampled_from(LABELS)
NAMESPACES = st.lists(ANY_LABEL, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(ANY_LABEL, max_size=2).map(tuple)
NUMBERS = st.one_of(
    st.integers(-3, 3), st.sampled_from([2.0, 0.5, 2**70, -1e300, 10, 9]), st.integers()
)
TEXTS = st.sampled_from(["", "2", "x", "é", "\0", "\ud800", "long " * 100])
LEAVES = st.one_of(NUMBERS, TEXTS, st.none(), st.binary(max_size=5))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["x", "\0", "$threadkeep:bytes", "$$threadkeep:x"]), inner, max_size=2
        ),
    ),
    max_leaves=6,
)
# "n" is always a number, so that the reference can compare it.
DOCUMENTS = st.builds(
    lambda fields, n: {**fields, "n": n},
    st.dictionaries(st.sampled_from(["t", "m", "x.y", "list"]), VALUES, max_size=3),
    st.integers(-3, 12),
)
FILTERS = st.one_of(
    st.none(),
    st.builds(lambda n: {"n": n}, st.integers(-3, 12)),
    st.builds(
        lambda op, n: {"n": {op: n}},
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]),
        st.integers(-3, 12),
    ),
    st.builds(lambda a, b: {"n": {"$gte": a, "$lt": b}}, st.integers(-3, 9), st.integers(0, 12)),
    st.builds(lambda t, n: {"t": t, "n": {"$gt": n}}, TEXTS, st.integers(-3, 9)),
    st.builds(lambda value: {"list": value}, st.lists(NUMBERS, max_size=3)),
)
ANY_KEY = st.sampled_from(KEYS)
# By hand, because `builds` makes up what has a default.
PUTS = st.tuples(NAMESPACES, ANY_KEY, st.one_of(DOCUMENTS, st.none())).map(lambda it: PutOp(*it))
GETS = st.tuples(NAMESPACES, ANY_KEY).map(lambda it: GetOp(*it))
SEARCHES = st.tuples(PREFIXES, FILTERS).map(lambda it: SearchOp(*it, limit=1000))
CONDITIONS = st.lists(
    st.builds(
        MatchCondition,
        st.sampled_from(["prefix", "suffix"]),
        st.lists(ANY_LABEL, min_size=1, max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)
LISTS = st.builds(
    ListNamespacesOp, CONDITIONS, st.sampled_from([None, 1, 2, 3]), st.just(1000), st.just(0)
)
BATCHES = st.lists(st.one_of(PUTS, PUTS, GETS, SEARCHES, LISTS), min_size=1, max_size=8)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(BATCHES, min_size=1, max_size=6), st.booleans())
def test_every_answer_is_that_of_the_reference(
    store: ThreadkeepStore, batches: list[list[Op]], in_a_loop: bool
) -> None:
    empty(store)
    model = InMemoryStore()
    for batch in batches:
        ours = asyncio.run(store.abatch(batch)) if in_a_loop else store.batch(batch)
        theirs = answers_of(model, batch)
        for op, mine, reference in zip(batch, ours, theirs, strict=True):
            assert comparable(op, mine) == comparable(op, reference), op
    everything = SearchOp((), None, 1000)
    pages = [store.search((), limit=3, offset=at) for at in range(0, 60, 3)]
    paged = [item for page in pages for item in page]
    assert comparable(everything, paged) == comparable(everything, model.batch([everything])[0])
    assert [place(item) for item in store.scan((), page_items=4)] == sorted(map(place, paged))


def comparable(op: Op, result: Any) -> Any:
    """What can be the same in both: no times, and searches without the order, which is ours."""
    if isinstance(op, SearchOp):
        return sorted((place(item), repr(sorted_out(item.value))) for item in result)
    if isinstance(op, GetOp) and result is not None:
        assert isinstance(result, Item)
        return place(result), repr(sorted_out(result.value))
    if isinstance(op, ListNamespacesOp):
        return list(result)
    return result


def place(item: Item) -> tuple[tuple[str, ...], str]:
    return tuple(item.namespace), item.key


def sorted_out(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((key, sorted_out(inner)) for key, inner in value.items())
    return [sorted_out(inner) for inner in value] if isinstance(value, list) else value


def answers_of(model: InMemoryStore, batch: list[Op]) -> list[Any]:
    """As one batch: reads, then puts. A get makes a namespace there, so gets come after the other reads."""
    answers: list[Any] = [None] * len(batch)
    for kinds in ((SearchOp, ListNamespacesOp), (GetOp,), (PutOp,)):
        chosen = [at for at, op in enumerate(batch) if isinstance(op, kinds)]
        for at, answer in zip(chosen, model.batch([batch[at] for at in chosen]), strict=True):
            answers[at] = answer
        forget_phantoms(model)
    return answers


def forget_phantoms(model: InMemoryStore) -> None:
    for namespace in [name for name, items in model._data.items() if not items]:
        with contextlib.suppress(KeyError):
            del model._data[namespace]


def empty(store: ThreadkeepStore) -> None:
    store.batch([PutOp(item.namespace, item.key, None) for item in store.scan((), values=False)])
