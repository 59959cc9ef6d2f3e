"""The published checkpointer suite, whole, over HTTP, on every engine.

The variant without pgvector exists only where such a PostgreSQL is installed (`make test` says which
one it found): a test that is not made, rather than one that is skipped.
"""

from collections.abc import Iterator

import pytest
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from support import settings
from support.postgres import Postgres
from support.published_suite import CASES, assert_all_cases_pass
from support.server import Place, Server


def test_the_capabilities_run_here_are_all_that_the_suite_knows() -> None:
    assert {capability.value for capability in ALL_CAPABILITIES} == set(CASES)
    assert sum(CASES.values()) == 81


@pytest.mark.parametrize("capability", CASES)
async def test_every_published_case_passes(server: Server, capability: str) -> None:
    await assert_all_cases_pass(server, capability)


@pytest.fixture(scope="module")
def server_without_pgvector() -> Iterator[Server]:
    assert settings.PG_PLAIN_BIN is not None
    postgres = Postgres(settings.PG_PLAIN_BIN)
    try:
        postgres.start()
        server = Server(Place(postgres))
        try:
            yield server.start()
        finally:
            server.kill()
            server.place.remove()
    finally:
        postgres.remove()


if settings.PG_PLAIN_BIN is not None:

    @pytest.mark.parametrize("capability", CASES)
    async def test_every_published_case_passes_on_a_postgres_without_pgvector(
        server_without_pgvector: Server, capability: str
    ) -> None:
        databases = server_without_pgvector.place.databases
        assert databases is not None
        known = databases.run("select 1 from pg_available_extensions where name = 'vector'")
        assert known == [], "this PostgreSQL has pgvector, so it would show nothing"
        await assert_all_cases_pass(server_without_pgvector, capability)
