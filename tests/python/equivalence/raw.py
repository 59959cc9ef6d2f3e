"""Checkpoints, configs and histories made by hand, for tests that call a saver without a graph."""

from typing import Any


def config(thread: str, checkpoint_id: str | None = None, ns: str = "") -> dict[str, Any]:
    named = {"thread_id": thread, "checkpoint_ns": ns}
    if checkpoint_id is not None:
        named["checkpoint_id"] = checkpoint_id
    return {"configurable": named}


def checkpoint(
    checkpoint_id: str, versions: dict[str, Any], values: dict[str, Any], *, v: int = 4
) -> dict[str, Any]:
    return {
        "v": v,
        "id": checkpoint_id,
        "ts": "",
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {},
        "updated_channels": None,
    }


def metadata(step: int, **more: Any) -> dict[str, Any]:
    return {"source": "loop", "step": step, "parents": {}, **more}


class Chain:
    """Puts checkpoints one on the other on one thread. Ids are made so that the order of puts is their order."""

    def __init__(self, call: Any, thread: str, ns: str = ""):
        self.call = call
        self.thread = thread
        self.ns = ns
        self.count = 0

    def config(self, checkpoint_id: str | None = None) -> dict[str, Any]:
        return config(self.thread, checkpoint_id, self.ns)

    def put(
        self,
        parent: str | None,
        versions: dict[str, Any] | None = None,
        values: dict[str, Any] | None = None,
        *,
        new: list[str] | None = None,
        **more: Any,
    ) -> str:
        """Put a checkpoint on a parent and return its id. All its values are new unless `new` names them."""
        versions = versions or {}
        self.count += 1
        checkpoint_id = f"c{self.count:04}"
        new_versions = {name: versions[name] for name in (versions if new is None else new)}
        self.call(
            "put",
            self.config(parent),
            checkpoint(checkpoint_id, versions, values or {}),
            metadata(self.count, **more),
            new_versions,
        )
        return checkpoint_id

    def write(self, checkpoint_id: str, task: str, path: str, *writes: tuple[str, Any]) -> None:
        self.call("put_writes", self.config(checkpoint_id), list(writes), task, path)

    def values(self, checkpoint_id: str) -> dict[str, Any]:
        found = self.call("get_tuple", self.config(checkpoint_id))
        return found.checkpoint["channel_values"]

    def history(self, checkpoint_id: str | None, *channels: str) -> dict[str, Any]:
        """The delta history with the writes' values only: `{channel: {"writes": [...], "seed"?: …}}`."""
        found = self.call(
            "get_delta_channel_history", config=self.config(checkpoint_id), channels=list(channels)
        )
        return {
            channel: {
                **entry,
                "writes": [value for _, name, value in entry["writes"] if name == channel],
            }
            for channel, entry in found.items()
        }
