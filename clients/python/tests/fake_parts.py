"""Values in parts in the fake server: what was put for a thread, and what its reads named.

Written from the protocol's text, as plainly as possible; shares no code with the client.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from fake_chain import Problem, known

PART = 2 << 20
LARGE = 8 << 20
READ_PART = 3 << 20
"""Not the size in which values are put: a client may not rely on that."""

Key = tuple[str, bytes]


class FakeParts:
    def __init__(self) -> None:
        self.placed: dict[Key, tuple[int, bytes]] = {}
        self.named: dict[Key, bytes] = {}
        self.came: list[str] = []
        """How each value of the last commit came."""
        self.lost_puts = 0
        """So many commits find none of the parts that they name."""
        self.lost_gets = 0
        """So many reads of a part find it gone."""

    def put(self, body: dict[str, Any]) -> dict[str, Any]:
        known(body, "thread_id", "fence", "generation", "index", "data")
        assert 0 <= body["index"] <= 127
        assert 0 < len(body["data"]) <= PART
        name = hashlib.sha256(b"%d %b" % (body["index"], body["data"])).digest()[:18]
        self.placed[body["thread_id"], name] = body["index"], body["data"]
        return {"name": name}

    def join(self, body: dict[str, Any]) -> None:
        """Put bytes in the place of the names of a commit."""
        thread_id = body["thread_id"]
        self.came = [_form(entry.get("data")) for entry in _sent(body)]
        entries = [entry for entry in _sent(body) if "parts" in _map(entry.get("data"))]
        if entries and self.lost_puts:
            self.lost_puts -= 1
            self.placed.clear()
        for entry in entries:
            known(entry["data"], "parts", "length")
            parts = [self.placed.get((thread_id, name)) for name in entry["data"]["parts"]]
            if not parts or None in parts:
                raise Problem(409, "parts_missing", field="ops")
            found = [part for part in parts if part is not None]
            assert [index for index, _ in found] == list(range(len(found)))
            assert all(len(data) == PART for _, data in found[:-1])
            value = b"".join(data for _, data in found)
            assert len(value) == entry["data"]["length"]
            entry["data"] = value

    def cut(self, answer: dict[str, Any], thread_id: str | None) -> None:
        """Put names in the place of large values."""
        views = [answer["checkpoint"]] if "checkpoint" in answer else answer.get("checkpoints", [])
        for owner, entry in _answered(answer, views, thread_id):
            data = entry.get("data")
            if not isinstance(data, bytes) or len(data) <= LARGE:
                continue
            names = []
            for at in range(0, len(data), READ_PART):
                part = data[at : at + READ_PART]
                names.append(hashlib.sha256(part).digest()[:20])
                self.named[owner, names[-1]] = part
            entry["data"] = {"parts": names, "length": len(data)}

    def get(self, body: dict[str, Any]) -> dict[str, Any]:
        known(body, "thread_id", "name")
        data = self.named.get((body["thread_id"], body["name"]))
        if self.lost_gets:
            self.lost_gets -= 1
            data = None
        if data is None:
            raise Problem(409, "parts_missing", field="name")
        return {"data": data}


def _form(data: Any) -> str:
    return "whole" if isinstance(data, bytes) else "in parts" if "parts" in _map(data) else "short"


def _map(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _sent(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for op in body["ops"]:
        for field in ("values", "carried", "writes"):
            yield from (op.get("checkpoint") or op["writes"]).get(field) or ()


def _answered(
    answer: dict[str, Any], views: list[dict[str, Any]], thread_id: str | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    for view in views:
        for entry in (*view["values"], *view["writes"], *view["pending_sends"]):
            yield view["thread_id"], entry
        for entry in _bases(view["bases"]):
            yield view["thread_id"], entry
    for entry in _bases(answer.get("bases", ())):
        yield thread_id or "", entry
    for node in answer.get("chain", ()):
        for entry in (*node["seeds"], *node["writes"], *_bases(node.get("bases", ()))):
            yield thread_id or "", entry


def _bases(bases: Any) -> Iterator[dict[str, Any]]:
    for base in bases:
        if base.get("seed"):
            yield base["seed"]
        yield from base["writes"]
