"""A checkpointer of one dictionary: the contract written down as plainly as possible, to compare the product with.

It keeps serialized values and JSON text, so what comes out shares nothing with what went in. It is a real saver (its
async methods call the sync ones), so graphs run on it too. Not here: locks, limits, speed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)

from differential.rules import contains, doomed_by_prune, pending_sends_added

Typed = tuple[str, bytes]
Key = tuple[str, str, str]
EMPTY: Typed = ("empty", b"")


@dataclass
class Row:
    """One checkpoint. `values` are bound to it: channel -> (version as JSON text, value)."""

    skeleton: str
    metadata: str
    parent: str | None
    values: dict[str, tuple[str, Typed]]
    # What the walk found before ancestors were removed: channel -> (seed, writes oldest first).
    bases: dict[str, tuple[Typed | None, list[tuple[str, Typed]]]] = field(default_factory=dict)
    sends: list[Typed] | None = None


class Exists(Exception):
    """A copy onto a thread that holds something."""


class ModelSaver(BaseCheckpointSaver[Any]):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.rows: dict[Key, Row] = {}
        # (thread, ns, id) -> {(task_id, idx): (task_path, channel, value)}
        self.writes: dict[Key, dict[tuple[str, int], tuple[str, str, Typed]]] = {}

    # Writing

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        thread, ns, parent = _target(config)
        key = (thread, ns, checkpoint["id"])
        if parent == checkpoint["id"]:
            parent = self.rows[key].parent if key in self.rows else None
        skeleton = {name: item for name, item in checkpoint.items() if name != "channel_values"}
        held = {
            name: self.serde.dumps_typed(item)
            for name, item in checkpoint["channel_values"].items()
        }
        kept = get_serializable_checkpoint_metadata(config, metadata)
        values = {}
        for channel, version in checkpoint["channel_versions"].items():
            text = json.dumps(version)
            if channel in new_versions:
                values[channel] = (text, held.get(channel, EMPTY))
            else:
                hint = held.get(channel) if kept.get("source") == "fork" else None
                carried = self._carried(key, parent, checkpoint["channel_versions"], channel, hint)
                values[channel] = (text, carried)
        self.rows.pop(key, None)
        self.rows[key] = Row(json.dumps(skeleton), json.dumps(kept), parent, values)
        return _config(*key)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        thread, ns, checkpoint_id = _target(config)
        assert checkpoint_id
        if not writes:
            return
        stored = self.writes.setdefault((thread, ns, checkpoint_id), {})
        for position, (channel, value) in enumerate(writes):
            slot = (task_id, WRITES_IDX_MAP.get(channel, position))
            if slot[1] < 0 or slot not in stored:
                stored[slot] = (task_path, channel, self.serde.dumps_typed(value))

    def _carried(
        self,
        key: Key,
        parent: str | None,
        versions: dict[str, Any],
        channel: str,
        hint: Typed | None,
    ) -> Typed:
        """The value of a channel that a put does not send: the hint's, the parent's, a sibling's or the newest."""
        wanted = json.dumps(versions[channel])
        stored = [
            (other, row)
            for other, row in self.rows.items()
            if other[0] == key[0] and row.values.get(channel, ("", EMPTY))[0] == wanted
        ]
        if hint is not None and any(row.values[channel][1] == hint for _, row in stored):
            return hint
        for other, row in stored:
            if parent is not None and other == (*key[:2], parent):
                return row.values[channel][1]
        for other, row in stored:
            same = json.loads(row.skeleton)["channel_versions"] == versions
            if other[:2] == key[:2] and row.parent == parent and same:
                return row.values[channel][1]
        return stored[-1][1].values[channel][1] if stored else EMPTY

    # Reading

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        thread, ns, checkpoint_id = _target(config)
        checkpoint_id = checkpoint_id or self.latest(thread, ns)
        key = (thread, ns, checkpoint_id or "")
        return self._tuple(key) if key in self.rows else None

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None
    ) -> Iterator[CheckpointTuple]:
        named = config["configurable"] if config else {}
        bound = before["configurable"].get("checkpoint_id") if before else None
        left = limit
        for key in sorted(self.rows, key=lambda key: (key[2], key[:2]), reverse=True):
            wanted = (
                named.get("thread_id"),
                named.get("checkpoint_ns"),
                named.get("checkpoint_id") or None,
            )
            if any(want is not None and want != has for want, has in zip(wanted, key, strict=True)):
                continue
            if bound and key[2] >= bound:
                continue
            if not contains(json.loads(self.rows[key].metadata), filter or {}):
                continue
            if left is not None:
                if left == 0:
                    return
                left -= 1
            yield self._tuple(key)

    def get_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> Any:
        thread, ns, checkpoint_id = _target(config)
        key = (thread, ns, checkpoint_id or self.latest(thread, ns) or "")
        found = {}
        for channel in channels:
            seed, writes = self._walk(key, channel) if key in self.rows else (None, [])
            loaded = [(task, channel, self.serde.loads_typed(value)) for task, value in writes]
            found[channel] = {"writes": loaded}
            if seed is not None:
                found[channel]["seed"] = self.serde.loads_typed(seed)
        return found

    def _walk(self, key: Key, channel: str) -> tuple[Typed | None, list[tuple[str, Typed]]]:
        row, collected = self.rows[key], []
        while channel not in row.bases:
            parent = (*key[:2], row.parent or "")
            if parent not in self.rows:
                return None, collected
            row = self.rows[parent]
            on_it = [
                (task, value) for task, name, value in self._ordered(parent) if name == channel
            ]
            collected = [*on_it, *collected]
            value = row.values.get(channel, ("", EMPTY))[1]
            if value[0] != "empty":
                return value, collected
        seed, older = row.bases[channel]
        return seed, [*older, *collected]

    def latest(self, thread: str, ns: str) -> str | None:
        return max((key[2] for key in self.rows if key[:2] == (thread, ns)), default=None)

    def _ordered(self, key: Key) -> list[tuple[str, str, Typed]]:
        stored = self.writes.get(key, {})
        order = sorted(stored, key=lambda slot: (stored[slot][0], *slot))
        return [(slot[0], stored[slot][1], stored[slot][2]) for slot in order]

    def _sends(self, key: Key) -> list[Typed]:
        """Old checkpoints found their pending sends among the writes of their parent."""
        row = self.rows[key]
        if row.sends is not None:
            return row.sends
        if row.parent is None or json.loads(row.skeleton)["v"] >= 4:
            return []
        parent = (*key[:2], row.parent)
        return [value for _, channel, value in self._ordered(parent) if channel == "__pregel_tasks"]

    def _tuple(self, key: Key) -> CheckpointTuple:
        row = self.rows[key]
        values = {
            channel: self.serde.loads_typed(value)
            for channel, (_, value) in row.values.items()
            if value[0] != "empty"
        }
        checkpoint = {**json.loads(row.skeleton), "channel_values": values}
        if sends := self._sends(key):
            pending_sends_added(checkpoint, [self.serde.loads_typed(send) for send in sends])
        return CheckpointTuple(
            config=_config(*key),
            checkpoint=checkpoint,
            metadata=json.loads(row.metadata),
            parent_config=_config(*key[:2], row.parent) if row.parent else None,
            pending_writes=[
                (task, channel, self.serde.loads_typed(value))
                for task, channel, value in self._ordered(key)
            ],
        )

    # Removing and copying

    def delete_thread(self, thread_id: str) -> None:
        for table in (self.rows, self.writes):
            for key in [key for key in table if key[0] == thread_id]:
                del table[key]

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._remove(
            {
                key
                for key, row in self.rows.items()
                if json.loads(row.metadata).get("run_id") in run_ids
            }
        )

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        for thread in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread)
                continue
            metadata = {
                k: json.loads(row.metadata) for k, row in self.rows.items() if k[0] == thread
            }
            doomed, ended = doomed_by_prune(metadata)
            self._remove(doomed)
            for key in [key for key in self.writes if key[0] == thread and key not in self.rows]:
                # Writes for a checkpoint that is still to come have a greater id than the newest one.
                if key[:2] in ended or key[2] < (self.latest(*key[:2]) or ""):
                    del self.writes[key]

    def _remove(self, doomed: set[Key]) -> None:
        """Remove checkpoints and their writes; what stays keeps what it would have found through them."""
        for key, row in self.rows.items():
            if key not in doomed and (*key[:2], row.parent or "") in doomed:
                row.sends = self._sends(key)
                row.bases = {channel: self._walk(key, channel) for channel in self._channels(key)}
        for key in doomed:
            del self.rows[key]
            self.writes.pop(key, None)
        for key, row in self.rows.items():
            row.parent = None if (*key[:2], row.parent or "") in doomed else row.parent

    def _channels(self, key: Key) -> set[str]:
        """Every channel of the namespace: more than the delta channels, which is all that anybody asks for."""
        rows = {
            channel
            for other, row in self.rows.items()
            if other[:2] == key[:2]
            for channel in row.values
        }
        based = {
            channel
            for other, row in self.rows.items()
            if other[:2] == key[:2]
            for channel in row.bases
        }
        written = [stored for other, stored in self.writes.items() if other[:2] == key[:2]]
        return rows | based | {channel for stored in written for _, channel, _ in stored.values()}

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        if self.holds(source_thread_id) and self.holds(target_thread_id):
            raise Exists(f"{target_thread_id} exists")
        for table in (self.rows, self.writes):
            for key in [key for key in table if key[0] == source_thread_id]:
                table[target_thread_id, *key[1:]] = copy.deepcopy(table[key])

    def holds(self, thread: str) -> bool:
        return any(key[0] == thread for table in (self.rows, self.writes) for key in table)

    # The async half

    async def aget_tuple(self, config: Any) -> Any:
        return self.get_tuple(config)

    async def alist(self, config: Any, **more: Any) -> AsyncIterator[CheckpointTuple]:
        for one in self.list(config, **more):
            yield one

    async def aput(self, *arguments: Any) -> Any:
        return self.put(*arguments)

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        self.put_writes(config, writes, task_id, task_path)

    async def aget_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> Any:
        return self.get_delta_channel_history(config=config, channels=channels)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.delete_for_runs(run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids, strategy=strategy)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)

    def get_next_version(self, current: Any, channel: Any) -> str:
        self._version = getattr(self, "_version", 0) + 1
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.0.{self._version:015}"


def _target(config: Any) -> tuple[str, str, str | None]:
    named = config["configurable"]
    return named["thread_id"], named.get("checkpoint_ns", ""), named.get("checkpoint_id") or None


def _config(thread: str, ns: str, checkpoint_id: str) -> Any:
    return {
        "configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    }
