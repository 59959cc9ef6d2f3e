"""Runs a graph, sync or async, and writes down everything that it then shows: a transcript.

A scenario is written once against a Driver; the driver knows which half of the saver and of LangGraph to call.
"""

import asyncio
import sys
from typing import Any

from langgraph.types import StateSnapshot

from equivalence.normalise import Normaliser

# An async node finds its interrupt and its config by itself from Python 3.11 on (LangGraph's own limit).
MODES = ("sync", "async") if sys.version_info >= (3, 11) else ("sync",)


class Driver:
    """One scenario's hands and notebook. Close it: it owns an event loop in async mode."""

    def __init__(self, saver: Any, mode: str):
        self.saver = saver
        self.transcript: list[tuple[str, Any]] = []
        self.normalise = Normaliser()
        self._runner = asyncio.Runner() if mode == "async" else None

    def close(self) -> None:
        if self._runner:
            self._runner.close()

    def config(self, thread: str = "t", **more: Any) -> dict[str, Any]:
        return {"configurable": {"thread_id": thread, **more}}

    def invoke(self, graph: Any, value: Any, config: dict[str, Any], **more: Any) -> Any:
        """Run and note the result, or the error that the run ends with."""
        try:
            if self._runner:
                result = self._runner.run(graph.ainvoke(value, config, **more))
            else:
                result = graph.invoke(value, config, **more)
        except RuntimeError as error:
            self.note("raised", error)
            return error
        self.note("result", result)
        return result

    def update(self, graph: Any, config: Any, values: Any, **more: Any) -> dict[str, Any]:
        if self._runner:
            made = self._runner.run(graph.aupdate_state(config, values, **more))
        else:
            made = graph.update_state(config, values, **more)
        self.transcript.append(("updated", self.normalise.config(made)))
        return made

    def state(self, graph: Any, config: dict[str, Any]) -> StateSnapshot:
        if self._runner:
            found = self._runner.run(graph.aget_state(config, subgraphs=True))
        else:
            found = graph.get_state(config, subgraphs=True)
        self.transcript.append(("state", self._snapshot(found)))
        return found

    def history(self, graph: Any, config: dict[str, Any], **more: Any) -> list[StateSnapshot]:
        if self._runner:
            found = self._runner.run(_collect(graph.aget_state_history(config, **more)))
        else:
            found = list(graph.get_state_history(config, **more))
        self.transcript.append(("history", [self._snapshot(one) for one in found]))
        return found

    def raw(self, thread: str = "t") -> list[Any]:
        """What the saver itself holds for a thread, in all namespaces, with the pending writes in order."""
        tuples = self.call("list", self.config(thread))
        namespaces: dict[str, list[Any]] = {}
        for one in tuples:
            ns = one.config["configurable"]["checkpoint_ns"]
            namespaces.setdefault(ns, []).append(one)
        # By the oldest checkpoint: namespaces hold random ids, the times of their first steps do not.
        oldest_first = sorted(namespaces.values(), key=lambda found: _id_of(found[-1]))
        self.transcript.append(("raw", [[self._tuple(one) for one in ns] for ns in oldest_first]))
        return tuples

    def all(self, graph: Any, config: dict[str, Any] | None = None) -> None:
        """Everything there is to see of a thread."""
        config = config or self.config()
        self.state(graph, config)
        self.history(graph, config)
        self.raw(config["configurable"]["thread_id"])

    def each(self, graph: Any) -> None:
        """The same, and every checkpoint by itself, with the states of its subgraphs."""
        self.all(graph)
        for one in self.history(graph, self.config()):
            self.state(graph, one.config)

    def call(self, method: str, *arguments: Any, **more: Any) -> Any:
        """One of the saver's own methods, by its sync name."""
        if self._runner is None:
            found = getattr(self.saver, method)(*arguments, **more)
            return list(found) if method == "list" else found
        found = getattr(self.saver, f"a{method}")(*arguments, **more)
        return self._runner.run(_collect(found) if method == "list" else found)

    def note(self, what: str, value: Any) -> None:
        self.transcript.append((what, self.normalise(value)))

    def _snapshot(self, snapshot: StateSnapshot) -> dict[str, Any]:
        return {
            "values": self.normalise(snapshot.values),
            "next": list(snapshot.next),
            "config": self.normalise.config(snapshot.config),
            "metadata": self.normalise.metadata(snapshot.metadata),
            "has_time": snapshot.created_at is not None,
            "parent": self.normalise.config(snapshot.parent_config),
            "tasks": [self._task(task) for task in snapshot.tasks],
            "interrupts": self.normalise(list(snapshot.interrupts)),
        }

    def _task(self, task: Any) -> dict[str, Any]:
        shown = {
            name: self.normalise(getattr(task, name)) for name in task._fields if name != "state"
        }
        if isinstance(task.state, StateSnapshot):
            return {**shown, "state": self._snapshot(task.state)}
        return {**shown, "state": self.normalise.config(task.state)}

    def _tuple(self, one: Any) -> dict[str, Any]:
        return {
            "config": self.normalise.config(one.config),
            "checkpoint": self.normalise(one.checkpoint),
            "metadata": self.normalise.metadata(one.metadata),
            "parent": self.normalise.config(one.parent_config),
            "writes": [self.normalise(list(write)) for write in one.pending_writes or []],
        }


def _id_of(one: Any) -> str:
    return one.config["configurable"]["checkpoint_id"]


async def _collect(found: Any) -> list[Any]:
    return [one async for one in found]
