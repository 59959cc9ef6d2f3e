"""A driver that holds every state it shows against `GET /v1/state`, which has no graph and no serializer of LangGraph."""

import base64
from typing import Any
from urllib.parse import urlencode

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph import START
from langgraph.types import StateSnapshot

from equivalence.differences import same
from equivalence.driver import Driver
from support.http import request
from support.server import Server

DELTA = _DeltaSnapshot(None)


class ShownDriver(Driver):
    """Compares each snapshot as soon as a scenario asks for it."""

    def __init__(self, saver: Any, server: Server, key: str):
        super().__init__(saver, "sync")
        self.server = server
        self.key = key
        self.compared = 0

    def state(self, graph: Any, config: dict[str, Any]) -> StateSnapshot:
        found = super().state(graph, config)
        self._compare(found, config["configurable"], config["configurable"].get("checkpoint_id"))
        return found

    def history(self, graph: Any, config: dict[str, Any], **more: Any) -> list[StateSnapshot]:
        found = super().history(graph, config, **more)
        for one in found:
            configurable = one.config["configurable"]
            self._compare(one, configurable, configurable["checkpoint_id"])
        return found

    def get(self, path: str, **parameters: str | None) -> Any:
        query = urlencode({name: it for name, it in parameters.items() if it is not None})
        answer = request(self.server.url, "GET", f"{path}?{query}", key=self.key)
        assert answer.status == 200, answer.body
        return answer.json()

    def _compare(
        self, expected: StateSnapshot, asked: dict[str, Any], checkpoint_id: str | None
    ) -> None:
        ns = asked.get("checkpoint_ns", "")
        shown = self.get(
            "/v1/state",
            thread_id=asked["thread_id"],
            checkpoint_ns=ns,
            checkpoint_id=checkpoint_id,
        ).get("state")
        if shown is None:
            assert expected.created_at is None, expected
            return
        self.compared += 1
        expected = self._renamed(expected)
        unmerge(shown["values"])
        tasks = [task_of(task) for task in expected.tasks]
        same(
            {
                "values": self._values(expected, shown),
                "next": sorted(expected.next),
                "tasks": sorted(tasks, key=by_id),
                "metadata": project(expected.metadata),
                "created_at": expected.created_at,
                "checkpoint_id": expected.config["configurable"]["checkpoint_id"],
                "parent": parent_of(expected),
                "interrupts": len(expected.interrupts),
            },
            {
                "values": shown["values"],
                "next": sorted(shown["next"]),
                "tasks": sorted(shown["tasks"], key=by_id),
                "metadata": shown["metadata"],
                "created_at": shown["created_at"],
                "checkpoint_id": shown["checkpoint_id"],
                "parent": shown.get("parent_checkpoint_id"),
                "interrupts": len(shown["interrupts"]),
            },
        )
        for task in expected.tasks:
            if isinstance(task.state, StateSnapshot) and task.state.config:
                inner = task.state.config["configurable"]
                self._compare(task.state, inner, None)

    def _renamed(self, expected: StateSnapshot) -> StateSnapshot:
        """The function of a functional graph is called `__start__` until it has run once."""
        checkpoint = self.call("get_tuple", expected.config).checkpoint
        seen = checkpoint["versions_seen"].items()
        has_run = any(
            START in it for name, it in seen if name not in ("__input__", "__interrupt__")
        )
        if has_run or START not in checkpoint["channel_values"]:
            return expected
        tasks = [it._replace(name=START, path=(*it.path[:-1], START)) for it in expected.tasks]
        return expected._replace(tasks=tuple(tasks), next=(START,) * len(expected.next))

    def _values(self, expected: StateSnapshot, shown: dict[str, Any]) -> Any:
        """Without what no reducer of the server can know: see the description of the route."""
        if expected.values is None:
            # A functional graph that has not returned yet.
            return {}
        values = project(expected.values)
        stored = self.call("get_tuple", expected.config)
        held = stored.checkpoint["channel_values"]
        pending = {channel for _, channel, _ in stored.pending_writes}
        for name in list(values):
            # A delta channel is held as a snapshot, or not at all.
            if name in pending and not isinstance(held.get(name, DELTA), _DeltaSnapshot):
                values[name] = project(held[name])
            if values[name] in ([], {}) and name not in shown["values"]:
                # Channels that nothing was written to yet: the graph knows their names, the checkpoint does not.
                del values[name]
        return values


def unmerge(values: dict[str, Any]) -> None:
    """The logs of the scenarios have a reducer of their own; it adds lists."""
    log = values.get("log")
    if isinstance(log, dict):
        values["log"] = [*log.get("$seed", []), *(one for it in log["$delta_writes"] for one in it)]


def parent_of(snapshot: StateSnapshot) -> str | None:
    parent = snapshot.parent_config
    return None if parent is None else parent["configurable"]["checkpoint_id"]


def by_id(task: dict[str, Any]) -> str:
    return str(task["id"])


def task_of(task: Any) -> dict[str, Any]:
    """In the form in which the route tells a task: what it does not have is absent."""
    told = {
        "id": task.id,
        "name": task.name,
        "path": list(task.path),
        "interrupts": [{"id": it.id, "value": project(it.value)} for it in task.interrupts],
    }
    if task.error is not None:
        told["error"] = project(task.error)
    if task.result is not None:
        told["result"] = project(task.result)
    return told


def project(value: Any) -> Any:
    """Plain JSON, as the description of values for display has it, without the code under test."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, BaseMessage):
        return project(value.model_dump())
    if isinstance(value, dict):
        return {str(name): project(it) for name, it in value.items()}
    if isinstance(value, list | tuple | set):
        return [project(it) for it in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a scenario shows a {type(value).__name__}, teach the projection about it")
