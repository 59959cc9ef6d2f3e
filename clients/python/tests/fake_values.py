"""Differences and names in the fake server: what it remembers of each thread, and no bound to it.

Written from the protocol's text, as plainly as possible; shares no code with the client.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from fake_chain import Problem

MIN = 512


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


class FakeValues:
    """`received` notes how each value of 512 bytes or more came: True for a difference."""

    def __init__(self) -> None:
        self.threads: dict[str, dict[bytes, bytes]] = {}
        self.received: list[bool] = []

    def expand(self, body: dict[str, Any]) -> list[bytes]:
        """Put bytes in the place of differences; the values that a commit stores."""
        stored: list[bytes] = []
        for field, entry in _sent(body):
            data = entry.get("data")
            if isinstance(data, dict):
                data = entry["data"] = self._value(body["thread_id"], data, field)
                self.received.append(True)
            elif data is not None and len(data) >= MIN:
                self.received.append(False)
            if data is not None and field != "carried.data":
                stored.append(data)
        return stored

    def remember(self, thread_id: str, values: list[bytes]) -> None:
        known = self.threads.setdefault(thread_id, {})
        known.update((sha256(data), data) for data in values if len(data) >= MIN)

    def _value(self, thread_id: str, difference: dict[str, Any], field: str) -> bytes:
        assert set(difference) == {"base", "ops", "sha256", "length"}
        assert 0 < len(difference["ops"]) <= 1024
        base = self.threads.get(thread_id, {}).get(difference["base"])
        if base is None:
            raise Problem(409, "resend_whole", field=field)
        result = b""
        for op in difference["ops"]:
            ((kind, argument),) = op.items()
            if kind == "copy":
                offset, length = argument
                assert 0 < length <= len(base) - offset
                result += base[offset : offset + length]
            else:
                assert kind == "insert"
                assert argument
                result += argument
        assert len(result) == difference["length"]
        assert sha256(result) == difference["sha256"]
        return result

    def shorten(self, thread_id: str, answer: dict[str, Any], prefixes: list[bytes]) -> None:
        """Names for what the caller holds, differences for what begins like it."""
        known = self.threads.setdefault(thread_id, {})
        held = {n: v for n, v in known.items() if any(n.startswith(p) for p in prefixes)}
        for entry in _answered(answer):
            data = entry["data"]
            if len(data) < MIN:
                continue
            name = sha256(data)
            known[name] = data
            begins = [n for n, v in held.items() if v[5:MIN] == data[5:MIN]]
            if name in held or any(name.startswith(prefix) for prefix in prefixes):
                entry["data"] = {"same": name}
            elif begins:
                base, end = begins[-1], MIN
                while held[base][5:end] == data[5:end] and end <= len(data):
                    end += 1
                end = min(end - 1, len(held[base]))
                ops = [{"insert": data[:5]}, {"copy": [5, end - 5]}, {"insert": data[end:]}]
                ops = [op for op in ops if op.get("insert") != b""]
                entry["data"] = {"base": base, "ops": ops, "sha256": name, "length": len(data)}
            held[name] = data


def _sent(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for op in body["ops"]:
        for field in ("values", "carried", "writes"):
            for entry in (op.get("checkpoint") or op["writes"]).get(field) or ():
                yield f"{field}.data", entry


def _answered(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    views = [answer["checkpoint"]] if "checkpoint" in answer else answer.get("checkpoints", [])
    for view in views:
        yield from (*view["values"], *view["writes"], *view["pending_sends"])
        yield from (base["seed"] for base in view["bases"] if base.get("seed"))
    yield from (base["seed"] for base in answer.get("bases", ()) if base.get("seed"))
    for node in answer["chain"]:
        yield from node["seeds"]
        yield from (base["seed"] for base in node.get("bases", ()) if base.get("seed"))
