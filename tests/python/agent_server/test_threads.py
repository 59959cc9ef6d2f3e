"""Threads as LangGraph's SDK calls them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from langgraph_sdk.errors import (
    BadRequestError,
    ConflictError,
    NotFoundError,
    UnprocessableEntityError,
)
from threadkeep.langgraph import ThreadkeepSaver

from agent_server.wire import WireDriver, sdk
from equivalence import graphs
from support.server import Server

ALL_FIELDS = {
    "thread_id",
    "created_at",
    "updated_at",
    "state_updated_at",
    "metadata",
    "status",
    "config",
    "values",
    "interrupts",
    "error",
}


def test_threads_are_made_changed_found_and_deleted(server: Server, api_key: str) -> None:
    threads = sdk(server, api_key).threads
    made = threads.create(thread_id="t", metadata={"customer": "acme"}, graph_id="agent")
    assert set(made) == ALL_FIELDS
    assert made["metadata"] == {"customer": "acme", "graph_id": "agent"}
    assert threads.create(thread_id="t", if_exists="do_nothing") == made
    with pytest.raises(ConflictError, match="already exists"):
        threads.create(thread_id="t")
    changed = threads.update("t", metadata={"n": None})
    assert changed["metadata"] == {**made["metadata"], "n": None}
    assert threads.get("t") == changed
    assert [it["thread_id"] for it in threads.search(metadata={"customer": "acme"})] == ["t"]
    assert threads.count(metadata={"customer": "other"}) == 0
    copied: Any = threads.copy("t")
    assert threads.count(status="idle") == 2
    found = threads.search(sort_by="created_at", sort_order="asc", select=["thread_id"], limit=1)
    assert found == [{"thread_id": "t"}]
    with pytest.raises(BadRequestError):
        threads.search(ids=["x" * 513])
    pruned = threads.prune([copied["thread_id"], "none"])
    assert pruned == {"pruned_count": 1}
    threads.delete("t")
    for call in (threads.get, threads.delete):
        with pytest.raises(NotFoundError, match="Thread with ID t not found"):
            call("t")


def test_a_ttl_is_set_shown_and_kept(server: Server, api_key: str) -> None:
    threads = sdk(server, api_key).threads
    made: Any = threads.create(thread_id="t", ttl=90)
    assert "ttl" not in made
    seen: Any = threads.get("t", include=["ttl"])
    ends = datetime.fromisoformat(seen["ttl"].pop("expires_at"))
    assert ends - datetime.fromisoformat(seen["updated_at"]) == timedelta(minutes=90)
    assert seen.pop("ttl") == {"strategy": "delete", "ttl_minutes": 90.0}
    assert seen == made == threads.get("t")
    threads.update("t", metadata={"n": 1})
    changed: Any = threads.get("t", include=["ttl"])
    assert datetime.fromisoformat(changed["ttl"]["expires_at"]) > ends
    threads.update("t", metadata={}, ttl={"ttl": 0.5, "strategy": "keep_latest"})
    kept: Any = threads.get("t", include=["ttl"])
    assert (kept["ttl"]["strategy"], kept["ttl"]["ttl_minutes"]) == ("keep_latest", 0.5)
    copied: Any = threads.copy("t")
    for other in (copied, threads.create()):
        assert "ttl" not in threads.get(other["thread_id"], include=["ttl"])
    for bad in (0, -1, 52_560_001, float(2**70)):
        with pytest.raises(UnprocessableEntityError, match="ttl"):
            threads.create(thread_id="bad", ttl={"ttl": bad, "strategy": "delete"})
    for body in (
        {"ttl": {}},
        {"ttl": 5},
        {"ttl": {"ttl": "1"}},
        {"ttl": {"ttl": 1, "strategy": "x"}},
    ):
        with pytest.raises(UnprocessableEntityError):
            sdk(server, api_key).http.patch("/threads/t", json=body)
    with pytest.raises(NotFoundError):
        threads.get("bad")


def test_ids_that_are_no_uuids_are_reached(server: Server, api_key: str) -> None:
    threads = sdk(server, api_key).threads
    for thread_id in ("a/b", "ä ?#%", "..", "search", "x" * 512):
        assert threads.create(thread_id=thread_id)["thread_id"] == thread_id
        assert threads.get(thread_id)["thread_id"] == thread_id
        assert threads.get_state(thread_id)["checkpoint"] is None
        threads.delete(thread_id)


def test_a_thread_that_asks_shows_its_question(saver: Any, server: Server, api_key: str) -> None:
    graph, driver = graphs.asking("plain", saver), WireDriver(saver, server, api_key)
    driver.invoke(graph, {"log": ["in"]}, driver.config())
    thread = driver.client.threads.get("t")
    asked = graph.get_state(driver.config()).tasks[0]
    assert thread["status"] == "interrupted"
    told = [{"id": it.id, "value": it.value} for it in asked.interrupts]
    assert thread["interrupts"] == {asked.id: told}
    (row,) = driver.client.threads.search(
        status="interrupted",
        values={"log": thread["values"]["log"]},
        extract={"question": "interrupts", "first": "values.log[0]"},
    )
    assert driver.client.threads.count(values={"log": ["out"]}) == 0
    assert row["extracted"]["first"] == "in"
    assert row["extracted"]["question"] == thread["interrupts"]
    driver.close()


def test_metadata_of_runs_shows_where_the_server_is_told(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(options=["--thread-metadata-keys", "customer,project"])
    key = server.new_key()
    graph = graphs.asking("plain", ThreadkeepSaver(server.url, api_key=key))
    threads = sdk(server, key).threads
    for thread_id, customer in [("a", "acme"), ("b", "other")]:
        run: Any = {"configurable": {"thread_id": thread_id}}
        graph.invoke({"log": ["in"]}, {**run, "metadata": {"customer": customer, "more": 1}})
    found = threads.search(metadata={"customer": "acme"})
    assert [(it["thread_id"], it["metadata"]) for it in found] == [("a", {"customer": "acme"})]
    threads.update("b", metadata={"customer": "acme"})
    assert threads.count(metadata={"customer": "acme"}) == 2
    refused = server.command("serve", "--thread-metadata-keys", "user_id")
    assert refused.returncode == 2
    assert "user_id shows anyway" in refused.stderr


def test_graphs_that_threads_name_are_assistants(server: Server, api_key: str) -> None:
    client = sdk(server, api_key)
    client.threads.create(thread_id="t", graph_id="agent")
    (agent,) = client.assistants.search(graph_id="agent", metadata={"created_by": "system"})
    assert agent["assistant_id"] == "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
    assert client.assistants.get(agent["assistant_id"]) == agent
    assert client.assistants.count() == 1
    assert client.assistants.get_schemas(agent["assistant_id"])["graph_id"] == "agent"
    assert len(client.assistants.get_versions(agent["assistant_id"])) == 1
    with pytest.raises(UnprocessableEntityError, match="has no graph"):
        client.assistants.get_graph(agent["assistant_id"])
    with pytest.raises(NotFoundError, match="not found"):
        client.assistants.get("none")
