"""The meaning of the protocol in memory: threads, checkpoints, values, writes, chains.

Used by the fake server only. Written from the protocol's text, as plainly as possible.
"""

from __future__ import annotations

import copy
import json
import threading
from functools import cached_property
from typing import Any

from fake_chain import Checkpoint, Problem, Thread, channels_of, contains, difference, known, merge
from fake_parts import FakeParts
from fake_sessions import FakeSessions
from fake_values import FakeValues


class FakeStore:
    def __init__(self) -> None:
        self.threads: dict[str, Thread] = {}
        self.leases: dict[str, tuple[str, int]] = {}
        self.lock = threading.RLock()
        self.values = FakeValues()
        self.parts = FakeParts()
        self.sessions = FakeSessions()
        self.page_rows = 1000
        self.copies: dict[str, dict[str, Any]] = {}

    @cached_property
    def files(self) -> Any:
        # Needs deepagents, which is not there for every Python that the client is for.
        from fake_files import FakeFiles

        return FakeFiles()

    def handle(self, method: str, path: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
        with self.lock:
            name = f"{method} {path}"
            if name == "POST /v1/threads/copy":
                return self.copy(body, headers.get("idempotency-key", ""))
            routes = {
                "POST /v1/checkpoints/commit": self.commit,
                "POST /v1/checkpoints/get": self.get,
                "POST /v1/checkpoints/list": self.list,
                "POST /v1/checkpoints/history": self.history,
                "POST /v1/checkpoints/parts/put": self.put_part,
                "POST /v1/checkpoints/parts/get": self.get_part,
                "POST /v1/checkpoints/delete-for-runs": self.delete_for_runs,
                "POST /v1/checkpoints/prune": self.prune,
                "POST /v1/threads/delete": self.delete,
                "POST /v1/threads/get": self.thread,
                "GET /v1/threads": lambda _: {
                    "threads": [self.row(t) for t in sorted(self.threads)]
                },
                "GET /v1/threads/storage": lambda _: self.storage(),
                "POST /v1/threads/lease/acquire": self.acquire,
                "POST /v1/threads/lease/renew": self.renew,
                "POST /v1/threads/lease/release": self.release,
                "GET /v1/limits": lambda _: {"ops": 256},
                "GET /v1/whoami": lambda _: {"tenant": "default"},
                "GET /healthz": lambda _: {},
            }
            for prefix in ("files", "sessions"):
                if path.startswith(f"/v1/{prefix}/"):
                    fake = getattr(self, prefix)
                    return fake.handle(path.removeprefix(f"/v1/{prefix}/"), body, headers)
            if name not in routes:
                raise Problem(404, "not_found")
            answer = routes[name](body)
            if isinstance(body, dict) and body.get("have_values") is not None:
                answer = copy.deepcopy(answer)
                self.values.shorten(body["thread_id"], answer, body["have_values"])
            if isinstance(body, dict) and body.get("value_parts"):
                answer = copy.deepcopy(answer)
                self.parts.cut(answer, body.get("thread_id"))
            return answer

    # commit

    def commit(self, body: dict[str, Any]) -> dict[str, Any]:
        known(body, "thread_id", "generation", "fence", "writer", "ops")
        assert 1 <= len(body["ops"]) <= 256
        thread = self.threads.get(body["thread_id"])
        sent = body.get("generation")
        if thread is not None and sent is not None and sent != thread.generation:
            raise Problem(409, "thread_restored")
        for op in body["ops"]:
            for entry in op.get("checkpoint", op.get("writes", {})).get("writes", ()):
                if entry["channel"] == "refused":
                    raise Problem(422, "invalid", field="writes.channel", limit=7)
        self.parts.join(body)
        stored = self.values.expand(body)
        thread = self.threads.setdefault(body["thread_id"], Thread())
        for op in body["ops"]:
            if "checkpoint" in op:
                self.put(thread, op["checkpoint"])
            else:
                self.put_writes(thread, op["writes"], body.get("writer"))
        self.values.remember(body["thread_id"], stored)
        return {"generation": thread.generation}

    def put(self, thread: Thread, op: dict[str, Any]) -> None:
        known(
            op,
            *("checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "skeleton", "metadata"),
            *("values", "carried"),
        )
        skeleton = json.loads(op["skeleton"])
        json.loads(op["metadata"])
        assert "channel_values" not in skeleton
        assert op["skeleton"].isascii()
        ns, checkpoint_id = op.get("checkpoint_ns", ""), op["checkpoint_id"]
        new = Checkpoint(op, skeleton)
        if new.parent == checkpoint_id:
            old = thread.checkpoints.get((ns, checkpoint_id))
            new.parent = old.parent if old else None
        sent = {
            value["channel"]: (
                json.dumps(json.loads(value["version"])),
                value["tag"],
                value.get("data") or b"",
            )
            for value in op["values"]
        }
        carried = {
            value["channel"]: (
                json.dumps(json.loads(value["version"])),
                value["tag"],
                value["data"],
            )
            for value in op.get("carried") or ()
        }
        for channel, entry in sent.items():
            thread.log[channel, entry[0]] = entry
        for channel, version in new.versions.items():
            entry = sent.get(channel) or thread.carry(ns, new, channel, version, carried)
            if entry is not None:
                new.values[channel] = entry
        thread.checkpoints[ns, checkpoint_id] = new

    def put_writes(self, thread: Thread, op: dict[str, Any], writer: Any) -> None:
        known(op, "checkpoint_ns", "checkpoint_id", "task_id", "task_path", "seq", "writes")
        for write in op["writes"]:
            known(write, "idx", "channel", "tag", "data")
            key = (op.get("checkpoint_ns", ""), op["checkpoint_id"], op["task_id"], write["idx"])
            old = thread.writes.get(key)
            seq = op.get("seq", 0)
            stale = old is not None and old["writer"] == writer and old["seq"] > seq
            if old is not None and (write["idx"] >= 0 or stale):
                continue
            path = op.get("task_path", "")
            thread.writes[key] = {**write, "task_path": path, "writer": writer, "seq": seq}

    # parts

    def put_part(self, body: dict[str, Any]) -> dict[str, Any]:
        thread = self.threads.setdefault(body["thread_id"], Thread())
        if body.get("generation") not in (None, thread.generation):
            raise Problem(409, "thread_restored")
        return self.parts.put(body)

    def get_part(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.parts.get(body)

    # reads

    def find(self, body: dict[str, Any]) -> tuple[Thread | None, str, str | None]:
        ns, thread = body.get("checkpoint_ns") or "", self.threads.get(body["thread_id"])
        if thread is None:
            return None, ns, None
        wanted = body.get("checkpoint_id")
        ids = [key[1] for key in thread.checkpoints if key[0] == ns]
        if wanted is None:
            return thread, ns, max(ids, default=None)
        return thread, ns, wanted if wanted in ids else None

    def get(self, body: dict[str, Any]) -> dict[str, Any]:
        known(
            body,
            *["thread_id", "checkpoint_ns", "checkpoint_id", "history_channels", "have"],
            *["have_values", "value_parts"],
        )
        thread, ns, checkpoint_id = self.find(body)
        answer: dict[str, Any] = {"chain": [], "history_channels": []}
        if thread is not None:
            answer["generation"] = thread.generation
        if thread is None or checkpoint_id is None:
            return answer
        target = thread.checkpoints[ns, checkpoint_id]
        channels = channels_of(target, body.get("history_channels") or ())
        answer["checkpoint"] = self.view(body["thread_id"], thread, ns, checkpoint_id, channels)
        answer["history_channels"] = channels
        nodes = thread.walk(ns, target, channels)
        return {**answer, **difference(nodes, body.get("have"))}

    def history(self, body: dict[str, Any]) -> dict[str, Any]:
        known(
            body,
            *["thread_id", "checkpoint_ns", "checkpoint_id", "channels", "have", "have_values"],
            "value_parts",
        )
        thread, ns, checkpoint_id = self.find(body)
        if thread is None or checkpoint_id is None:
            return {"bases": [], "chain": []}
        target = thread.checkpoints[ns, checkpoint_id]
        answer: dict[str, Any] = {
            "checkpoint_id": checkpoint_id,
            "bases": [target.bases[c] for c in body["channels"] if c in target.bases],
        }
        if target.parent is not None:
            answer["parent_checkpoint_id"] = target.parent
        nodes = thread.walk(ns, target, body["channels"])
        return {**answer, **difference(nodes, body.get("have"))}

    def view(
        self, thread_id: str, thread: Thread, ns: str, checkpoint_id: str, channels: list[str]
    ) -> dict[str, Any]:
        found = thread.checkpoints[ns, checkpoint_id]
        view: dict[str, Any] = {
            "thread_id": thread_id,
            "checkpoint_ns": ns,
            "checkpoint_id": checkpoint_id,
            "skeleton": found.skeleton,
            "metadata": found.metadata,
            "values": [
                {"channel": channel, **stored}
                for channel in found.versions
                if (stored := found.stored(channel)) is not None
            ],
            "writes": thread.writes_of(ns, checkpoint_id),
            "pending_sends": [],
            "bases": [found.bases[c] for c in channels if c in found.bases],
        }
        if found.parent is not None:
            view["parent_checkpoint_id"] = found.parent
            if found.v < 4:
                view["pending_sends"] = [
                    {"tag": write["tag"], "data": write["data"]}
                    for write in thread.writes_of(ns, found.parent)
                    if write["channel"] == "__pregel_tasks"
                ]
        return view

    def list(self, body: dict[str, Any]) -> dict[str, Any]:
        known(
            body,
            *[
                "thread_id",
                "checkpoint_ns",
                "checkpoint_id",
                "before",
                "filter",
                "limit",
                "cursor",
                "values",
            ],
            *["history_channels", "have_values", "value_parts"],
        )
        wanted = json.loads(body["filter"]) if body.get("filter") else {}
        rows = [
            (checkpoint_id, thread_id, ns)
            for thread_id, thread in self.threads.items()
            if body.get("thread_id") in (None, thread_id)
            for (ns, checkpoint_id), found in thread.checkpoints.items()
            if body.get("checkpoint_ns") in (None, ns)
            and body.get("checkpoint_id") in (None, checkpoint_id)
            and (body.get("before") is None or checkpoint_id < body["before"])
            and contains(json.loads(found.metadata), wanted)
        ]
        rows.sort(reverse=True)
        start = int(body.get("cursor") or 0)
        limit = body.get("limit")
        assert limit is None or limit >= 0
        end = start + min(self.page_rows, len(rows) if limit is None else limit)
        answer: dict[str, Any] = {"checkpoints": [], "chain": [], "history_channels": []}
        merged: dict[tuple[str, str], dict[str, Any]] = {}
        for checkpoint_id, thread_id, ns in rows[start:end]:
            thread = self.threads[thread_id]
            found = thread.checkpoints[ns, checkpoint_id]
            channels = channels_of(found, body.get("history_channels") or ())
            answer["checkpoints"].append(self.view(thread_id, thread, ns, checkpoint_id, channels))
            if body.get("thread_id") is None:
                continue
            answer["history_channels"] = sorted({*answer["history_channels"], *channels})
            for node in thread.walk(ns, found, channels):
                merge(merged, ns, node)
        answer["chain"] = list(merged.values())
        if end < len(rows):
            answer["next_cursor"] = str(end)
        return answer

    # removing

    def delete(self, body: dict[str, Any]) -> dict[str, Any]:
        known(body, "thread_id", "fence", "generation")
        self.threads.pop(body["thread_id"], None)
        self.values.threads.pop(body["thread_id"], None)
        return {}

    def delete_for_runs(self, body: dict[str, Any]) -> dict[str, Any]:
        for thread in self.threads.values():
            for key, found in list(thread.checkpoints.items()):
                if json.loads(found.metadata).get("run_id") in body["run_ids"]:
                    self.remove(thread, key)
        return {}

    def prune(self, body: dict[str, Any]) -> dict[str, Any]:
        known(
            body,
            *("thread_ids", "strategy", "keep_last", "older_than", "keep_interrupted", "dry_run"),
        )
        nothing = dict.fromkeys(
            ("checkpoints", "writes", "values", "size_bytes", "stored_bytes"), 0
        )
        threads = [{"thread_id": it, "deleted": False, **nothing} for it in body["thread_ids"]]
        report = {"dry_run": body.get("dry_run", False), "threads": threads, "total": nothing}
        if report["dry_run"]:
            return report
        for thread_id in body["thread_ids"]:
            thread = self.threads.get(thread_id)
            if body["strategy"] == "delete":
                self.threads.pop(thread_id, None)
            elif thread is not None:
                for ns in {key[0] for key in thread.checkpoints}:
                    head = max(key for key in thread.checkpoints if key[0] == ns)
                    thread.make_base(head)
                    for key in [k for k in thread.checkpoints if k[0] == ns and k != head]:
                        self.remove(thread, key)
        return report

    @staticmethod
    def remove(thread: Thread, key: tuple[str, str]) -> None:
        thread.checkpoints.pop(key, None)
        for write in [k for k in thread.writes if k[:2] == key]:
            del thread.writes[write]

    # threads

    def copy(self, body: dict[str, Any], key: str) -> dict[str, Any]:
        known(body, "source_thread_id", "target_thread_id")
        assert key, "a copy needs an Idempotency-Key"
        if key in self.copies:
            return self.copies[key]
        source, target_id = self.threads.get(body["source_thread_id"]), body["target_thread_id"]
        if target_id in self.threads:
            raise Problem(409, "thread_exists")
        if source is not None:
            target = self.threads[target_id] = Thread()
            target.checkpoints = dict(source.checkpoints)
            target.writes, target.log = dict(source.writes), dict(source.log)
        self.copies[key] = {"checkpoints": len(source.checkpoints) if source else 0}
        return self.copies[key]

    def row(self, thread_id: str) -> dict[str, Any]:
        thread = self.threads[thread_id]
        return {
            "thread_id": thread_id,
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            "checkpoint_count": len(thread.checkpoints),
            "size_bytes": 0,
            "generation": thread.generation,
            "a_later_field": 1,
        }

    def thread(self, body: dict[str, Any]) -> dict[str, Any]:
        found = body["thread_id"] in self.threads
        return {"thread": self.row(body["thread_id"])} if found else {}

    def storage(self) -> dict[str, Any]:
        """The same for whatever thread; nothing while there is none."""
        if not self.threads:
            return {}
        channel = {"channel": "m", "versions": 2, "logical_bytes": 9, "newest_bytes": 5}
        numbers = ["logical_bytes", "stored_bytes", "content_bytes", "checkpoints", "versions"]
        numbers += ["writes", "chunks", "shared_with"]
        sizes = {name: at for at, name in enumerate(numbers)}
        return {"storage": {**sizes, "share_saved": 0.5, "channels": [channel], "later": 1}}

    def acquire(self, body: dict[str, Any]) -> dict[str, Any]:
        holder, fence = self.leases.get(body["thread_id"], (None, 0))
        if holder not in (None, body["holder"]):
            raise Problem(409, "lease_held")
        self.leases[body["thread_id"]] = (body["holder"], fence + 1)
        return {"fence": fence + 1, "expires_at": "2026-01-01T00:00:00Z"}

    def renew(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.leases.get(body["thread_id"]) != (body["holder"], body["fence"]):
            raise Problem(409, "fence_stale")
        return {"fence": body["fence"], "expires_at": "2026-01-01T00:01:00Z"}

    def release(self, body: dict[str, Any]) -> dict[str, Any]:
        self.renew(body)
        del self.leases[body["thread_id"]]
        return {}
