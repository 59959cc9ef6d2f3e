"""From the arguments of the base saver to the bodies of the protocol.

Values are serialized here, at call time and with the serializer of the saver that was called.
Skeleton, metadata, versions and filters travel as the JSON text made here, pure ASCII.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ormsgpack
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from threadkeep.errors import InvalidError, TooLargeError
from threadkeep.langgraph.differences import BYTES_MIN

VALUE_BYTES_MAX = 256 * 1024 * 1024
"""As the server has it, `value_bytes_max` in GET /v1/limits."""
EMPTY = "empty"
"""Tag of a channel whose version moved and that has no value: absent, which is not null."""

# The defaults of json.dumps but for NaN, which is not JSON. Made once: json.dumps makes one a call.
# Stands for a value that is put in when the request is sent. Random, so that no data holds it.
_GAP = secrets.token_bytes(16)
_GAP_PACKED = b"\xc4\x10" + _GAP

_to_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class Target(NamedTuple):
    """The three keys of a config that matter. An absent id means the latest."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str | None


class Value(NamedTuple):
    """A value that may travel as a difference, and the place it stands at in its thread.

    A value that is not stored is only compared (the carried ones of a fork).
    """

    place: str
    data: bytes
    is_stored: bool


class Op(NamedTuple):
    """One operation of a commit, packed but for its large values, and its checkpoint.

    `texts` go before, between and behind the values. `size_bytes` is that of the whole. `based_on`
    is the id of the checkpoint that it goes on from: a put's parent, or that of the writes.
    """

    texts: tuple[bytes, ...]
    values: tuple[Value, ...]
    checkpoint_ns: str
    checkpoint_id: str
    is_put: bool
    size_bytes: int
    based_on: str | None


def target_of(config: RunnableConfig) -> Target:
    """Read a config. `None` and `""` as checkpoint_id are the same as no checkpoint_id."""
    keys = config.get("configurable") or {}
    checkpoint_id = keys.get("checkpoint_id")
    return Target(
        thread_id_of(keys.get("thread_id")),
        str(keys.get("checkpoint_ns") or ""),
        str(checkpoint_id) if checkpoint_id else None,
    )


def thread_id_of(value: object) -> str:
    """A thread id as text; numbers and UUIDs are taken as their text."""
    if value is None or value == "":
        raise InvalidError("config needs a configurable.thread_id", field="thread_id")
    return value if isinstance(value, str) else str(value)


def config_of(thread_id: str, checkpoint_ns: str, checkpoint_id: str) -> RunnableConfig:
    """A config of exactly the three keys."""
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": checkpoint_ns,
            "checkpoint_id": checkpoint_id,
        }
    }


def exact(value: object, field: str) -> bytes:
    """JSON text that the server keeps byte for byte. Raises InvalidError naming `field`."""
    try:
        return _to_json(value).encode("ascii")
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidError(f"{field} is not JSON: {error}", field=field) from error


def packed(body: Mapping[str, Any]) -> bytes:
    """MessagePack of a body. Raises InvalidError for what has no UTF-8, such as a surrogate."""
    try:
        return ormsgpack.packb(body)
    except (ormsgpack.MsgpackEncodeError, UnicodeEncodeError) as error:
        raise InvalidError(f"the request cannot be encoded: {error}") from error


def checkpoint_op(
    serde: SerializerProtocol,
    config: RunnableConfig,
    target: Target,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    new_versions: ChannelVersions,
) -> Op:
    """The operation of a put: the skeleton, and the values of the channels with new versions."""
    values = checkpoint["channel_values"]
    parts = _Parts(serde, target.checkpoint_ns)
    kept = get_serializable_checkpoint_metadata(config, metadata)
    body: dict[str, Any] = {
        "checkpoint_ns": target.checkpoint_ns,
        "checkpoint_id": checkpoint["id"],
        "skeleton": exact(
            {k: v for k, v in checkpoint.items() if k != "channel_values"}, "checkpoint"
        ),
        "metadata": exact(kept, "metadata"),
        "values": [
            parts.value(channel, version, values) for channel, version in new_versions.items()
        ],
    }
    if target.checkpoint_id is not None:
        body["parent_checkpoint_id"] = target.checkpoint_id
    if kept.get("source") == "fork":
        # A copied checkpoint has values of one that is no ancestor; these tell which are meant.
        body["carried"] = [
            parts.value(channel, version, values, is_stored=False)
            for channel, version in checkpoint["channel_versions"].items()
            if channel in values and channel not in new_versions
        ]
    about = (checkpoint["id"], target.checkpoint_id)
    return parts.op({"checkpoint": body}, about, is_put=True)


def writes_op(
    serde: SerializerProtocol,
    target: Target,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
    seq: int,
) -> Op:
    """The operation of a put_writes: position is identity, but for the special channels."""
    if target.checkpoint_id is None:
        raise InvalidError("config needs a configurable.checkpoint_id", field="checkpoint_id")
    parts = _Parts(serde, target.checkpoint_ns)
    entries = [
        {"idx": WRITES_IDX_MAP.get(channel, position), **parts.write(channel, value)}
        for position, (channel, value) in enumerate(writes)
    ]
    body = {
        "checkpoint_ns": target.checkpoint_ns,
        "checkpoint_id": target.checkpoint_id,
        "task_id": task_id,
        "task_path": task_path,
        "seq": seq,
        "writes": entries,
    }
    about = (target.checkpoint_id, target.checkpoint_id)
    return parts.op({"writes": body}, about, is_put=False)


def commit_body(
    thread_id: str, writer: str, terms: Mapping[str, Any], ops: Sequence[bytes]
) -> bytes:
    """The body of a commit from operations that are packed already: a head, then the parts.

    `terms` are the conditions on the thread.
    """
    head: dict[str, Any] = {"thread_id": thread_id, "writer": writer, **terms}
    # One entry more than the head has, in a map of under 16 entries: its first byte is the count.
    text = packed(head)
    count = len(ops)
    array = bytes((0x90 | count,)) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
    return b"".join((bytes((text[0] + 1,)), text[1:], b"\xa3ops", array, *ops))


def bin_of(data: bytes) -> bytes:
    """Data as MessagePack."""
    size = len(data)
    if size < 1 << 8:
        return b"\xc4" + size.to_bytes(1, "big") + data
    if size < 1 << 16:
        return b"\xc5" + size.to_bytes(2, "big") + data
    return b"\xc6" + size.to_bytes(4, "big") + data


def _check_size(channel: str, data: bytes) -> None:
    """Raises TooLargeError, which names the channel, before anything is sent."""
    if len(data) > VALUE_BYTES_MAX:
        raise TooLargeError(
            f"the value of channel {channel!r} has {len(data)} bytes, and value_bytes_max is "
            f"{VALUE_BYTES_MAX} bytes",
            field=channel,
            limit=VALUE_BYTES_MAX,
        )


class _Parts:
    """Serializes the values of one operation and keeps the large ones apart."""

    def __init__(self, serde: SerializerProtocol, checkpoint_ns: str) -> None:
        self._serde = serde
        self._checkpoint_ns = checkpoint_ns
        self._values: list[Value] = []

    def value(
        self, channel: str, version: object, values: Mapping[str, Any], *, is_stored: bool = True
    ) -> dict[str, Any]:
        """An entry of `values` or `carried`."""
        entry: dict[str, Any] = {"channel": channel, "version": exact(version, "new_versions")}
        if channel in values:
            tag, data = self._serde.dumps_typed(values[channel])
            _check_size(channel, data)
            return {**entry, "tag": tag, "data": self._data("v", channel, data, is_stored)}
        return {**entry, "tag": EMPTY}

    def write(self, channel: str, value: Any) -> dict[str, Any]:
        """An entry of `writes`, without its position."""
        tag, data = self._serde.dumps_typed(value)
        _check_size(channel, data)
        return {"channel": channel, "tag": tag, "data": self._data("w", channel, data, True)}

    def op(self, body: Mapping[str, Any], about: tuple[str, str | None], *, is_put: bool) -> Op:
        """The operation; `about` has its checkpoint and what it goes on from. Raises InvalidError
        for what cannot be packed."""
        checkpoint_id, based_on = about
        text = packed(body)
        size = len(text) + sum(len(value.data) for value in self._values)
        texts = tuple(text.split(_GAP_PACKED)) if self._values else (text,)
        values = tuple(self._values)
        return Op(texts, values, self._checkpoint_ns, checkpoint_id, is_put, size, based_on)

    def _data(self, kind: str, channel: str, data: bytes, is_stored: bool) -> bytes:
        if len(data) < BYTES_MIN:
            return data
        place = f"{kind}|{self._checkpoint_ns}|{channel}"
        # Serializers may give the caller's own bytearray, which can change.
        self._values.append(Value(place, bytes(data), is_stored))
        return _GAP
