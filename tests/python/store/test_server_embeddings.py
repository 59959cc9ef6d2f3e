"""Vectors that the server makes, with an endpoint on this machine."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from threadkeep.errors import InvalidError, UnavailableError
from threadkeep.langgraph import EMBED_ON_SERVER, ThreadkeepStore

from support.embeddings_endpoint import EmbeddingsEndpoint
from support.hash_embedding import DIMS, embed
from support.server import Server
from support.waiting import wait_until

SECRET = "the-secret-of-the-endpoint"
Start = Callable[..., Server]


@pytest.fixture
def endpoint() -> Iterator[EmbeddingsEndpoint]:
    made = EmbeddingsEndpoint()
    yield made
    made.stop()


@pytest.fixture
def with_endpoint(start_server: Start, endpoint: EmbeddingsEndpoint) -> Server:
    environment = {"THREADKEEP_EMBEDDINGS_KEY": SECRET}
    return start_server(options=endpoint.options(), environment=environment)


def open_store(server: Server, key: str, **more: Any) -> ThreadkeepStore:
    return ThreadkeepStore(server.url, api_key=key, index={"embed": EMBED_ON_SERVER, **more})


def scored(store: ThreadkeepStore, query: str) -> list[tuple[str, bool]]:
    return [(item.key, item.score is not None) for item in store.search((), query=query)]


def test_puts_are_found_by_what_they_mean(
    with_endpoint: Server, endpoint: EmbeddingsEndpoint
) -> None:
    with open_store(with_endpoint, with_endpoint.new_key(), fields=["text"]) as store:
        for key, text in (("tea", "green tea"), ("cat", "a cat sleeps"), ("dog", "a dog runs")):
            store.put(("n",), key, {"text": text})
        store.put(("n",), "none", {"text": "green tea"}, index=False)
        wait_until(
            lambda: [it[1] for it in scored(store, "tea")] == [True, True, True, False],
            "vectors of the items",
        )
        found = store.search(("n",), query="green tea", filter={"text": {"$ne": "x"}}, limit=2)
        assert found[0].key == "tea"
        assert found[0].score == pytest.approx(1.0, abs=1e-5)
        assert found[1].score is not None
        store.put(("n",), "cat", {"text": "black coffee"})
        wait_until(lambda: scored(store, "black coffee")[0] == ("cat", True), "the new vector")
        assert store.search(("n",), query="black coffee")[0].score == pytest.approx(1, abs=1e-5)
    assert endpoint.keys == {f"Bearer {SECRET}"}
    assert endpoint.models == {"hash"}
    assert SECRET not in with_endpoint.log.read_text()
    assert "green tea" not in with_endpoint.log.read_text()


def test_texts_are_those_of_the_reference(
    with_endpoint: Server, endpoint: EmbeddingsEndpoint
) -> None:
    value = {
        "title": "tea é \u2028",
        "parts": [{"text": "cat"}, {"text": "dog"}, {}],
        "number": 7,
        "real": 1.5,
        "yes": True,
        "nothing": None,
        "deep": {"z": {"b": "runs"}, "a": [1, 2.0, False, None, 'q"\\']},
    }
    paths = ["$", "title", "parts[*].text", "parts[-2].text", "number", "real", "yes", "nothing",
             "{title,deep.z.b}", "deep.*", "deep.a[0]", "parts[9].text", "absent", "*"]  # fmt: skip
    with open_store(with_endpoint, with_endpoint.new_key()) as store:
        for path in paths:
            asked: list[str] = []

            def counted(texts: list[str], asked: list[str] = asked) -> list[list[float]]:
                asked.extend(texts)
                return embed(texts)

            reference = InMemoryStore(index={"dims": DIMS, "embed": counted, "fields": [path]})
            reference.put(("n",), "k", value)
            endpoint.texts.clear()
            store.put(("n",), path, value, index=[path])
            # Behind it in the queue.
            store.put(("n",), "last", {"t": f"after {path}"}, index=["t"])
            wait_until(lambda path=path: f"after {path}" in endpoint.texts, "the next text")
            assert sorted(set(endpoint.texts) - {f"after {path}"}) == sorted(set(asked)), path


def test_an_endpoint_that_is_away_fails_no_put(
    with_endpoint: Server, endpoint: EmbeddingsEndpoint
) -> None:
    endpoint.status = 500
    with open_store(with_endpoint, with_endpoint.new_key()) as store:
        store.batch([PutOp(("n",), f"k{at}", {"text": f"word{at}"}) for at in range(100)])
        assert store.get(("n",), "k7").value == {"text": "word7"}
        with pytest.raises(UnavailableError):
            store.search(("n",), query="word7")
        endpoint.status = 200
        wait_until(
            lambda: (
                [item.score is not None for item in store.search((), query="x", limit=100)]
                == [True] * 100
            ),
            "vectors after the endpoint came back",
        )


def test_another_model_makes_them_again(start_server: Start, endpoint: EmbeddingsEndpoint) -> None:
    server = start_server(options=endpoint.options("first"))
    key = server.new_key()
    with open_store(server, key) as store:
        store.put(("n",), "k", {"text": "tea"})
        wait_until(lambda: scored(store, "x") == [("k", True)], "a vector")
    server.stop()
    server.options[server.options.index("first")] = "second"
    server.start()
    with open_store(server, key) as store:
        wait_until(lambda: scored(store, "x") == [("k", True)], "a vector of the other model")
    models = server.place.query("select distinct model from item_vectors")
    assert (models, endpoint.models) == ([("second",)], {"first", "second"})


def test_without_an_endpoint_it_is_said(server: Server, api_key: str) -> None:
    with open_store(server, api_key) as store:
        with pytest.raises(InvalidError, match="search_needs_embeddings") as error:
            store.put(("n",), "k", {"a": 1})
        assert error.value.field == "ops[0].index"
        with pytest.raises(InvalidError, match="search_needs_embeddings"):
            store.search(("n",), query="x")
        assert store.search(("n",)) == []
