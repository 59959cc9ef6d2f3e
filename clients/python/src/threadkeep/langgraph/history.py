"""Delta history: the chain of an answer, and the walk that reads one channel out of it.

Pure: no I/O, no serializer. Values stay the bytes that came, and are deserialized by each reader.
The rules of the walk are those of the protocol, "Delta history".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from threadkeep.errors import ProtocolError

ENTRY_BYTES = 150
"""What a node or a write costs in memory beside its data, roughly."""

Stored = tuple[str, bytes]
"""A stored value: codec tag and bytes."""

Key = tuple[str, str]
"""Namespace and id of a checkpoint."""


class Write(NamedTuple):
    """One write of a task on the channel in question."""

    task_id: str
    tag: str
    data: bytes


class ChannelHistory(NamedTuple):
    """What one channel contributed: the value it started from, if any, and writes oldest first."""

    seed: Stored | None
    writes: list[Write]


class Node(NamedTuple):
    """One ancestor, with what it holds of the channels asked for."""

    checkpoint_id: str
    parent_id: str | None
    seeds: dict[str, Stored]
    writes: dict[str, list[Write]]
    bases: dict[str, ChannelHistory]
    size_bytes: int


class Target(NamedTuple):
    """A checkpoint whose history is asked: where the walk begins, and bases that replace it.

    `channels` are those whose whole history the chain holds; of another it may hold a part.
    """

    parent_id: str | None
    bases: dict[str, ChannelHistory]
    channels: frozenset[str]


class Chain(NamedTuple):
    """Ancestors by key, newest first, and the targets whose histories they hold.

    `digest` names everything from the first node on, when the chain is one walk.
    """

    nodes: dict[Key, Node]
    targets: dict[Key, Target]
    digest: str | None
    ids: frozenset[Key]
    size_bytes: int

    @property
    def first_id(self) -> str | None:
        """Id of the newest node, which `digest` belongs to."""
        return next(iter(self.nodes))[1] if self.nodes else None


def chain_of(
    nodes: Iterable[tuple[str, Node]],
    targets: dict[Key, Target],
    digest: str | None = None,
) -> Chain:
    """Build a chain. `ids` holds every id whose change would change an answer."""
    by_key = {(ns, node.checkpoint_id): node for ns, node in nodes}
    parents = [(ns, node.parent_id) for (ns, _), node in by_key.items()]
    parents += [(ns, target.parent_id) for (ns, _), target in targets.items()]
    ids = frozenset(by_key).union((ns, parent) for ns, parent in parents if parent is not None)
    size = sum(node.size_bytes for node in by_key.values())
    size += sum(ENTRY_BYTES + _bases_bytes(target.bases) for target in targets.values())
    return Chain(by_key, targets, digest, ids, size)


def history_in(chain: Chain, key: Key, channel: str) -> ChannelHistory:
    """The history of one channel of a target that the chain holds."""
    target = chain.targets[key]
    if channel in target.bases:
        return target.bases[channel]
    seed: Stored | None = None
    groups: list[Sequence[Write]] = []
    parent_id, steps_left = target.parent_id, len(chain.nodes)
    while parent_id is not None and (node := chain.nodes.get((key[0], parent_id))) is not None:
        if steps_left == 0:
            raise ProtocolError("the delta history goes in a circle")
        steps_left -= 1
        groups.append(node.writes.get(channel, ()))
        if channel in node.seeds:
            seed = node.seeds[channel]
            break
        if channel in node.bases:
            seed, older = node.bases[channel]
            groups.append(older)
            break
        parent_id = node.parent_id
    return ChannelHistory(seed, [write for group in reversed(groups) for write in group])


def node_of(raw: dict[str, Any]) -> Node:
    """A node of an answer. Raises KeyError or TypeError for another shape."""
    seeds = {seed["channel"]: _stored(seed) for seed in raw["seeds"]}
    writes: dict[str, list[Write]] = {}
    for write in raw["writes"]:
        writes.setdefault(write["channel"], []).append(_write(write))
    bases = bases_of(raw.get("bases") or ())
    size = ENTRY_BYTES + _bases_bytes(bases)
    size += sum(ENTRY_BYTES + len(data) for _, data in seeds.values())
    size += _writes_bytes(write for group in writes.values() for write in group)
    return Node(raw["checkpoint_id"], raw.get("parent_checkpoint_id"), seeds, writes, bases, size)


def bases_of(raw: Iterable[dict[str, Any]]) -> dict[str, ChannelHistory]:
    """Delta bases of an answer by channel."""
    return {
        base["channel"]: ChannelHistory(
            _stored(base["seed"]) if base.get("seed") is not None else None,
            [_write(write) for write in base["writes"]],
        )
        for base in raw
    }


def _stored(raw: dict[str, Any]) -> Stored:
    return raw["tag"], _bytes(raw)


def _write(raw: dict[str, Any]) -> Write:
    return Write(raw["task_id"], raw["tag"], _bytes(raw))


def _bytes(raw: dict[str, Any]) -> bytes:
    data = raw.get("data")
    if data is None:
        return b""
    if not isinstance(data, bytes):
        raise TypeError("data is not bytes")
    return data


def _bases_bytes(bases: dict[str, ChannelHistory]) -> int:
    size = 0
    for base in bases.values():
        size += ENTRY_BYTES + _writes_bytes(base.writes)
        size += len(base.seed[1]) if base.seed is not None else 0
    return size


def _writes_bytes(writes: Iterable[Write]) -> int:
    return sum(ENTRY_BYTES + len(write.data) for write in writes)
