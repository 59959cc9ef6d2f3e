"""RemoteGraph updates a thread as the graph itself does."""

from typing import Any

import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command

from agent_server.twins import DELTAS, OWN, STANDING, WIRE, alike, begun, config, go_on
from agent_server.wire import sdk
from support.server import Server


@pytest.fixture
def remote(server: Server, api_key: str) -> RemoteGraph:
    return RemoteGraph("agent", sync_client=sdk(server, api_key))


@pytest.mark.parametrize("node", ["__copy__", "__end__"])
@pytest.mark.parametrize("name", STANDING)
def test_what_it_copies_or_clears_is_what_the_graph_copies_or_clears(
    saver: Any, remote: RemoteGraph, name: str, node: str
) -> None:
    graph = STANDING[name](saver)
    begun(graph, saver)
    graph.update_state(config(OWN), None, as_node=node)
    made = remote.update_state(config(WIRE), None, as_node=node)
    assert made["configurable"]["thread_id"] == WIRE
    alike(graph, saver)
    assert newest(made) == newest(graph.get_state(config(WIRE)).config)
    assert newest(made) == newest(remote.get_state(config(WIRE)).config)
    go_on(graph, saver, {"log": ["again"]})


def test_an_old_checkpoint_that_it_finds_in_the_history_is_one_to_go_on_from(
    saver: Any, remote: RemoteGraph
) -> None:
    graph = STANDING["at its end"](saver)
    begun(graph, saver)
    found = {}
    for thread, side in ((OWN, graph), (WIRE, remote)):
        old = next(it for it in side.get_state_history(config(thread)) if it.next == ("b",))
        made = side.update_state(old.config, None, as_node="__copy__")
        found[thread] = side.get_state(made)
    assert found[OWN].values == found[WIRE].values
    assert found[OWN].next == found[WIRE].next == ("b",)
    alike(graph, saver)
    go_on(graph, saver, None)


@pytest.mark.parametrize("name", DELTAS)
def test_values_of_delta_channels_that_it_gives_are_what_the_graph_gives(
    saver: Any, remote: RemoteGraph, name: str
) -> None:
    graph = DELTAS[name](saver)
    begun(graph, saver)
    for side, thread in ((graph, OWN), (remote, WIRE)):
        made = side.update_state(config(thread), {"log": ["more"]})
        assert newest(made) == newest(graph.get_state(config(thread)).config)
    alike(graph, saver)
    if graph.get_state(config(WIRE)).next:
        go_on(graph, saver, Command(resume="ann") if "question" in name else None)


def newest(made: Any) -> str:
    return str(made["configurable"]["checkpoint_id"])
