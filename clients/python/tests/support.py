"""Checkpoints and configs as the tests need them."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import CheckpointMetadata


def config(
    thread_id: Any = "t", checkpoint_id: str | None = None, checkpoint_ns: str | None = ""
) -> Any:
    keys: dict[str, Any] = {"thread_id": thread_id}
    if checkpoint_ns is not None:
        keys["checkpoint_ns"] = checkpoint_ns
    if checkpoint_id is not None:
        keys["checkpoint_id"] = checkpoint_id
    return {"configurable": keys}


def checkpoint(checkpoint_id: str, values: dict[str, Any] | None = None, **others: Any) -> Any:
    """A checkpoint whose channels all have version 1, unless `channel_versions` is given."""
    return {
        "v": 4,
        "id": checkpoint_id,
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values or {},
        "channel_versions": dict.fromkeys(values or {}, 1),
        "versions_seen": {},
        "updated_channels": None,
        **others,
    }


def metadata(**others: Any) -> CheckpointMetadata:
    return {"source": "loop", "step": 1, "parents": {}, **others}  # type: ignore[typeddict-item]


def delta_thread(saver: Any, count: int, thread_id: str = "t", size: int = 1) -> None:
    """Checkpoints c000, c001, … of a thread whose channel `log` is a delta channel.

    c000 has a value, each next one follows from a write on the one before.
    """
    at = saver.put(config(thread_id), checkpoint("c000", {"log": ["seed"]}), metadata(), {"log": 1})
    for number in range(1, count):
        saver.put_writes(at, [("log", f"w{number - 1}" * size)], f"task-{number}", "~p")
        at = saver.put(
            at,
            checkpoint(f"c{number:03}", channel_versions={"log": number + 1}),
            metadata(counters_since_delta_snapshot={"log": [number, number]}),
            {"log": number + 1},
        )


def written(history: Any, channel: str = "log") -> list[Any]:
    return [value for _, _, value in history[channel]["writes"]]
