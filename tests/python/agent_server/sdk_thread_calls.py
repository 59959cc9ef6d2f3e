"""Lists the calls of `client.threads`. The thread `asking` waits for an answer to its graph, `agent`."""

import asyncio
from dataclasses import replace
from typing import Any

from langgraph.types import StateSnapshot
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from agent_server.sdk_call import TIME, UUID, Given, needs_graph, refused, returns, unconverted
from agent_server.wire import checkpoint_of
from display.shown import project

VALUES = {"log": ["in", "before@1"], "note": {"b": "AP8="}}
SELECT = ["values.log", "next"]
SELECTED = {"values": {"log": VALUES["log"]}, "next": ["ask"]}
ROOT: Any = {"checkpoint_ns": ""}
MORE = {"log": ["more"]}
KEEPING: Any = {"ttl": 0.5, "strategy": "keep_latest"}
SUPERSTEPS = [{"updates": [{"values": MORE, "as_node": "ask"}]}]


def thread(thread_id: Any, **more: Any) -> dict[str, Any]:
    times = {"created_at": TIME, "updated_at": TIME, "state_updated_at": TIME}
    shown = {"metadata": {}, "status": "idle", "config": {}, "values": None}
    return {"thread_id": thread_id, **times, **shown, "interrupts": {}, "error": None, **more}


def interrupts(asked: StateSnapshot) -> list[dict[str, Any]]:
    return [{"id": it.id, "value": project(it.value)} for it in asked.interrupts]


def asking(asked: StateSnapshot, thread_id: Any = "asking") -> dict[str, Any]:
    return thread(
        thread_id,
        metadata={"graph_id": "agent"},
        status="interrupted",
        config={"configurable": {}},
        values=VALUES,
        interrupts={asked.tasks[0].id: interrupts(asked)},
    )


def state_of(asked: StateSnapshot, _: str) -> dict[str, Any]:
    own, parent = checkpoint_of(asked.config), checkpoint_of(asked.parent_config)
    assert own
    assert parent
    task = {
        "id": asked.tasks[0].id,
        "name": "ask",
        "path": ["__pregel_pull", "ask"],
        "error": None,
        "interrupts": interrupts(asked),
        "checkpoint": None,
        "state": None,
        "result": None,
    }
    return {
        "values": VALUES,
        "next": ["ask"],
        "tasks": [task],
        "metadata": project(asked.metadata),
        "created_at": asked.created_at,
        "checkpoint": own,
        "parent_checkpoint": parent,
        "interrupts": interrupts(asked),
        "checkpoint_id": own["checkpoint_id"],
        "parent_checkpoint_id": parent["checkpoint_id"],
    }


def updated(_: StateSnapshot, thread_id: str) -> dict[str, Any]:
    checkpoint = {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": UUID}
    return {"checkpoint": checkpoint, "configurable": checkpoint, "checkpoint_id": UUID}


def made(thread_id: str) -> Given:
    def make(client: SyncLangGraphClient) -> str:
        client.threads.create(thread_id=thread_id, metadata={"of": thread_id})
        return thread_id

    return make


def living(thread_id: str) -> Given:
    def make(client: SyncLangGraphClient) -> str:
        client.threads.create(thread_id=thread_id, metadata={"of": thread_id}, ttl=90)
        return thread_id

    return make


def ttl(minutes: float, strategy: str) -> dict[str, Any]:
    return {"strategy": strategy, "ttl_minutes": minutes, "expires_at": TIME}


def deleted(client: SyncLangGraphClient) -> str:
    client.threads.delete(made("once")(client))
    return "once"


def copied(client: SyncLangGraphClient) -> str:
    copy: Any = client.threads.copy("asking")
    return copy["thread_id"]


def newest_id(client: SyncLangGraphClient) -> str:
    found = client.threads.get_state("asking")["checkpoint"]["checkpoint_id"]
    assert found
    return found


async def opened(stream: Any) -> None:
    """Until the stream of events has begun.

    The SDK cancels it where the run ends, but `wait_for` of Python 3.11 loses a cancellation that
    comes as the stream begins, and the SDK would wait for its end.
    """
    while stream._lifecycle_watcher_handle is None:
        await asyncio.sleep(0)
    await stream._lifecycle_watcher_handle.ready


def start_run(client: Any, thread_id: str) -> Any:
    stream = client.threads.stream(thread_id, assistant_id="agent")
    if isinstance(client, LangGraphClient):

        async def start() -> Any:
            async with stream:
                await opened(stream)
                return await stream.run.start(input=MORE)

        return start()
    with stream:
        return stream.run.start(input=MORE)


OF_THREAD = [
    returns(
        "create",
        "makes a thread",
        lambda it, _: it.threads.create(thread_id="new", graph_id="agent", metadata={"n": 1}),
        thread("new", metadata={"n": 1, "graph_id": "agent"}),
    ),
    returns("create", "gives an id", lambda it, _: it.threads.create(), thread(UUID)),
    returns(
        "create",
        "leaves a thread as it is",
        lambda it, id: it.threads.create(thread_id=id, if_exists="do_nothing"),
        thread("taken", metadata={"of": "taken"}),
        made("taken"),
    ),
    refused(
        "create",
        "refuses an id that is taken",
        lambda it, id: it.threads.create(thread_id=id, if_exists="raise"),
        409,
        "thread_exists",
        made("taken twice"),
    ),
    returns(
        "create",
        "sets a ttl",
        lambda it, _: it.threads.create(thread_id="short", ttl=90),
        thread("short"),
    ),
    needs_graph("create", "supersteps", lambda it, _: it.threads.create(supersteps=SUPERSTEPS)),
    returns(
        "get",
        "shows a thread",
        lambda it, _: it.threads.get("asking"),
        lambda asked, _: asking(asked),
    ),
    returns(
        "get",
        "shows a ttl",
        lambda it, id: it.threads.get(id, include=["ttl"]),
        thread("lives", metadata={"of": "lives"}, ttl=ttl(90.0, "delete")),
        living("lives"),
    ),
    refused(
        "get", "knows no other", lambda it, _: it.threads.get("never"), 404, "thread_not_found"
    ),
    refused(
        "get",
        "knows no deleted thread",
        lambda it, id: it.threads.get(id),
        404,
        "thread_not_found",
        deleted,
    ),
    returns(
        "copy",
        "copies a thread",
        lambda it, _: it.threads.copy("asking"),
        lambda asked, _: asking(asked, UUID),
    ),
    returns(
        "update",
        "merges metadata",
        lambda it, id: it.threads.update(id, metadata={"n": 1}),
        thread("merged", metadata={"of": "merged", "n": 1}),
        made("merged"),
    ),
    returns(
        "update",
        "returns nothing where that is asked",
        lambda it, id: it.threads.update(id, metadata={"n": 1}, return_minimal=True),
        None,
        made("merged silently"),
    ),
    returns(
        "update",
        "replaces a ttl",
        lambda it, id: it.threads.update(id, metadata={}, ttl=KEEPING),
        thread("lives longer", metadata={"of": "lives longer"}),
        living("lives longer"),
    ),
    returns("delete", "deletes a thread", lambda it, id: it.threads.delete(id), None, made("gone")),
    refused(
        "delete",
        "knows no other",
        lambda it, _: it.threads.delete("never"),
        404,
        "thread_not_found",
    ),
    returns(
        "prune",
        "deletes threads",
        lambda it, id: it.threads.prune([id, "never"]),
        {"pruned_count": 1},
        made("pruned"),
    ),
    returns(
        "prune",
        "keeps the newest checkpoint",
        lambda it, id: it.threads.prune([id], strategy="keep_latest"),
        {"pruned_count": 1},
        copied,
    ),
    returns(
        "search",
        "finds threads",
        lambda it, _: it.threads.search(ids=["asking"], status="interrupted", values={}),
        lambda asked, _: [asking(asked)],
    ),
    returns(
        "search",
        "selects fields and extracts values",
        lambda it, _: it.threads.search(
            ids=["asking"], select=["thread_id"], extract={"first": "values.log[0]"}
        ),
        [{"thread_id": "asking", "extracted": {"first": "in"}}],
    ),
    returns(
        "search",
        "sorts and pages",
        lambda it, of: it.threads.search(metadata={"of": of}, sort_by="created_at", offset=1),
        [],
        made("paged"),
    ),
    returns(
        "count",
        "counts threads",
        lambda it, of: it.threads.count(metadata={"of": of}),
        1,
        made("counted"),
    ),
    returns(
        "get_state",
        "shows the newest state",
        lambda it, _: it.threads.get_state("asking"),
        state_of,
    ),
    returns(
        "get_state",
        "shows a checkpoint",
        lambda it, id: it.threads.get_state("asking", checkpoint_id=id),
        state_of,
        newest_id,
    ),
    returns(
        "get_state",
        "shows the newest checkpoint of a namespace",
        lambda it, _: it.threads.get_state("asking", ROOT, subgraphs=True),
        state_of,
    ),
    returns(
        "get_state",
        "selects fields",
        lambda it, _: it.threads.get_state("asking", select=SELECT),
        SELECTED,
    ),
    refused(
        "get_state",
        "knows no other thread",
        lambda it, _: it.threads.get_state("never"),
        404,
        "thread_not_found",
    ),
    returns(
        "update_state",
        "copies a checkpoint",
        lambda it, id: it.threads.update_state(id, None, as_node="__copy__"),
        updated,
        copied,
    ),
    needs_graph(
        "update_state",
        "values of a reducer",
        lambda it, id: it.threads.update_state(id, MORE),
        copied,
    ),
    needs_graph(
        "update_state",
        "a node",
        lambda it, id: it.threads.update_state(id, MORE, as_node="before"),
        copied,
    ),
    returns(
        "get_history",
        "shows the newest state",
        lambda it, _: it.threads.get_history("asking", limit=1),
        lambda asked, _: [state_of(asked, "")],
    ),
    returns(
        "get_history",
        "shows what came before",
        lambda it, id: it.threads.get_history("asking", before=id, select=["next"]),
        [{"next": ["before"]}, {"next": ["__start__"]}],
        newest_id,
    ),
    refused(
        "get_history",
        "knows no other thread",
        lambda it, _: it.threads.get_history("never"),
        404,
        "thread_not_found",
    ),
    needs_graph("join_stream", "following runs", lambda it, _: it.threads.join_stream("asking")),
    replace(
        unconverted(needs_graph("stream", "a run", start_run, lambda _: "asking")),
        counted="POST /threads/asking/commands",
    ),
]
