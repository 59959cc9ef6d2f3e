"""The meaning of the session calls in memory. Used by the fake server only."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from fake_chain import Problem, known

PAGE = 3
"""Small, so that listings and logs have several pages."""
FIRST_MS = 1_760_000_000_000


@dataclass
class FakeSession:
    created_ms: int
    streams: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    archives: int = 0


class FakeSessions:
    def __init__(self) -> None:
        self.sessions: dict[tuple[str, ...], FakeSession] = {}
        self.clock = itertools.count(FIRST_MS)
        self.done: dict[str, Any] = {}

    def handle(self, call: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
        calls = {
            "create": self.create,
            "append": self.append,
            "load": self.load,
            "streams": self.streams,
            "list": self.list,
            "delete": self.delete,
            "documents/put": self.put,
            "documents/get": self.get,
            "documents/append": self.add_text,
            "documents/list": self.documents,
            "documents/find": self.find,
            "documents/delete": self.remove,
            "counters/add": self.count,
            "compact": self.compact,
        }
        if call not in calls:
            raise Problem(404, "not_found")
        key = headers.get("idempotency-key")
        if key is None:
            return calls[call](body)
        if key not in self.done:
            self.done[key] = calls[call](body)
        return self.done[key]

    def session(self, body: Any) -> FakeSession:
        name = (body["kind"], *body["key"])
        if name not in self.sessions:
            raise Problem(404, "session_not_found")
        return self.sessions[name]

    def made(self, body: Any) -> FakeSession:
        name = (body["kind"], *body["key"])
        return self.sessions.setdefault(name, FakeSession(next(self.clock)))

    def create(self, body: Any) -> Any:
        known(body, "kind", "key", "user", "agent", "title")
        created = (body["kind"], *body["key"]) not in self.sessions
        self.made(body)
        return {"created": created}

    def append(self, body: Any) -> Any:
        known(body, "kind", "key", "stream", "entries", "if_head", "document", "create")
        entries, document = body["entries"], body.get("document")
        if not entries and document is None:
            return {"head": 0, "appended": 0}
        session = self.made(body)
        log = session.streams.get(body.get("stream", ""), [])
        if body.get("if_head") not in (None, len(log)):
            raise Problem(409, "head_moved")
        now = next(self.clock)
        answer: dict[str, Any] = {}
        if document is not None:
            known(document, "name", "content", "if_version")
            answer["document_version"] = self.store(session, document, now)["version"]
        ids = {one["id"] for one in log if "id" in one}
        first = len(log) + 1
        for one in entries:
            known(one, "id", "data")
            assert isinstance(one["data"], bytes)
            if one.get("id") in ids:
                continue
            ids |= {one["id"]} if "id" in one else set()
            log.append({**one, "seq": len(log) + 1, "at_ms": now})
        session.streams[body.get("stream", "")] = log
        session.times[body.get("stream", "")] = now
        count = len(log) + 1 - first
        if count:
            answer |= {"first_seq": first, "last_seq": len(log)}
        return answer | {"head": len(log), "appended": count}

    def store(self, session: FakeSession, document: Any, now: int) -> Any:
        old = session.documents.get(document["name"])
        version = old["version"] if old else 0
        if document.get("if_version") not in (None, version):
            raise Problem(409, "version_conflict")
        new = {"content": document["content"], "version": version + 1, "updated_at_ms": now}
        session.documents[document["name"]] = new
        return new

    def load(self, body: Any) -> Any:
        known(body, "kind", "key", "stream", "after_seq", "limit", "tail", "bytes_max")
        log = self.session(body).streams.get(body.get("stream", ""))
        if log is None:
            raise Problem(404, "session_not_found")
        rest = [one for one in log if one["seq"] > body.get("after_seq", 0)]
        if "tail" in body:
            rest = rest[-body["tail"] :]
        page = rest[: body.get("limit", PAGE)]
        return {"entries": page, "head": len(log), "more": len(page) < len(rest)}

    def streams(self, body: Any) -> Any:
        known(body, "kind", "key")
        session = self.session(body)
        return {
            "streams": [
                {"stream": name, "head": len(log), "updated_at_ms": session.times[name]}
                for name, log in session.streams.items()
            ]
        }

    def list(self, body: Any) -> Any:
        known(body, "kind", "key_prefix", "user", "stream", "limit", "cursor")
        stream = body.get("stream")
        found = []
        for name, session in self.matching(body):
            if stream is not None and stream not in session.streams:
                continue
            updated = session.times[stream] if stream is not None else session.created_ms
            found.append(
                {
                    "key": list(name[1:]),
                    "created_at_ms": session.created_ms,
                    "updated_at_ms": updated,
                }
            )
        found.sort(key=lambda one: -one["updated_at_ms"])
        start = int(body.get("cursor", 0))
        end = start + body.get("limit", PAGE)
        answer = {"sessions": found[start:end]}
        return answer | ({"next_cursor": str(end)} if len(found) > end else {})

    def matching(self, body: Any) -> Any:
        prefix = (body["kind"], *body.get("key_prefix", ()))
        return [(k, v) for k, v in self.sessions.items() if k[: len(prefix)] == prefix]

    def delete(self, body: Any) -> Any:
        known(body, "kind", "key", "stream")
        name = (body["kind"], *body["key"])
        if "stream" not in body:
            self.sessions.pop(name, None)
        elif name in self.sessions:
            self.sessions[name].streams.pop(body["stream"], None)
        return {}

    def put(self, body: Any) -> Any:
        known(body, "kind", "key", "name", "content", "if_version")
        stored = self.store(self.made(body), body, next(self.clock))
        content = stored["content"]
        return {**stored, "size": len(content if isinstance(content, bytes) else content.encode())}

    def get(self, body: Any) -> Any:
        known(body, "kind", "key", "name")
        found = self.session(body).documents.get(body["name"])
        if found is None:
            raise Problem(404, "document_not_found")
        return found

    def add_text(self, body: Any) -> Any:
        known(body, "kind", "key", "name", "content")
        session = self.made(body)
        old = session.documents.get(body["name"], {"content": ""})["content"]
        return self.put({**body, "content": old + body["content"]})

    def documents(self, body: Any) -> Any:
        known(body, "kind", "key", "name_prefix")
        found = self.session(body).documents
        prefix = body.get("name_prefix", "")
        return {"documents": [{"name": n, **d} for n, d in found.items() if n.startswith(prefix)]}

    def find(self, body: Any) -> Any:
        known(body, "kind", "key_prefix", "name", "cursor")
        return {
            "documents": [
                {"key": list(name[1:]), **session.documents[body["name"]]}
                for name, session in self.matching(body)
                if body["name"] in session.documents
            ]
        }

    def remove(self, body: Any) -> Any:
        known(body, "kind", "key", "name")
        self.session(body).documents.pop(body["name"], None)
        return {}

    def count(self, body: Any) -> Any:
        known(body, "kind", "key", "counter", "by")
        counters = self.made(body).counters
        counters[body["counter"]] = counters.get(body["counter"], 0) + body["by"]
        return {"value": counters[body["counter"]]}

    def compact(self, body: Any) -> Any:
        session = self.session(body)
        log = session.streams[body["stream"]]
        if body["expected_head"] != len(log):
            raise Problem(409, "head_moved")
        session.archives += 1
        name = f"{session.archives:04}"
        session.streams[body["archive_stream_prefix"] + name] = log[: body["through_seq"]]
        session.streams[body["stream"]] = body["replacement"] + log[body["through_seq"] :]
        return {"archive_id": name, "head": len(session.streams[body["stream"]])}
