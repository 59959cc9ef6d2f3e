"""A PostgreSQL without pgvector: everything works but searches by meaning, which say what is missing."""

from collections.abc import Iterator

import pytest
from langgraph.store.base import PutOp
from threadkeep.errors import InvalidError
from threadkeep.langgraph import ThreadkeepStore

from support import settings
from support.hash_embedding import DIMS, embed
from support.postgres import Postgres
from support.server import Place, Server


@pytest.fixture(scope="module")
def plain_server() -> Iterator[Server]:
    if settings.PG_PLAIN_BIN is None:
        pytest.skip("no PostgreSQL without pgvector is installed")
    postgres = Postgres(settings.PG_PLAIN_BIN)
    try:
        postgres.start()
        place = Place(postgres)
        server = Server(place)
        try:
            yield server.start()
        finally:
            server.kill()
            place.remove()
    finally:
        postgres.remove()


def test_only_searches_by_meaning_need_it(plain_server: Server) -> None:
    index = {"dims": DIMS, "embed": embed, "fields": ["text"]}
    with ThreadkeepStore(plain_server.url, api_key=plain_server.new_key(), index=index) as store:
        # Vectors are kept for the day on which it is there.
        store.batch([PutOp(("n",), f"k{at}", {"text": f"w{at}", "n": at}) for at in range(20)])
        store.put(("n",), "k3", {"text": "again", "n": 3})
        store.delete(("n",), "k4")
        assert len(store.search(("n",), limit=100)) == 19
        assert [item.key for item in store.search(("n",), filter={"n": {"$gt": 18}})] == ["k19"]
        assert plain_server.place.query("select count(*) from item_vectors") == [(19,)]
        with pytest.raises(InvalidError, match="search_needs_pgvector") as error:
            store.search(("n",), query="again")
        assert error.value.field == "ops[0].query_vector"
        assert "create extension vector" in str(error.value)
