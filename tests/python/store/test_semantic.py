"""Searches by meaning through the store: as InMemoryStore with the same embedding, and better where it is wrong."""

import asyncio
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langgraph.store.base import GetOp, Item, PutOp, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from threadkeep.errors import InvalidError, UnserializableError
from threadkeep.langgraph import ThreadkeepStore

from support.hash_embedding import DIMS, embed
from support.postgres import Databases
from support.server import Server

WORDS = ["tea", "coffee", "green", "black", "cat", "dog", "sleeps", "runs"]
Place = tuple[tuple[str, ...], str]


class Counted(Embeddings):
    """Says what it was asked for."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(texts)
        return embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return embed([text])[0]


def open_store(
    server: Server, api_key: str, embedding: Any = embed, **more: Any
) -> ThreadkeepStore:
    index = {"dims": DIMS, "embed": embedding, **more}
    return ThreadkeepStore(server.url, api_key=api_key, index=index)


@pytest.fixture
def semantic(server: Server, api_key: str) -> Iterator[ThreadkeepStore]:
    with open_store(server, api_key, fields=["text"]) as made:
        yield made


def keys(items: Sequence[Item]) -> list[str]:
    return [item.key for item in items]


def test_the_nearest_come_first_and_the_rest_has_no_score(semantic: ThreadkeepStore) -> None:
    semantic.put(("a",), "tea", {"text": "green tea"})
    semantic.put(("a", "b"), "coffee", {"text": "black coffee"})
    semantic.put(("a",), "unindexed", {"text": "green tea"}, index=False)
    semantic.put(("a",), "no text", {"other": 1})
    semantic.put(("ab",), "elsewhere", {"text": "green tea"})
    found = semantic.search(("a",), query="green tea")
    assert keys(found) == ["tea", "coffee", "no text", "unindexed"]
    assert found[0].score == pytest.approx(1.0, abs=1e-6)
    assert found[1].score is not None and found[1].score < 0.99
    assert [item.score for item in found[2:]] == [None, None]
    assert keys(semantic.search(("a",), query="green tea", limit=1, offset=1)) == ["coffee"]
    assert keys(semantic.search(("a",), query="green tea", filter={"other": 1})) == ["no text"]
    assert keys(semantic.search(("a",), query="tea", exact=True, mode="vector"))[0] == "tea"
    assert [item.score for item in semantic.search(("a",))] == [None] * 4


def test_a_query_without_an_index_is_a_plain_listing(store: ThreadkeepStore) -> None:
    for key in ("a", "b"):
        store.put(("n",), key, {"text": key})
    found = store.search(("n",), query="a")
    assert (keys(found), [item.score for item in found]) == (["b", "a"], [None, None])
    with pytest.raises(InvalidError) as error:
        store.search(("n",), query="a", mode="vector")
    assert error.value.field == "mode"


def test_a_put_leaves_nothing_of_the_one_before(semantic: ThreadkeepStore) -> None:
    semantic.put(("n",), "k", {"text": "green tea", "more": "a cat"}, index=["text", "more"])
    semantic.put(("n",), "k", {"text": "a dog runs", "more": "a cat"}, index=["text"])
    assert semantic.search(("n",), query="green tea")[0].score < 0.9
    assert semantic.search(("n",), query="a cat")[0].score < 0.9
    semantic.put(("n",), "k", {"text": "a dog runs"}, index=False)
    assert semantic.search(("n",), query="a dog runs")[0].score is None


def test_paths_are_those_of_the_reference(server: Server, api_key: str) -> None:
    value = {
        "title": "tea",
        "parts": [{"text": "cat"}, {"text": "dog"}, {}],
        "number": 7,
        "nothing": None,
        "deep": {"a": {"b": "runs"}, "c": [1, 2.0, True]},
    }
    paths = ["$", "title", "parts[*].text", "parts[-2].text", "number", "nothing", "{title,number}",
             "deep.*", "deep.c[0]", "parts[9].text", "absent"]  # fmt: skip
    for path in paths:
        counted, theirs = Counted(), Counted()
        with open_store(server, api_key, counted, fields=[path]) as ours:
            ours.put(("n",), "k", value)
        reference = InMemoryStore(index={"dims": DIMS, "embed": theirs, "fields": [path]})
        reference.put(("n",), "k", value)
        expected = sorted(text for call in theirs.calls for text in call)
        assert sorted(text for call in counted.calls for text in call) == expected, path


def test_a_put_may_ask_for_the_whole_value(semantic: ThreadkeepStore) -> None:
    semantic.put(("n",), "k", {"b": "ü", "a": [1]}, index=["$"])
    whole = '{"a": [1], "b": "ü"}'
    assert semantic.search(("n",), query=whole)[0].score == pytest.approx(1.0, abs=1e-5)


def test_one_call_embeds_a_batch(server: Server, api_key: str) -> None:
    counted = Counted()
    with open_store(server, api_key, counted, fields=["text", "more"]) as store:
        puts = [
            PutOp(("n",), f"k{at}", {"text": f"tea {at}", "more": "the same"}) for at in range(5)
        ]
        store.batch([*puts, GetOp(("n",), "k0"), PutOp(("n",), "gone", None)])
        assert counted.calls == [["tea 0", "the same", "tea 1", "tea 2", "tea 3", "tea 4"]]
        counted.calls.clear()
        store.batch([GetOp(("n",), "k0"), SearchOp(("n",))])
        assert counted.calls == []


def test_async_functions_and_merged_calls(server: Server, api_key: str) -> None:
    calls: list[list[str]] = []

    async def slowly(texts: list[str]) -> list[list[float]]:
        calls.append(list(texts))
        await asyncio.sleep(0)
        if "poison" in texts:
            raise RuntimeError("the model says no")
        return embed(texts)

    async def run(store: ThreadkeepStore) -> None:
        await asyncio.gather(*(store.aput(("n",), f"k{at}", {"text": f"w{at}"}) for at in range(4)))
        assert calls == [["w0", "w1", "w2", "w3"]]
        found = await store.asearch(("n",), query="w2")
        assert found[0].key == "k2"
        outcomes = await asyncio.gather(
            store.aput(("n",), "good", {"text": "fine"}),
            store.aput(("n",), "bad", {"text": "poison"}),
            store.aget(("n",), "k0"),
            return_exceptions=True,
        )
        assert isinstance(outcomes[1], RuntimeError)
        assert isinstance(outcomes[2], Item)
        assert await store.aget(("n",), "good") is not None
        assert await store.aget(("n",), "bad") is None

    with open_store(server, api_key, slowly, fields=["text"]) as store:
        asyncio.run(run(store))
        # As the reference has it: there is nothing to call here.
        with pytest.raises(ValueError, match="async function"):
            store.search(("n",), query="w2")


def test_worker_threads_while_a_loop_runs(semantic: ThreadkeepStore) -> None:
    def work(at: int) -> str:
        semantic.put(("n", str(at)), "k", {"text": f"word{at}"})
        return semantic.search(("n",), query=f"word{at}", limit=1)[0].namespace[1]

    async def run() -> list[str]:
        with ThreadPoolExecutor(4) as pool:
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(pool, work, at) for at in range(12)))

    assert asyncio.run(run()) == [str(at) for at in range(12)]


@pytest.mark.parametrize(
    ("vector", "field"),
    [
        ([1.0] * (DIMS - 1), "index.dims"),
        ([], "index.dims"),
        ([math.nan] * DIMS, "ops[0].vectors[0].vector"),
        ([math.inf] * DIMS, "ops[0].vectors[0].vector"),
        ([1e300] * DIMS, "ops[0].vectors[0].vector"),
        (["x"] * DIMS, "index.embed"),
    ],
)
def test_wrong_vectors_are_refused(
    server: Server, api_key: str, vector: list[Any], field: str
) -> None:
    with open_store(server, api_key, lambda texts: [vector for _ in texts]) as store:
        with pytest.raises(InvalidError) as error:
            store.batch([PutOp(("n",), "k", {"a": 1}), PutOp(("n",), "second", {"a": 1}, False)])
        assert error.value.field == field
        assert store.search(("n",)) == []
        with pytest.raises(InvalidError):
            store.search(("n",), query="x")
    with (
        open_store(server, api_key, lambda _: []) as store,
        pytest.raises(InvalidError, match="0 vectors for 1 texts"),
    ):
        store.put(("n",), "k", {"a": 1})


def test_values_that_are_no_json_have_their_own_error(semantic: ThreadkeepStore) -> None:
    for wrong in (object(), {1, 2}, float("nan")):
        with pytest.raises(UnserializableError):
            semantic.put(("n",), "k", {"text": [wrong]})
    assert semantic.search(("n",)) == []


def test_other_dimensions_of_a_model_are_refused(server: Server, api_key: str) -> None:
    with open_store(server, api_key, model="m") as store:
        store.put(("n",), "k", {"a": 1})
    short = {"dims": 3, "embed": lambda texts: [[1.0, 2.0, 3.0] for _ in texts], "model": "m"}
    with ThreadkeepStore(server.url, api_key=api_key, index=short) as store:
        with pytest.raises(InvalidError, match=f'vectors of the model "m" have {DIMS}'):
            store.put(("n",), "k", {"a": 2})
        with pytest.raises(InvalidError, match="query_vector has 3 dimensions"):
            store.search(("n",), query="x")
        assert store.get(("n",), "k").value == {"a": 1}


@pytest.mark.parametrize(
    "wrong",
    [
        {"distance_type": "hamming"},
        {"fields": [1]},
        {"dims": 0},
        {"dims": True},
        {"embed": None},
        {"model": "a b"},
        {"model": ""},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidError) as error:
        ThreadkeepStore(index={"dims": 3, "embed": embed, **wrong})
    assert error.value.field.startswith("index")


@pytest.mark.parametrize("metric", ["cosine", "l2", "inner_product"])
def test_scores_are_those_of_the_postgres_store(
    server: Server, api_key: str, databases: Databases, metric: str
) -> None:
    name = databases.create()
    index = {"dims": DIMS, "embed": embed, "fields": ["text"], "distance_type": metric}
    try:
        with (
            ThreadkeepStore(server.url, api_key=api_key, index=index) as ours,
            PostgresStore.from_conn_string(databases.url(name), index=index) as theirs,
        ):
            theirs.setup()
            for store in (ours, theirs):
                for at, word in enumerate(WORDS):
                    store.put(("n",), str(at), {"text": f"{word} {WORDS[at // 2]} {at}"})
            mine, reference = (
                [(item.key, item.score) for item in store.search(("n",), query="green tea runs")]
                for store in (ours, theirs)
            )
        assert [key for key, _ in mine] == [key for key, _ in reference]
        for (_, a), (_, b) in zip(mine, reference, strict=True):
            assert a == pytest.approx(b, abs=1e-5)
    finally:
        databases.drop(name)


def test_second_pages_are_full_where_the_reference_runs_dry(
    server: Server, api_key: str, databases: Databases
) -> None:
    """Items with many vectors take the places of others among its candidates."""
    name = databases.create()
    index = {"dims": DIMS, "embed": embed, "fields": ["parts[*]"]}
    try:
        with (
            ThreadkeepStore(server.url, api_key=api_key, index=index) as ours,
            PostgresStore.from_conn_string(databases.url(name), index=index) as theirs,
        ):
            theirs.setup()
            for store in (ours, theirs):
                for at in range(3):
                    parts = [f"green tea {at} {part}" for part in range(40)]
                    store.put(("n",), f"long{at}", {"parts": parts})
                for at in range(30):
                    store.put(("n",), f"short{at}", {"parts": [f"coffee w{at}"]})
            pages = [
                [
                    len(store.search(("n",), query="green tea", limit=10, offset=at))
                    for at in (0, 10, 20)
                ]
                for store in (ours, theirs)
            ]
            everything = [
                item.key
                for at in range(0, 40, 10)
                for item in ours.search(("n",), query="green tea", limit=10, offset=at)
            ]
        assert pages[0] == [10, 10, 10]
        assert min(pages[1]) < 10, "the reference has been mended: say so in the facts"
        assert len(everything) == len(set(everything)) == 33
    finally:
        databases.drop(name)


TEXTS = st.lists(st.sampled_from(WORDS), min_size=0, max_size=4).map(" ".join)
# Texts of one item differ: the reference raises where two are the same.
DOCUMENTS = st.fixed_dictionaries(
    {"n": st.integers(0, 2)},
    optional={
        "text": TEXTS.map(lambda text: f"text {text}"),
        "parts": st.lists(TEXTS, max_size=3).map(
            lambda texts: [f"part{at} {text}" for at, text in enumerate(texts)]
        ),
        "more": st.one_of(st.integers(7, 9), st.none(), st.booleans(), TEXTS),
    },
)
NAMESPACES = st.sampled_from([("a",), ("a", "b"), ("ab",), ("c",)])
PUTS = st.tuples(
    NAMESPACES,
    st.sampled_from(["k1", "k2", "k3", "k4"]),
    st.one_of(DOCUMENTS, DOCUMENTS, DOCUMENTS, st.none()),
    # Not `$`: the reference looks for a field of that name when a put asks for it.
    st.sampled_from([None, None, False, ["more"], ["parts[0]", "n"]]),
).map(lambda it: PutOp(*it))
SEARCHES = st.tuples(
    st.sampled_from([(), ("a",), ("c",), ("zz",)]),
    st.sampled_from([None, {"n": 1}, {"n": {"$gte": 1}}]),
    st.just(100),
    st.just(0),
    st.one_of(TEXTS.filter(bool), st.none()),
).map(lambda it: SearchOp(*it))


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(st.lists(PUTS, max_size=5), SEARCHES), min_size=1, max_size=6))
def test_every_search_is_that_of_the_reference(
    server: Server, api_key: str, steps: list[tuple[list[PutOp], SearchOp]]
) -> None:
    index = {"dims": DIMS, "embed": embed, "fields": ["text", "parts[*]"]}
    with ThreadkeepStore(server.url, api_key=api_key, index=index) as ours:
        ours.batch([PutOp(it.namespace, it.key, None) for it in ours.scan((), values=False)])
        model = InMemoryStore(index=index)
        for puts, search in steps:
            ours.batch(puts)
            for put in puts:
                # It keeps the vectors of fields that a put no longer has.
                model._vectors[put.namespace].pop(put.key, None)
                model.batch([put])
            mine, theirs = ours.batch([search])[0], model.batch([search])[0]
            assert ranks(mine) == ranks(theirs)
            paged = [
                item
                for at in range(0, len(mine), 2)
                for item in ours.batch([search._replace(limit=2, offset=at)])[0]
            ]
            assert [place(item) for item in paged] == [place(item) for item in mine]


def ranks(found: Sequence[SearchItem]) -> list[tuple[float | None, list[Place]]]:
    """Scores in their order, and which items have them: of equal scores the order is free."""
    groups: list[tuple[float | None, list[Place]]] = []
    for item in found:
        score = None if item.score is None else round(item.score, 4)
        if not groups or not alike(groups[-1][0], score):
            groups.append((score, []))
        groups[-1][1].append(place(item))
    return [(score, sorted(places)) for score, places in groups]


def alike(a: float | None, b: float | None) -> bool:
    return a == b or (a is not None and b is not None and abs(a - b) < 2e-4)


def place(item: Item) -> Place:
    return tuple(item.namespace), item.key
