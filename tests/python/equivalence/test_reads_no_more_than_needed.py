"""A read of one checkpoint must not touch its ancestors unless a delta channel needs them."""

from typing import Any

from equivalence import graphs
from equivalence.raw import Chain
from support.native import Native

STEPS = 600


def call(saver: Any) -> Any:
    return lambda method, *arguments, **more: getattr(saver, method)(*arguments, **more)


def test_a_get_on_a_long_plain_thread_reads_no_ancestor(saver: Any, native: Native) -> None:
    chain, parent = Chain(call(saver), "plain"), None
    for step in range(STEPS):
        versions = {"log": step + 1, "branch:to:step": step + 2, "__start__": 2}
        parent = chain.put(parent, versions, {"log": [step]}, new=["log", "branch:to:step"])
    answer = native.get("plain")
    assert answer["checkpoint"]["checkpoint_id"] == parent
    assert answer["chain"] == []
    assert {"branch:to:step", "__start__"}.isdisjoint(answer["history_channels"])


def test_a_get_on_a_delta_thread_reads_ancestors_down_to_the_seed_and_no_further(
    saver: Any, native: Native
) -> None:
    graph = graphs.looping("delta", saver, steps=30)
    config = {"configurable": {"thread_id": "delta"}, "recursion_limit": 100}
    result = graph.invoke({"log": ["in"]}, config)
    answer = native.get("delta")
    assert len(result["log"]) == 31
    assert 0 < len(answer["chain"]) <= graphs.SNAPSHOT_EVERY + 1
