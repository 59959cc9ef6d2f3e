"""The records of the fake server, and the pure rules over them: walks, digests, containment."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any


class Problem(Exception):
    """An error answer."""

    def __init__(
        self, status: int, code: str, detail: str = "", field: str = "", limit: int | None = None
    ) -> None:
        super().__init__(code)
        self.status, self.code, self.field, self.limit = status, code, field, limit
        self.detail = detail or f"the fake says {code}"


class Checkpoint:
    def __init__(self, op: dict[str, Any], skeleton: dict[str, Any]) -> None:
        self.parent = op.get("parent_checkpoint_id")
        self.skeleton, self.metadata = op["skeleton"], op["metadata"]
        self.v = skeleton.get("v", 4)
        self.versions = {
            channel: json.dumps(version)
            for channel, version in skeleton.get("channel_versions", {}).items()
        }
        self.values: dict[str, tuple[str, str, bytes]] = {}
        self.bases: dict[str, dict[str, Any]] = {}

    def stored(self, channel: str) -> dict[str, Any] | None:
        entry = self.values.get(channel)
        if entry is None or entry[1] == "empty":
            return None
        return {"tag": entry[1], "data": entry[2]}


class Thread:
    def __init__(self) -> None:
        self.generation = secrets.token_hex(8)
        self.checkpoints: dict[tuple[str, str], Checkpoint] = {}
        self.writes: dict[tuple[str, str, str, int], dict[str, Any]] = {}
        self.log: dict[tuple[str, str], tuple[str, str, bytes]] = {}

    def writes_of(self, ns: str, checkpoint_id: str) -> list[dict[str, Any]]:
        found = [
            (write["task_path"], key[2], key[3], write)
            for key, write in self.writes.items()
            if key[:2] == (ns, checkpoint_id)
        ]
        return [
            {
                "task_id": task,
                "channel": write["channel"],
                "tag": write["tag"],
                "data": write["data"],
            }
            for _, task, _, write in sorted(found, key=lambda entry: entry[:3])
        ]

    def walk(self, ns: str, target: Checkpoint, channels: list[str]) -> list[dict[str, Any]]:
        left = {channel for channel in channels if channel not in target.bases}
        nodes, at = [], target.parent
        while left and at is not None and (found := self.checkpoints.get((ns, at))) is not None:
            node: dict[str, Any] = {"checkpoint_id": at, "seeds": [], "bases": []}
            if found.parent is not None:
                node["parent_checkpoint_id"] = found.parent
            node["writes"] = [w for w in self.writes_of(ns, at) if w["channel"] in left]
            for channel in sorted(left):
                if (seed := found.stored(channel)) is not None:
                    node["seeds"].append({"channel": channel, **seed})
                    left.discard(channel)
                elif channel in found.bases:
                    node["bases"].append(found.bases[channel])
                    left.discard(channel)
            nodes.append(node)
            at = found.parent
        return nodes

    def carry(
        self, ns: str, new: Checkpoint, channel: str, version: str, carried: Any
    ) -> tuple[str, str, bytes] | None:
        parent = self.checkpoints.get((ns, new.parent or ""))
        siblings = [
            other
            for (other_ns, _), other in self.checkpoints.items()
            if other_ns == ns and other.parent == new.parent and other.versions == new.versions
        ]
        candidates = [
            entry
            for checkpoint in ([parent] if parent else []) + siblings
            if (entry := checkpoint.values.get(channel)) is not None and entry[0] == version
        ]
        if (entry := self.log.get((channel, version))) is not None:
            candidates.append(entry)
        for entry in candidates:
            if entry == carried.get(channel):
                return entry
        return candidates[0] if candidates else None

    def make_base(self, key: tuple[str, str]) -> None:
        found = self.checkpoints[key]
        for channel in channels_of(found, ()):
            base: dict[str, Any] = {"channel": channel, "writes": []}
            if channel in found.bases:
                continue
            for node in self.walk(key[0], found, [channel]):
                base["writes"] = [strip(w) for w in node["writes"]] + base["writes"]
                for seed in node["seeds"]:
                    base["seed"] = {"tag": seed["tag"], "data": seed["data"]}
                for older in node["bases"]:
                    base["writes"] = older["writes"] + base["writes"]
                    base.update({"seed": older["seed"]} if "seed" in older else {})
            found.bases[channel] = base
        found.parent = None


def known(body: dict[str, Any], *names: str) -> None:
    for name in body:
        if name not in names:
            raise Problem(422, "invalid", f"unknown field {name}", field=name)


def strip(write: dict[str, Any]) -> dict[str, Any]:
    return {name: write[name] for name in ("task_id", "tag", "data")}


def channels_of(found: Checkpoint, requested: Any) -> list[str]:
    counters = json.loads(found.metadata).get("counters_since_delta_snapshot") or {}
    channels = {c for c in counters if c in found.versions and found.stored(c) is None}
    return sorted(channels | {c for c in requested if found.stored(c) is None})


def digest(nodes: list[dict[str, Any]]) -> str:
    return hashlib.sha256(repr(nodes).encode()).hexdigest()[:16]


def difference(nodes: list[dict[str, Any]], have: dict[str, str] | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"chain": nodes}
    if nodes:
        answer["digest"] = digest(nodes)
    for position, node in enumerate(nodes):
        if have is not None and node["checkpoint_id"] == have["checkpoint_id"]:
            if digest(nodes[position:]) == have["digest"]:
                answer["chain"] = nodes[:position]
                answer["continues_at"] = have["checkpoint_id"]
            break
    return answer


def merge(merged: dict[tuple[str, str], dict[str, Any]], ns: str, node: dict[str, Any]) -> None:
    """Add a node to the chain of a page: the union of what each history needs of it."""
    at = merged.setdefault((ns, node["checkpoint_id"]), {**node, "checkpoint_ns": ns})
    channels = {w["channel"] for w in at["writes"]}
    at["writes"] = at["writes"] + [w for w in node["writes"] if w["channel"] not in channels]
    for name in ("seeds", "bases"):
        present = {entry["channel"] for entry in at[name]}
        at[name] = at[name] + [e for e in node[name] if e["channel"] not in present]


def contains(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            key in value and contains(value[key], part) for key, part in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(contains(v, w) for v in value) for w in wanted)
    return bool(value == wanted)
