"""The server is killed while agents run, again and again: how each thread stands is then what its graph says of it."""

import operator
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from threadkeep.langgraph import ThreadkeepSaver

from support import settings
from support.server import Server

AGENTS = 8
NODE_SECONDS = 0.1
# What a run comes to, and how its thread stands then.
ENDS = {"end": "idle", "ask": "interrupted", "fail": "error", "stop": "busy", "answer": "idle"}


class State(TypedDict, total=False):
    wish: str
    log: Annotated[list[str], operator.add]


def work(state: State) -> State:
    time.sleep(NODE_SECONDS)
    return {"log": ["work"]}


def decide(state: State) -> State:
    time.sleep(NODE_SECONDS)
    if state["wish"] == "fail":
        raise RuntimeError("as it was wished")
    answer = str(interrupt("really?")) if state["wish"] in ("ask", "answer") else "none"
    time.sleep(NODE_SECONDS)
    return {"log": [answer]}


def graph_of(saver: ThreadkeepSaver) -> Any:
    builder = StateGraph(State)
    for name, node in [("work", work), ("decide", decide), ("last", work)]:
        builder.add_node(name, node)
    for left, right in [(START, "work"), ("work", "decide"), ("decide", "last")]:
        builder.add_edge(left, right)
    return builder.compile(checkpointer=saver)


def config(number: int) -> Any:
    return {"configurable": {"thread_id": f"agent-{number}"}}


def run(graph: Any, number: int, wish: str) -> None:
    before = ["last"] if wish == "stop" else []
    with suppress(RuntimeError):
        graph.invoke({"wish": wish, "log": ["in"]}, config(number), interrupt_before=before)
        if wish == "answer":
            graph.invoke(Command(resume="yes"), config(number))


def status_of(graph: Any, number: int) -> str:
    """By what the graph tells of its newest state."""
    state = graph.get_state(config(number))
    if any(it.error for it in state.tasks):
        return "error"
    if state.interrupts:
        return "interrupted"
    return "busy" if state.next else "idle"


@pytest.fixture
def patient_server(durable_server: Server) -> Server:
    """What has tasks to run is busy for as long as the test looks."""
    durable_server.options += ["--busy-seconds", "3600"]
    durable_server.kill()
    return durable_server.start()


def test_threads_stand_as_their_graphs_say_after_sigkill_of_the_server(
    patient_server: Server,
) -> None:
    server, key = patient_server, patient_server.new_key()
    client = get_sync_client(url=server.url, api_key=key)
    wishes = list(ENDS)
    chance = random.Random(7)
    with ThreadkeepSaver(server.url, key) as saver, ThreadPoolExecutor(AGENTS) as pool:
        graph = graph_of(saver)
        for turn in range(max(settings.KILLS, len(wishes))):
            begun = threading.Barrier(AGENTS + 1)
            wished = [wishes[(number + turn * 2) % len(wishes)] for number in range(AGENTS)]

            def one(number: int, wish: str, begun: threading.Barrier = begun) -> None:
                begun.wait(settings.PATIENCE_SECONDS)
                run(graph, number, wish)

            runs = [pool.submit(one, number, wish) for number, wish in enumerate(wished)]
            begun.wait(settings.PATIENCE_SECONDS)
            time.sleep(chance.uniform(0, 4 * NODE_SECONDS))
            server.kill()
            server.start()
            for each in runs:
                each.result()
            server.kill()
            server.start()
            expected = {f"agent-{number}": ENDS[wish] for number, wish in enumerate(wished)}
            check(client, expected)
            assert expected == {f"agent-{n}": status_of(graph, n) for n in range(AGENTS)}
    examined = server.command("doctor")
    assert examined.returncode == 0, examined.stdout


def check(client: SyncLangGraphClient, expected: dict[str, str]) -> None:
    """First by searches, for which states are derived before anything else reads the threads."""
    for status in sorted(set(ENDS.values())):
        found = client.threads.search(status=status, limit=100)
        standing = {name for name, it in expected.items() if it == status}
        assert {str(it["thread_id"]) for it in found} == standing, status
    told = {name: client.threads.get(name)["status"] for name in expected}
    assert told == expected
