"""UUID aliases of threads, as LangGraph's SDK uses them: whatever an id is, the thread is reached by a UUID."""

import random
from typing import Any
from uuid import UUID, uuid5

from langgraph_sdk import get_sync_client
from threadkeep import Client

from agent_server.wire import sdk
from equivalence import graphs
from support.server import Server
from support.settings import ALIAS_IDS

# docs/guides/agent-server.md names it.
NAMESPACE = UUID("0d2165f1-4c50-5e3c-bbb6-1d8a01acc1d1")
LETTERS = "aZ09-_.~:/?#[]@!$&'()*+,;=% \"<>\\^`{|}\t\n\x01\x7fäß\u20ac\u3042\U0001f600"


def by_uuid(server: Server, key: str) -> Any:
    return get_sync_client(url=f"{server.url}/uuid", api_key=key)


def test_random_ids_are_reached_by_their_aliases(server: Server, api_key: str) -> None:
    ids = list(dict.fromkeys(random_id(random.Random(at)) for at in range(ALIAS_IDS)))
    by_id, threads = sdk(server, api_key).threads, by_uuid(server, api_key).threads
    aliases = {str(uuid5(NAMESPACE, it)): it for it in ids}
    assert len(aliases) == len(ids)
    for alias, thread_id in aliases.items():
        assert by_id.create(thread_id=thread_id)["thread_id"] == thread_id
        assert by_id.get(alias)["thread_id"] == thread_id
        assert threads.get(alias)["thread_id"] == alias
        assert threads.get(thread_id)["thread_id"] == alias
    shown: list[str] = []
    while page := threads.search(limit=1000, offset=len(shown), sort_by="created_at"):
        shown += [it["thread_id"] for it in page]
    assert sorted(shown) == sorted(aliases)
    found = by_id.search(ids=list(aliases)[:1000], limit=1000)
    assert {it["thread_id"] for it in found} == set(list(aliases.values())[:1000])
    with Client(url=server.url, api_key=api_key) as client:
        for alias, thread_id in list(aliases.items())[:10]:
            thread = client.get_thread(thread_id)
            assert thread is not None
            assert thread.uuid == alias


def random_id(chance: random.Random) -> str:
    letters = chance.choices(LETTERS, k=chance.randint(1, 120))
    return f"{chance.random()} {''.join(letters)}"


def test_a_graphs_states_are_shown_under_the_alias(
    saver: Any, server: Server, api_key: str
) -> None:
    graph = graphs.asking("plain", saver)
    config: Any = {"configurable": {"thread_id": "no UUID/1"}}
    graph.invoke({"log": ["in"]}, config)
    alias = str(uuid5(NAMESPACE, "no UUID/1"))
    threads = by_uuid(server, api_key).threads
    thread = threads.get(alias)
    assert (thread["thread_id"], thread["status"]) == (alias, "interrupted")
    state = threads.get_state(alias, subgraphs=True)
    assert state["checkpoint"]["thread_id"] == alias
    assert state["metadata"].get("thread_id", alias) == alias
    assert state["values"] == sdk(server, api_key).threads.get_state("no UUID/1")["values"]
    history = threads.get_history(alias, limit=10)
    parents = [it["parent_checkpoint"] for it in history]
    assert {it["thread_id"] for it in parents if it} == {alias}
    before = threads.get_history(alias, limit=10, before=history[0]["checkpoint"])
    assert before == history[1:]
    pinned = threads.get_state(alias, checkpoint=history[-1]["checkpoint"])
    assert pinned["checkpoint"] == history[-1]["checkpoint"]
