"""A server that is restarted under agents: every run ends right, and no error reaches a node."""

import asyncio
import operator
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from threadkeep.langgraph import ThreadkeepSaver, ThreadkeepStore

from support import settings
from support.server import Server

AGENTS = 16
NODE_SECONDS = 0.25
# The server goes away in the midst of the first turn.
STEPS = 6
TURNS = 2


class State(TypedDict):
    steps: Annotated[list[int], operator.add]


def next_step(state: State) -> str:
    return END if len(state["steps"]) % STEPS == 0 else "work"


def thread_of(number: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": f"agent-{number}"}, "recursion_limit": STEPS + 5}


def graph_of(
    saver: ThreadkeepSaver, store: ThreadkeepStore, errors: list[Exception], *, is_async: bool
) -> CompiledStateGraph:
    """An agent whose node keeps what it did in the store; what the store raises is in `errors`."""

    def work(state: State, config: RunnableConfig, *, store: BaseStore) -> State:
        time.sleep(NODE_SECONDS)
        number = len(state["steps"])
        name = config["configurable"]["thread_id"]
        try:
            store.put(("agents", name), f"step-{number}", {"step": number})
        except Exception as error:
            errors.append(error)
            raise
        return {"steps": [number]}

    async def awork(state: State, config: RunnableConfig, *, store: BaseStore) -> State:
        await asyncio.sleep(NODE_SECONDS)
        number = len(state["steps"])
        name = config["configurable"]["thread_id"]
        try:
            await store.aput(("agents", name), f"step-{number}", {"step": number})
        except Exception as error:
            errors.append(error)
            raise
        return {"steps": [number]}

    builder = StateGraph(State)
    builder.add_node("work", awork if is_async else work)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", next_step, ["work", END])
    return builder.compile(checkpointer=saver, store=store)


def restart(server: Server, begun: threading.Event) -> None:
    """Away for as long as the settings say, in the midst of the runs."""
    assert begun.wait(settings.PATIENCE_SECONDS)
    time.sleep(0.5)
    assert server.stop() == 0
    time.sleep(settings.RESTART_SECONDS)
    server.start()


def check(
    graph: CompiledStateGraph,
    store: ThreadkeepStore,
    outcomes: list[State],
    errors: list[Exception],
) -> None:
    expected = list(range(STEPS * TURNS))
    assert errors == []
    assert [outcome["steps"] for outcome in outcomes] == [expected] * AGENTS
    for number in range(AGENTS):
        state = graph.get_state(thread_of(number))
        assert (state.values["steps"], state.next) == (expected, ())
        kept = store.scan(("agents", f"agent-{number}"))
        assert sorted(item.value["step"] for item in kept) == expected


@pytest.mark.parametrize("transport", ["asyncio", "pyreqwest", "stdlib"])
def test_a_restart_under_agents_in_threads(own_server: Server, transport: str) -> None:
    key, begun = own_server.new_key(), threading.Event()
    errors: list[Exception] = []
    with (
        ThreadkeepSaver(own_server.url, key, transport=transport) as saver,
        ThreadkeepStore(own_server.url, key, transport=transport) as store,
        ThreadPoolExecutor(AGENTS + 1) as pool,
    ):
        graph = graph_of(saver, store, errors, is_async=False)

        def run(number: int) -> Any:
            begun.set()
            graph.invoke({"steps": []}, thread_of(number))
            return graph.invoke({"steps": []}, thread_of(number))

        restarted = pool.submit(restart, own_server, begun)
        outcomes = list(pool.map(run, range(AGENTS)))
        restarted.result()
        check(graph, store, outcomes, errors)


@pytest.mark.parametrize("transport", ["asyncio", "pyreqwest", "stdlib"])
async def test_a_restart_under_agents_in_one_event_loop(own_server: Server, transport: str) -> None:
    key, begun = own_server.new_key(), threading.Event()
    errors: list[Exception] = []
    async with (
        ThreadkeepSaver(own_server.url, key, transport=transport) as saver,
        ThreadkeepStore(own_server.url, key, transport=transport) as store,
    ):
        graph = graph_of(saver, store, errors, is_async=True)

        async def run(number: int) -> Any:
            begun.set()
            await graph.ainvoke({"steps": []}, thread_of(number))
            return await graph.ainvoke({"steps": []}, thread_of(number))

        restarted = asyncio.create_task(asyncio.to_thread(restart, own_server, begun))
        outcomes = await asyncio.gather(*[run(number) for number in range(AGENTS)])
        await restarted
        await asyncio.to_thread(check, graph, store, outcomes, errors)
