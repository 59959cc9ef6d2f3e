"""Lists a call of every method of LangGraph's SDK with its result. The sync and the async client share it."""

from dataclasses import replace
from typing import Any

from langgraph_sdk.client import SyncLangGraphClient

from agent_server.sdk_call import TIME, Call, Given, needs_graph, refused, returns, unconverted
from agent_server.sdk_thread_calls import OF_THREAD

AGENT = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
RUN = "00000000-0000-4000-8000-000000000001"
SCHEDULE = "* * * * *"
NOTES = ["ann", "notes"]

VERSION = {
    "assistant_id": AGENT,
    "graph_id": "agent",
    "name": "agent",
    "description": None,
    "config": {},
    "context": {},
    "metadata": {"created_by": "system"},
    "version": 1,
    "created_at": TIME,
}
ASSISTANT = {**VERSION, "updated_at": TIME}
SCHEMAS = {
    "graph_id": "agent",
    "input_schema": None,
    "output_schema": None,
    "state_schema": None,
    "config_schema": None,
    "context_schema": None,
}


def item(key: str) -> dict[str, Any]:
    times = {"created_at": TIME, "updated_at": TIME}
    return {"namespace": NOTES, "key": key, "value": {"n": 1}, **times}


def put(key: str) -> Given:
    def put_item(client: SyncLangGraphClient) -> str:
        client.store.put_item(NOTES, key, {"n": 1})
        return key

    return put_item


def deleted(client: SyncLangGraphClient) -> str:
    client.store.delete_item(NOTES, put("once")(client))
    return "once"


OF_STORE = [
    returns("put_item", "keeps an item", lambda it, _: it.store.put_item(["bob"], "k", {}), None),
    refused("put_item", "refuses no namespace", lambda it, _: it.store.put_item([], "k", {}), 400),
    returns(
        "get_item",
        "shows an item",
        lambda it, key: it.store.get_item(NOTES, key),
        item("got"),
        put("got"),
    ),
    returns(
        "get_item", "shows None for no item", lambda it, _: it.store.get_item(NOTES, "never"), None
    ),
    returns(
        "get_item",
        "shows None for a deleted item",
        lambda it, key: it.store.get_item(NOTES, key),
        None,
        deleted,
    ),
    returns(
        "delete_item",
        "deletes an item",
        lambda it, key: it.store.delete_item(NOTES, key),
        None,
        put("gone"),
    ),
    returns(
        "delete_item", "deletes no item", lambda it, _: it.store.delete_item(NOTES, "never"), None
    ),
    returns(
        "search_items",
        "finds items",
        lambda it, _: it.store.search_items(["ann"], filter={"n": {"$gte": 1}}, limit=1),
        {"items": [{**item("found"), "score": None}]},
        put("found"),
    ),
    returns(
        "search_items", "finds none", lambda it, _: it.store.search_items(["carl"]), {"items": []}
    ),
    returns(
        "list_namespaces",
        "lists namespaces",
        lambda it, _: it.store.list_namespaces(["ann"], max_depth=2),
        {"namespaces": [NOTES]},
        put("listed"),
    ),
]

OF_ASSISTANT = [
    returns("get", "shows an assistant", lambda it, _: it.assistants.get(AGENT), ASSISTANT),
    returns(
        "get", "knows the name of its graph", lambda it, _: it.assistants.get("agent"), ASSISTANT
    ),
    refused(
        "get", "knows no other", lambda it, _: it.assistants.get(RUN), 404, "assistant_not_found"
    ),
    needs_graph("get_graph", "the graph", lambda it, _: it.assistants.get_graph(AGENT, xray=True)),
    returns("get_schemas", "shows none", lambda it, _: it.assistants.get_schemas(AGENT), SCHEMAS),
    needs_graph("get_subgraphs", "all", lambda it, _: it.assistants.get_subgraphs(AGENT)),
    needs_graph("get_subgraphs", "one", lambda it, _: it.assistants.get_subgraphs(AGENT, "a")),
    needs_graph("create", "a new one", lambda it, _: it.assistants.create("agent")),
    needs_graph("update", "a name", lambda it, _: it.assistants.update(AGENT, name="a")),
    needs_graph("delete", "one", lambda it, _: it.assistants.delete(AGENT)),
    returns(
        "search",
        "finds assistants",
        lambda it, _: it.assistants.search(graph_id="agent"),
        [ASSISTANT],
    ),
    returns(
        "search",
        "tells of a next page",
        lambda it, _: it.assistants.search(name="age", limit=1, response_format="object"),
        {"assistants": [ASSISTANT], "next": None},
    ),
    returns(
        "search",
        "selects fields",
        lambda it, _: it.assistants.search(select=["name", "version"]),
        [{"name": "agent", "version": 1}],
    ),
    returns("search", "finds none", lambda it, _: it.assistants.search(graph_id="other"), []),
    returns("count", "counts assistants", lambda it, _: it.assistants.count(graph_id="agent"), 1),
    returns(
        "get_versions", "lists one", lambda it, _: it.assistants.get_versions(AGENT), [VERSION]
    ),
    returns(
        "get_versions",
        "ends the list",
        lambda it, _: it.assistants.get_versions(AGENT, offset=1),
        [],
    ),
    needs_graph("set_latest", "a version", lambda it, _: it.assistants.set_latest(AGENT, 1)),
]

OF_RUN = [
    needs_graph("stream", "a run", lambda it, _: it.runs.stream("asking", "agent", input={})),
    needs_graph(
        "stream", "a run without a thread", lambda it, _: it.runs.stream(None, "agent", input={})
    ),
    needs_graph("create", "a run", lambda it, _: it.runs.create("asking", "agent", input={})),
    needs_graph(
        "create", "a run without a thread", lambda it, _: it.runs.create(None, "agent", input={})
    ),
    refused(
        "create",
        "knows no other thread",
        lambda it, _: it.runs.create("never", "agent"),
        404,
        "thread_not_found",
    ),
    needs_graph(
        "create_batch", "runs", lambda it, _: it.runs.create_batch([{"assistant_id": "agent"}])
    ),
    unconverted(
        needs_graph("wait", "a run", lambda it, _: it.runs.wait("asking", "agent", input={}))
    ),
    unconverted(
        needs_graph(
            "wait", "a run without a thread", lambda it, _: it.runs.wait(None, "agent", input={})
        )
    ),
    returns("list", "lists none", lambda it, _: it.runs.list("asking", status="success"), []),
    refused("get", "knows none", lambda it, _: it.runs.get("asking", RUN), 404, "run_not_found"),
    refused(
        "cancel", "knows none", lambda it, _: it.runs.cancel("asking", RUN), 404, "run_not_found"
    ),
    unconverted(
        refused(
            "cancel",
            "knows none to wait for",
            lambda it, _: it.runs.cancel("asking", RUN, wait=True),
            404,
            "run_not_found",
        )
    ),
    refused(
        "cancel_many",
        "knows none",
        lambda it, _: it.runs.cancel_many(thread_id="asking", run_ids=[RUN]),
        404,
        "run_not_found",
    ),
    unconverted(
        refused(
            "join", "knows none", lambda it, _: it.runs.join("asking", RUN), 404, "run_not_found"
        )
    ),
    refused(
        "join_stream",
        "knows none",
        lambda it, _: it.runs.join_stream("asking", RUN),
        404,
        "run_not_found",
    ),
    refused(
        "delete", "knows none", lambda it, _: it.runs.delete("asking", RUN), 404, "run_not_found"
    ),
]

OF_CRON = [
    needs_graph(
        "create_for_thread",
        "a cron",
        lambda it, _: it.crons.create_for_thread("asking", "agent", schedule=SCHEDULE),
    ),
    needs_graph("create", "a cron", lambda it, _: it.crons.create("agent", schedule=SCHEDULE)),
    refused("update", "knows none", lambda it, _: it.crons.update(RUN, schedule=SCHEDULE), 404),
    refused("delete", "knows none", lambda it, _: it.crons.delete(RUN), 404),
    returns("search", "finds none", lambda it, _: it.crons.search(assistant_id=AGENT), []),
    returns("count", "counts none", lambda it, _: it.crons.count(), 0),
]

PARTS = {
    "threads": OF_THREAD,
    "store": OF_STORE,
    "assistants": OF_ASSISTANT,
    "runs": OF_RUN,
    "crons": OF_CRON,
}
CALLS: list[Call] = [
    replace(call, method=f"{part}.{call.method}") for part, calls in PARTS.items() for call in calls
]
