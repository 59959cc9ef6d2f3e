"""From the answers of the server to the tuples of the base saver.

A field that is missing or of the wrong kind is a ProtocolError, never an empty result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol

from threadkeep.errors import CodecError, ProtocolError
from threadkeep.langgraph.encode import EMPTY, config_of

TASKS = "__pregel_tasks"
"""The channel of pending sends. Before format 4 they were kept as writes on the parent."""


@contextmanager
def reading_answer() -> Iterator[None]:
    """Turn what goes wrong while a decoded answer is taken apart into a ProtocolError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        detail = f"the answer lacks a field or has another shape: {error!r}"
        raise ProtocolError(detail) from error


def json_of(text: bytes) -> dict[str, Any]:
    """The object of an exact text."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ProtocolError(f"the answer holds text that is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ProtocolError("the answer holds JSON text that is not an object")
    return value


def loaded(serde: SerializerProtocol, tag: str, data: bytes, channel: str) -> Any:
    """One stored value.

    An unknown tag, such as one of another language, is a CodecError; so is damaged data.
    """
    try:
        return serde.loads_typed((tag, data))
    except NotImplementedError as error:
        raise CodecError(
            f"channel {channel!r} was stored with codec {tag!r}, which "
            f"{type(serde).__name__} cannot read"
        ) from error
    except CodecError as error:
        raise CodecError(f"channel {channel!r} cannot be read: {error}") from error


class View:
    """One checkpoint of an answer, taken apart and checked, its values not yet deserialized."""

    __slots__ = ("checkpoint_id", "checkpoint_ns", "parent_id", "raw", "skeleton", "thread_id")

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.thread_id: str = raw["thread_id"]
        self.checkpoint_ns: str = raw["checkpoint_ns"]
        self.checkpoint_id: str = raw["checkpoint_id"]
        self.parent_id: str | None = raw.get("parent_checkpoint_id")
        self.skeleton = json_of(raw["skeleton"])

    @property
    def parent_config(self) -> RunnableConfig | None:
        """The parent's config, None for a root."""
        if self.parent_id is None:
            return None
        return config_of(self.thread_id, self.checkpoint_ns, self.parent_id)


def tuple_of(
    view: View, serde: SerializerProtocol, next_version: Callable[[str | None, None], str]
) -> CheckpointTuple:
    """The tuple of a checkpoint; every call deserializes anew, so that nothing is shared."""
    with reading_answer():
        raw = view.raw
        stored = [(v["channel"], v["tag"], _data(v)) for v in raw["values"] if v["tag"] != EMPTY]
        pending = [(w["task_id"], w["channel"], w["tag"], _data(w)) for w in raw["writes"]]
        sends = [(s["tag"], _data(s)) for s in raw.get("pending_sends") or ()]
        metadata: Any = json_of(raw["metadata"])
    values = {channel: loaded(serde, tag, data, channel) for channel, tag, data in stored}
    checkpoint: Any = {**view.skeleton, "channel_values": values}
    # The server keeps the sends of a parent that was pruned, so the parent itself does not count.
    if sends and view.skeleton.get("v", 4) < 4:
        values[TASKS] = [loaded(serde, tag, data, TASKS) for tag, data in sends]
        _add_version(checkpoint, next_version)
    return CheckpointTuple(
        config_of(view.thread_id, view.checkpoint_ns, view.checkpoint_id),
        checkpoint,
        metadata,
        view.parent_config,
        [
            (task_id, channel, loaded(serde, tag, data, channel))
            for task_id, channel, tag, data in pending
        ],
    )


def _add_version(checkpoint: Checkpoint, next_version: Callable[[str | None, None], str]) -> None:
    versions = checkpoint["channel_versions"]
    # Numbers and text do not compare; a thread has one kind, and a mix must not fail a read.
    newest = max(versions.values(), key=lambda v: (isinstance(v, str), v), default=None)
    versions[TASKS] = next_version(None, None) if newest is None else newest


def _data(entry: dict[str, Any]) -> bytes:
    data = entry.get("data")
    if data is None:
        return b""
    if not isinstance(data, bytes):
        raise TypeError("data is not bytes")
    return data
