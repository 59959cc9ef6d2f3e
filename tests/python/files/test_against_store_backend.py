"""Random operations: every result, and every text, is that of deepagents' own backend.

The differences on purpose are in test_our_own_rules.py: paths of new files are canonical, an item that is no
file breaks nothing, and failures are results.
"""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from deepagents.backends import StoreBackend
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore
from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.deepagents import operations as backend_operations
from threadkeep.langgraph import ThreadkeepStore

from differential import settings
from files.operations import SEQUENCES, Operation, assert_alike, resolved, run

DOORS = {
    "alone": ["blocking"],
    "async": ["async"],
    "in turn with deepagents' own backend": ["blocking", "async", "store"],
}


@pytest.mark.parametrize("doors", DOORS.values(), ids=DOORS)
def test_every_result_is_that_of_the_store_backend(
    make_backend: Callable[..., ThreadkeepBackend],
    store: ThreadkeepStore,
    doors: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that short files grow as long ones do.
    monkeypatch.setattr(backend_operations, "APPEND_BYTES_MIN", 1)
    connection = make_backend(("all",)).connection

    @hypothesis_settings(
        max_examples=4 * settings.EXAMPLES,
        suppress_health_check=list(HealthCheck),
    )
    @given(SEQUENCES, st.data())
    def one_sequence(operations: list[Operation], data: Any) -> None:
        namespace = (f"u-{uuid.uuid4().hex[:12]}", "filesystem")
        ours = ThreadkeepBackend(namespace=namespace, connection=connection)
        over_store = StoreBackend(namespace=lambda _: namespace, store=store)
        theirs = StoreBackend(namespace=lambda _: namespace, store=InMemoryStore())
        for drawn in operations:
            operation = resolved(drawn, theirs)
            door = data.draw(st.sampled_from(doors), label="door")
            chosen = over_store if door == "store" else ours
            result = run(chosen, operation, is_async=door == "async")
            everything = operation._replace(arguments=(*operation.arguments[:-1], None))
            assert_alike(
                operation, result, run(theirs, operation), lambda it=everything: run(theirs, it)
            )

    one_sequence()
