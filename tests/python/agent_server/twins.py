"""Two threads, alike: the graph updates the one and the wire the other. Then they are compared, and both go on."""

from collections.abc import Callable
from typing import Any

from display.shown import project
from equivalence import graphs
from equivalence.differences import same

# The thread that the graph updates, and its copy, which the wire updates.
OWN, WIRE = "own", "wire"


def config(thread: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, **more}}


def halted(name: str) -> Callable[[Any], Any]:
    """A chain that stands before a node."""
    return lambda saver: graphs.chain("plain", saver, interrupt_before=[name])


# name → a graph that stands somewhere after an input.
STANDING: dict[str, Callable[[Any], Any]] = {
    "at its end": lambda saver: graphs.chain("plain", saver),
    "before a node": halted("b"),
    "at a question": lambda saver: graphs.asking("plain", saver),
    "at a question, with a delta channel": lambda saver: graphs.asking("delta", saver),
    "before what is sent": lambda saver: sending(saver),
    "before a join": lambda saver: graphs.joined("plain", saver, interrupt_before=["join"]),
    "before a branch of a join": lambda saver: graphs.joined(
        "plain", saver, interrupt_before=["more"]
    ),
    "in a subgraph": lambda saver: graphs.nested("plain", saver, own_memory=False, asks=True),
}


def sending(saver: Any) -> Any:
    graph = graphs.fan_out("plain", saver, set())
    graph.interrupt_before_nodes = ["branch"]
    return graph


# name → a graph with a delta channel that stands somewhere after an input.
DELTAS: dict[str, Callable[[Any], Any]] = {
    "at its end": lambda saver: graphs.chain("delta", saver),
    "before a node": lambda saver: graphs.chain("delta", saver, interrupt_before=["b"]),
    "at a question": lambda saver: graphs.asking("delta", saver),
}


def begun(graph: Any, saver: Any) -> None:
    """Both threads, alike."""
    graph.invoke({"log": ["in"]}, config(OWN))
    saver.copy_thread(OWN, WIRE)


def held(saver: Any, thread: str, checkpoint_id: str | None = None) -> dict[str, Any]:
    """A checkpoint and its parent's writes, without what no two of them have alike."""
    found = saver.get_tuple(config(thread, checkpoint_ns="", checkpoint_id=checkpoint_id))
    checkpoint = dict(found.checkpoint)
    step = checkpoint.pop("id")[19:23]
    assert checkpoint.pop("ts").endswith("+00:00")
    checkpoint["channel_versions"] = numbers(checkpoint["channel_versions"])
    seen = checkpoint["versions_seen"].items()
    checkpoint["versions_seen"] = {node: numbers(versions) for node, versions in seen}
    parent = found.parent_config
    # The graph's own config names an integration, and a copy names its source.
    of_config = ("thread_id", "ls_integration")
    metadata = {name: it for name, it in found.metadata.items() if name not in of_config}
    before = saver.get_tuple({"configurable": {**parent["configurable"]}}) if parent else None
    return {
        "step": step,
        "checkpoint": checkpoint,
        "metadata": project(metadata),
        "parent": parent and parent["configurable"]["checkpoint_id"],
        "writes": found.pending_writes,
        "writes before": before and before.pending_writes,
    }


def numbers(versions: dict[str, Any]) -> dict[str, int]:
    return {name: int(str(version).split(".")[0]) for name, version in versions.items()}


def state_of(graph: Any, thread: str) -> Any:
    found = graph.get_state(config(thread))
    return {"values": timeless(found.values), "next": found.next, "asks": len(found.interrupts)}


def timeless(values: dict[str, Any]) -> Any:
    """Without the ids that models make up, and without times of files."""
    plain = project({name: it for name, it in values.items() if name != "__interrupt__"})
    for message in plain.get("messages", []):
        del message["id"]
    if "files" in plain:
        plain["files"] = {name: it.get("content", it) for name, it in plain["files"].items()}
    return plain


def alike(graph: Any, saver: Any, *, is_first: bool = True) -> None:
    """Both threads have the same newest checkpoint, and the same state. After an earlier update their parents differ."""
    both = [held(saver, thread) for thread in (OWN, WIRE)]
    for one in both:
        if not is_first:
            del one["parent"]
            one["writes before"] = [write[1:] for write in one["writes before"]]
    same(*both)
    same(state_of(graph, OWN), state_of(graph, WIRE))


def go_on(graph: Any, saver: Any, *inputs: Any) -> None:
    """Both go on, and end alike."""
    for value in inputs:
        results = [graph.invoke(value, config(thread)) for thread in (OWN, WIRE)]
        same(timeless(results[0]), timeless(results[1]))
        same(state_of(graph, OWN), state_of(graph, WIRE))
