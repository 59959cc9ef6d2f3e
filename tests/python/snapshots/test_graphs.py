"""Real graphs: what a restored thread shows is what it showed at the moment of the snapshot."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from threadkeep import AsyncClient, Client
from threadkeep.errors import ThreadRestoredError
from threadkeep.langgraph import ThreadkeepSaver

from equivalence import graphs
from equivalence.agents import agent, question, turn_script
from snapshots.world import World, config, shown
from support import settings
from support.server import Server

Turn = Callable[[Any, str, int], None]
SEEDS = range(settings.SNAPSHOT_SEEDS)


def chat_with_agent(saver: Any, thread: str, turn: int) -> None:
    agent(saver, turn_script(turn, turn % 4)).invoke(question(turn), config(thread))


def run_delta_chain(saver: Any, thread: str, turn: int) -> None:
    graphs.chain("delta", saver).invoke({"log": [f"turn {turn}"]}, config(thread))


def run_nested(saver: Any, thread: str, turn: int) -> None:
    graph = graphs.nested("delta", saver, own_memory=True)
    graph.invoke({"log": [f"turn {turn}"]}, config(thread))


def go_back(saver: Any, thread: str, turn: int) -> None:
    """Time travel: another branch from one of the earlier checkpoints, if there are any."""
    graph = graphs.chain("delta", saver)
    earlier = [state.config for state in graph.get_state_history(config(thread)) if state.next]
    if earlier:
        graph.update_state(earlier[turn % len(earlier)], {"log": [f"branch {turn}"]})
        graph.invoke(None, config(thread))
    run_delta_chain(saver, thread, turn)


GRAPHS: dict[str, tuple[Turn, Callable[[Any], Any]]] = {
    "agent": (chat_with_agent, lambda saver: agent(saver, [])),
    "delta": (run_delta_chain, lambda saver: graphs.chain("delta", saver)),
    "nested": (run_nested, lambda saver: graphs.nested("delta", saver, own_memory=True)),
    "branches": (go_back, lambda saver: graphs.chain("delta", saver)),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_restored_thread_is_as_it_was(
    world: World, saver: ThreadkeepSaver, reader: ThreadkeepSaver, name: str, seed: int
) -> None:
    client = world.client
    chance = random.Random(seed)
    turn, graph_of = GRAPHS[name]
    before, after = chance.randint(1, 5), chance.randint(1, 4)
    for number in range(before):
        turn(saver, "t", number)
        turn(saver, "other", number)
    client.snapshots.take("s", threads=["t"])
    recorded = shown(graph_of(reader), "t")
    assert len(recorded) > 2 * before
    for number in range(before, before + after):
        turn(saver, "t", number)
        turn(saver, "other", number)
    later, others = shown(graph_of(reader), "t"), shown(graph_of(reader), "other")
    assert later != recorded

    restored = client.snapshots.restore("s", threads={"t": "copy"})
    assert [one.created for one in restored.threads] == [True]
    assert restored.safety_snapshot_id is None
    assert shown(graph_of(reader), "copy") == recorded
    assert shown(graph_of(reader), "t") == later

    restored = client.snapshots.restore("s")
    # The saver that knows the later thread, one that has read it, and one that knows nothing.
    for one in (saver, reader, world.saver()):
        assert shown(graph_of(one), "t") == recorded
    assert shown(graph_of(reader), "other") == others
    assert restored.safety_snapshot_id is not None
    client.snapshots.restore(restored.safety_snapshot_id)
    assert shown(graph_of(reader), "t") == later


@pytest.mark.parametrize("name", GRAPHS)
def test_a_restored_thread_goes_on_as_it_would_have(
    client: Client, saver: ThreadkeepSaver, name: str
) -> None:
    turn, graph_of = GRAPHS[name]
    for number in range(3):
        turn(saver, "t", number)
    client.snapshots.take("s", threads=["t"])
    turn(saver, "t", 3)
    values = graph_of(saver).get_state(config("t")).values
    client.snapshots.restore("s", threads={"t": "copy"})
    client.snapshots.restore("s")
    for thread in ("t", "copy"):
        turn(saver, thread, 3)
        found = graph_of(saver).get_state(config(thread)).values
        assert _told(found) == _told(values)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("kind", graphs.KINDS)
async def test_a_run_under_way_cannot_write_to_a_restored_thread(
    server: Server, api_key: str, saver: ThreadkeepSaver, kind: str, mode: str
) -> None:
    async with AsyncClient(server.url, api_key=api_key) as client:
        await graphs.chain(kind, saver).ainvoke({"log": ["first"]}, config("t"))
        await client.snapshots.take("s", threads=["t"])
        recorded = await _told_of_log(saver, kind)
        running = graphs.interrupted(kind, saver, _blocking(server, api_key))
        with pytest.raises(ThreadRestoredError):
            await _run(running, mode, {"log": ["second"]})
        assert await _told_of_log(saver, kind) == recorded
        # It has read the thread since.
        await graphs.chain(kind, saver).ainvoke({"log": ["third"]}, config("t"))
        assert (await _told_of_log(saver, kind))[: len(recorded) + 1] == [*recorded, "third"]


@pytest.mark.parametrize("kind", graphs.KINDS)
def test_a_run_under_way_is_refused_where_others_read_with_its_saver(
    client: Client, saver: ThreadkeepSaver, kind: str
) -> None:
    graphs.chain(kind, saver).invoke({"log": ["first"]}, config("t"))
    client.snapshots.take("s", threads=["t"])
    recorded = graphs.chain(kind, saver).get_state(config("t")).values["log"]

    def restore_and_read() -> None:
        client.snapshots.restore("s")
        assert graphs.chain(kind, saver).get_state(config("t")).values["log"] == recorded

    running = graphs.interrupted(kind, saver, restore_and_read)
    with pytest.raises(ThreadRestoredError):
        running.invoke({"log": ["second"]}, config("t"), durability="sync")
    assert graphs.chain(kind, saver).get_state(config("t")).values["log"] == recorded
    third = graphs.chain(kind, saver).invoke({"log": ["third"]}, config("t"))
    assert third["log"][: len(recorded) + 1] == [*recorded, "third"]


def test_the_old_saver_cannot_write_until_it_has_read(
    client: Client, saver: ThreadkeepSaver
) -> None:
    graph = graphs.chain("delta", saver)
    graph.invoke({"log": ["first"]}, config("t"))
    client.snapshots.take("s", threads=["t"])
    graph.invoke({"log": ["second"]}, config("t"))
    head = saver.get_tuple(config("t"))
    assert head is not None
    client.snapshots.restore("s")
    for _ in range(2):
        with pytest.raises(ThreadRestoredError):
            saver.put_writes(head.config, [("log", ["late"])], "task")
        with pytest.raises(ThreadRestoredError):
            saver.put(head.config, head.checkpoint, head.metadata, {})
    now = saver.get_tuple(config("t"))
    assert now is not None
    saver.put_writes(now.config, [("log", ["in time"])], "task")


def test_only_the_head_comes_where_only_the_head_was_taken(
    client: Client, saver: ThreadkeepSaver, reader: ThreadkeepSaver
) -> None:
    for turn in range(4):
        chat_with_agent(saver, "t", turn)
    state = agent(reader, []).get_state(config("t"))
    snapshot = client.snapshots.take("s", threads=[("t", "head")])
    assert [(one.history, one.checkpoints) for one in snapshot.threads] == [("head", 1)]
    saver.delete_thread("t")
    client.snapshots.restore("s")
    graph = agent(reader, [])
    assert _told(graph.get_state(config("t")).values) == _told(state.values)
    assert len(list(graph.get_state_history(config("t")))) == 1
    chat_with_agent(saver, "t", 4)
    assert len(graph.get_state(config("t")).values["messages"]) > len(state.values["messages"])


async def _run(graph: Any, mode: str, value: Any) -> None:
    if mode == "async":
        await graph.ainvoke(value, config("t"))
    else:
        graph.invoke(value, config("t"))


def _blocking(server: Server, api_key: str) -> Callable[[], object]:
    def restore() -> object:
        with Client(server.url, api_key=api_key) as client:
            return client.snapshots.restore("s")

    return restore


async def _told_of_log(saver: Any, kind: str) -> list[str]:
    state = await graphs.chain(kind, saver).aget_state(config("t"))
    log: list[str] = state.values["log"]
    return log


def _told(values: dict[str, Any]) -> dict[str, Any]:
    """Messages by their texts: ids and times are new in each run."""
    files = {path: file["content"] for path, file in values.get("files", {}).items()}
    messages = [(one.type, one.text) for one in values.get("messages", [])]
    return {"log": values.get("log"), "files": files, "messages": messages}
