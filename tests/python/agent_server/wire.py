"""A driver that holds every state it shows against what LangGraph's own SDK and its RemoteGraph get from the server."""

import copy
from typing import Any

from langgraph.pregel.remote import RemoteGraph
from langgraph.types import StateSnapshot
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from display.shown import ShownDriver, by_id, project, unmerge
from equivalence.differences import same
from equivalence.driver import Driver
from support.server import Server

OF_CHECKPOINT = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")


def sdk(server: Server, key: str) -> SyncLangGraphClient:
    return get_sync_client(url=server.url, api_key=key)


class WireDriver(ShownDriver):
    """Compares each snapshot as soon as a scenario asks for it."""

    def __init__(self, saver: Any, server: Server, key: str):
        super().__init__(saver, server, key)
        self.client = sdk(server, key)
        self.remote = RemoteGraph("agent", sync_client=self.client)

    def state(self, graph: Any, config: dict[str, Any]) -> StateSnapshot:
        found = Driver.state(self, graph, config)
        asked = config["configurable"]
        shown = self.client.threads.get_state(
            asked["thread_id"], checkpoint=named(asked), subgraphs=True
        )
        as_told = copy.deepcopy(shown)
        self._hold(found, shown)
        if shown["checkpoint"] is not None:
            hold_remote(self.remote.get_state(config, subgraphs=True), as_told)
        return found

    def history(self, graph: Any, config: dict[str, Any], **more: Any) -> list[StateSnapshot]:
        found = Driver.history(self, graph, config, **more)
        asked = config["configurable"]
        before = more.get("before")
        shown = self.client.threads.get_history(
            asked["thread_id"],
            limit=more.get("limit") or 1000,
            before=named(before["configurable"]) if before else None,
            metadata=more.get("filter"),
            checkpoint=named(asked),
        )
        remote = self.remote.get_state_history(config, **{"limit": 1000, **more})
        for one, told, far in zip(found, shown, remote, strict=True):
            as_told = copy.deepcopy(told)
            self._hold(one, told)
            hold_remote(far, as_told)
        return found

    def _hold(self, expected: StateSnapshot, shown: Any) -> None:
        if expected.created_at is None:
            assert shown["checkpoint"] is None, shown
            return
        self.compared += 1
        expected = self._renamed(expected)
        unmerge(shown["values"])
        told = {
            "values": self._values(expected, shown),
            "next": sorted(expected.next),
            "metadata": project(expected.metadata),
            "created_at": expected.created_at,
            "checkpoint": checkpoint_of(expected.config),
            "parent_checkpoint": checkpoint_of(expected.parent_config),
            "interrupts": len(expected.interrupts),
            "checkpoint_id": expected.config["configurable"]["checkpoint_id"],
        }
        parent = told["parent_checkpoint"]
        told["parent_checkpoint_id"] = parent and parent["checkpoint_id"]
        tasks = shown.pop("tasks")
        same(told, {**shown, "next": sorted(shown["next"]), "interrupts": len(shown["interrupts"])})
        assert len(tasks) == len(expected.tasks)
        by = sorted(expected.tasks, key=lambda it: it.id)
        for task, one in zip(by, sorted(tasks, key=by_id), strict=True):
            self._hold_task(task, one)

    def _hold_task(self, expected: Any, shown: dict[str, Any]) -> None:
        state, checkpoint = shown.pop("state"), shown.pop("checkpoint")
        same(
            {
                "id": expected.id,
                "name": expected.name,
                "path": project(expected.path),
                "error": project(expected.error),
                "interrupts": [
                    {"id": it.id, "value": project(it.value)} for it in expected.interrupts
                ],
                "result": project(expected.result),
            },
            shown,
        )
        inner = expected.state
        if isinstance(inner, StateSnapshot):
            assert checkpoint is None
            if inner.created_at is None:
                # It has not begun: nothing stored tells of it.
                assert state is None
            else:
                self._hold(inner, state)
        elif inner is None:
            # A graph that a node calls by itself has checkpoints, of which the graph around it does not know.
            for told in filter(None, (checkpoint, state and state["checkpoint"])):
                names = (expected.name, f"{expected.name}:{expected.id}")
                assert told["checkpoint_ns"].split("|")[-1] in names
        else:
            assert state is None
            told = {name: inner["configurable"][name] for name in ("thread_id", "checkpoint_ns")}
            # What remembers is told under the name that it is stored by.
            remembering = {**told, "checkpoint_ns": without_ids(told["checkpoint_ns"])}
            begun = (it for it in (told, remembering) if self._is_stored(it))
            assert checkpoint == next(begun, None)

    def _is_stored(self, configurable: dict[str, Any]) -> bool:
        return self.call("get_tuple", {"configurable": configurable}) is not None


def hold_remote(told: StateSnapshot, shown: dict[str, Any]) -> None:
    """RemoteGraph gives what the wire tells: the same fields, but for paths of tasks, which it leaves out."""
    config = {
        **shown["checkpoint"],
        "checkpoint_map": shown["checkpoint"].get("checkpoint_map", {}),
    }
    same(config, told.config["configurable"])
    parent = shown["parent_checkpoint"]
    assert (told.parent_config is None) == (parent is None)
    if told.parent_config and parent:
        assert checkpoint_of(told.parent_config) == {"checkpoint_map": {}, **parent}
    assert told.created_at == shown["created_at"]
    assert list(told.next) == shown["next"]
    same(shown["values"], told.values)
    same(shown["metadata"], dict(told.metadata or {}))
    assert len(told.interrupts) == len(shown["interrupts"])
    for one, task in zip(told.tasks, shown["tasks"], strict=True):
        assert (one.id, one.name, one.result) == (task["id"], task["name"], task["result"])
        assert (one.error and str(one.error)) == task["error"]
        assert [(it.id, it.value) for it in one.interrupts] == [
            (it["id"], it["value"]) for it in task["interrupts"]
        ]
        if isinstance(one.state, StateSnapshot):
            hold_remote(one.state, task["state"])
        else:
            assert (one.state and one.state["configurable"]) == task["checkpoint"]


def named(configurable: dict[str, Any]) -> Any:
    """The checkpoint that a config names, as the SDK sends it."""
    return {name: configurable[name] for name in OF_CHECKPOINT if name in configurable}


def without_ids(checkpoint_ns: str) -> str:
    """The namespace of a subgraph that remembers from turn to turn."""
    return "|".join(it.split(":")[0] for it in checkpoint_ns.split("|"))


def checkpoint_of(config: Any) -> dict[str, Any] | None:
    return None if config is None else named(config["configurable"])
