"""A driver that holds every state it shows against what LangGraph's own SDK and its RemoteGraph get from the server."""

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
        self._hold(found, shown)
        if shown["checkpoint"] is not None:
            self._hold_remote(config, shown)
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
        assert len(shown) == len(found)
        for one, told in zip(found, shown, strict=True):
            self._hold(one, told)
        return found

    def _hold(self, expected: StateSnapshot, shown: Any) -> None:
        if expected.created_at is None:
            assert shown["checkpoint"] is None, shown
            return
        self.compared += 1
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
                assert told["checkpoint_ns"].endswith(f"{expected.name}:{expected.id}")
        else:
            assert state is None
            begun = self.call("get_tuple", inner) is not None
            told = {name: inner["configurable"][name] for name in ("thread_id", "checkpoint_ns")}
            assert checkpoint == (told if begun else None)

    def _hold_remote(self, config: dict[str, Any], shown: Any) -> None:
        told = self.remote.get_state(config, subgraphs=True)
        assert told.config["configurable"]["checkpoint_id"] == shown["checkpoint_id"]
        assert sorted(told.next) == sorted(shown["next"])
        assert told.created_at == shown["created_at"]
        assert len(told.interrupts) == len(shown["interrupts"])


def named(configurable: dict[str, Any]) -> Any:
    """The checkpoint that a config names, as the SDK sends it."""
    return {name: configurable[name] for name in OF_CHECKPOINT if name in configurable}


def checkpoint_of(config: Any) -> dict[str, Any] | None:
    return None if config is None else named(config["configurable"])
