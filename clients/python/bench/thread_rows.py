"""Many threads with checkpoints, titles, metadata and a status, and the plain table beside them."""

from __future__ import annotations

import base64
import http.client
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg.types.json import Jsonb
from sides import Field, Place, Server

TASKS = 32
HITS = (1, 10, 1_000)
"""The field `of_N` has the same value in N threads."""
ASKING_EVERY, FAILED_EVERY = 100, 1_000
PAGE = 20
COLUMNS = "id, title, metadata, status, created, updated"


def metadata(at: int) -> dict[str, Any]:
    """Some 200 bytes, with fields of which so many threads share a value."""
    shared = {f"of_{hits}": at // hits for hits in HITS}
    return {**shared, "all": True, "customer": f"customer-{at % 5_000}", "tags": ["a", at % 7]}


def title(at: int) -> str:
    return f"Conversation {at} about {at % 977} things"


def status(at: int) -> str:
    if at % FAILED_EVERY == 7:
        return "error"
    return "interrupted" if at % ASKING_EVERY == 3 else "idle"


def commit(thread_id: str, at: int, checkpoints: int) -> bytes:
    """All checkpoints of a thread; what the newest one says is its status."""
    ops: list[dict[str, Any]] = []
    shared = {f"of_{hits}": at // hits for hits in HITS}
    for number in range(checkpoints):
        checkpoint_id = f"{number:04}"
        waits = number == checkpoints - 1 and status(at) != "idle"
        skeleton = {
            "v": 4,
            "id": checkpoint_id,
            "channel_versions": {
                "text": number + 1,
                "branch:to:n": number + 1,
                **dict.fromkeys(shared, 1),
            },
            "versions_seen": {"n": {"branch:to:n": number if waits else number + 1}},
        }
        values = [value("text", number + 1, f"{at} {number}")]
        if number == 0:
            values += [value(name, 1, it) for name, it in shared.items()]
        if waits:
            values.append(value("branch:to:n", number + 1, None))
        parent = {"parent_checkpoint_id": f"{number - 1:04}"} if number else {}
        body = {"checkpoint_id": checkpoint_id, "skeleton": skeleton, "values": values, **parent}
        ops.append({"checkpoint": {**body, "metadata": {"source": "loop", "step": number}}})
        if waits:
            channel = "__error__" if status(at) == "error" else "__interrupt__"
            write = {"idx": 0, "channel": channel, **encoded("x")}
            writes = {"checkpoint_id": checkpoint_id, "task_id": "task", "writes": [write]}
            ops.append({"writes": writes})
    return json.dumps({"thread_id": thread_id, "ops": ops}).encode()


def value(channel: str, version: int, content: Any) -> dict[str, Any]:
    return {"channel": channel, "version": version, **encoded(content)}


def encoded(content: Any) -> dict[str, str]:
    return {"tag": "json", "data": base64.b64encode(json.dumps(content).encode()).decode()}


def fill(url: str, key: str, threads: int, checkpoints: int) -> None:
    """Make the threads, then derive the status of them all."""
    address = url.removeprefix("http://")
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def some(task: int) -> None:
        connection = http.client.HTTPConnection(address)

        def post(path: str, body: bytes) -> None:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 200, text

        for at in range(task, threads, TASKS):
            thread_id = f"t-{at}"
            made = {"thread_id": thread_id, "title": title(at), "metadata": metadata(at)}
            post("/v1/threads/create", json.dumps(made).encode())
            if checkpoints:
                post("/v1/checkpoints/commit", commit(thread_id, at, checkpoints))

    with ThreadPoolExecutor(TASKS) as pool:
        list(pool.map(some, range(TASKS)))


class Plain(Protocol):
    """The table that one would write without us: ids, titles, metadata, status and times."""

    def fill(self, threads: int) -> None: ...

    def newest(self) -> int:
        """Each search answers how many rows it found, at most a page."""

    def found(self, metadata: dict[str, Any] | None, status: str | None) -> int: ...

    def titled(self, words: str) -> int: ...

    def counted(self, metadata: dict[str, Any]) -> int: ...


class InPostgres:
    """With a GIN index, asked by psycopg on one open connection."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.connection = psycopg.connect(field.reference_url(), autocommit=True)

    def fill(self, threads: int) -> None:
        self.connection.execute(
            "create table threads (id text primary key, title text, metadata jsonb not null,"
            " status text not null, created timestamptz not null default clock_timestamp(),"
            " updated timestamptz not null default clock_timestamp());"
            "create index on threads using gin (metadata jsonb_path_ops);"
            "create index on threads (created); create index on threads (status, created)"
        )
        rows = [(f"t-{at}", title(at), Jsonb(metadata(at)), status(at)) for at in range(threads)]
        with self.connection.cursor() as cursor, self.connection.transaction():
            insert = "insert into threads (id, title, metadata, status) values (%s, %s, %s, %s)"
            cursor.executemany(insert, rows)
        self.connection.execute("vacuum analyze threads")

    def newest(self) -> int:
        return self._rows("true", [])

    def found(self, metadata: dict[str, Any] | None, status: str | None) -> int:
        asked = {"metadata @> %s": metadata and Jsonb(metadata), "status = %s": status}
        given = {text: it for text, it in asked.items() if it is not None}
        return self._rows(" and ".join(given), list(given.values()))

    def titled(self, words: str) -> int:
        return self._rows("position(%s in lower(title)) > 0", [words])

    def counted(self, metadata: dict[str, Any]) -> int:
        text = "select count(*) from threads where metadata @> %s"
        (found,) = self.connection.execute(text, [Jsonb(metadata)]).fetchone() or (0,)
        return int(found)

    def _rows(self, condition: str, binds: list[Any]) -> int:
        text = f"select {COLUMNS} from threads where {condition} order by created desc limit {PAGE}"
        return len(self.connection.execute(text, binds).fetchall())


class InSqlite:
    """Without an index of metadata, which SQLite has not; asked by sqlite3."""

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "plain.db")

    def fill(self, threads: int) -> None:
        self.connection.executescript(
            "pragma journal_mode = wal;"
            "create table threads (id text primary key, title text, metadata text not null,"
            " status text not null, created real not null, updated real not null);"
            "create index by_created on threads (created);"
            "create index by_status on threads (status, created)"
        )
        rows = [
            (f"t-{at}", title(at), json.dumps(metadata(at)), status(at), at, at)
            for at in range(threads)
        ]
        self.connection.executemany("insert into threads values (?, ?, ?, ?, ?, ?)", rows)
        self.connection.commit()
        self.connection.execute("analyze")

    def newest(self) -> int:
        return self._rows("1", [])

    def found(self, metadata: dict[str, Any] | None, status: str | None) -> int:
        conditions, binds = self._condition(metadata or {})
        if status is not None:
            conditions.append("status = ?")
            binds.append(status)
        return self._rows(" and ".join(conditions), binds)

    def titled(self, words: str) -> int:
        return self._rows("instr(lower(title), ?) > 0", [words])

    def counted(self, metadata: dict[str, Any]) -> int:
        conditions, binds = self._condition(metadata)
        text = f"select count(*) from threads where {' and '.join(conditions)}"
        (found,) = self.connection.execute(text, binds).fetchone()
        return int(found)

    @staticmethod
    def _condition(metadata: dict[str, Any]) -> tuple[list[str], list[Any]]:
        conditions = [f"metadata ->> '$.{name}' = ?" for name in metadata]
        return conditions, list(metadata.values())

    def _rows(self, condition: str, binds: list[Any]) -> int:
        text = f"select {COLUMNS} from threads where {condition} order by created desc limit {PAGE}"
        return len(self.connection.execute(text, binds).fetchall())


class Stage:
    """A server on one engine with threads of one tenant."""

    def __init__(
        self,
        field: Field,
        engine: str,
        threads: int,
        checkpoints: int,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.field, self.engine, self.threads = field, engine, threads
        self.place = Place(field.databases if engine == "PostgreSQL" else None)
        self.server = Server(self.place, environment=environment).start()
        self.key = self.server.new_key()
        fill(self.server.url, self.key, threads, checkpoints)

    def vacuum(self) -> None:
        """What PostgreSQL does by itself when it has time."""
        if self.place.name is not None:
            self.field.databases.run("vacuum analyze", self.place.name)

    def close(self) -> None:
        self.server.kill()
        self.place.remove()


class Scene(Stage):
    """Besides another tenant with few threads, one with none, and the plain table."""

    def __init__(self, field: Field, engine: str, threads: int, few: int, checkpoints: int) -> None:
        super().__init__(field, engine, threads, checkpoints)
        self.few_key, self.none_key = self.server.new_key(), self.server.new_key()
        fill(self.server.url, self.few_key, few, checkpoints)
        self.vacuum()
        self.plain: Plain = (
            InPostgres(field) if engine == "PostgreSQL" else InSqlite(self.place.folder)
        )
        self.plain.fill(threads)
