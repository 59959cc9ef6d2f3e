"""Clients that commit without pause and keep books of what was acknowledged.

Each has a thread (of the computer and of the server) of its own. A commit whose answer did not come
is sent again, the same bytes, until it is acknowledged: what a client that retries does.
"""

import http.client
import threading
import time
import uuid
from typing import Any, NamedTuple

from support import settings
from support.native import Native, Refused, checkpoint, writes
from support.server import Server
from support.waiting import wait_until

WRITES = 3
PAUSE_SECONDS = 0.02


class Span(NamedTuple):
    """When something was sent and when its answer was there, in seconds of the monotonic clock."""

    begun: float
    ended: float


def checkpoint_id(number: int) -> str:
    return f"{number:08d}"


def content(thread_id: str, number: int) -> dict[str, bytes]:
    """The channel values of the commit: other bytes for each, of changing size."""
    text = f"{thread_id} {number} ".encode()
    return {"messages": text * (1 + number % 300), "count": text}


def pending(thread_id: str, number: int) -> list[bytes]:
    """The writes that travel in the same commit."""
    return [f"write {index} of {thread_id} {number}".encode() for index in range(WRITES)]


class Committer(threading.Thread):
    """Commits 0, 1, 2, … to its thread until told to finish; then the last one is acknowledged."""

    def __init__(self, server: Server, key: str):
        super().__init__(daemon=True)
        self.thread_id = f"thread-{uuid.uuid4().hex[:8]}"
        self.key = key
        # Requests go to these in turn.
        self.natives = [Native(server.url, key)]
        self.sent = 0
        self.acknowledged = 0
        self.retries = 0
        self.spans: list[Span] = []
        self.finish = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.finish.is_set():
                begun = time.monotonic()
                self._commit_until_acknowledged(self.acknowledged)
                self.spans.append(Span(begun, time.monotonic()))
                self.acknowledged += 1
        except BaseException as error:
            self.error = error
        finally:
            for native in self.natives:
                native.close()

    def _commit_until_acknowledged(self, number: int) -> None:
        parent = checkpoint_id(number - 1) if number else None
        own_id = checkpoint_id(number)
        values = content(self.thread_id, number)
        ops = [
            checkpoint(own_id, values, parent=parent, step=number),
            writes(own_id, "task", pending(self.thread_id, number)),
        ]
        deadline = time.monotonic() + settings.PATIENCE_SECONDS
        while True:
            try:
                self.sent += 1
                self.natives[self.sent % len(self.natives)].commit(self.thread_id, *ops)
                return
            except (OSError, http.client.HTTPException):
                pass  # no answer: it may be stored or not
            except Refused as refused:
                if refused.status != 503:
                    raise
            if time.monotonic() > deadline:
                raise AssertionError(f"commit {number} was not acknowledged in time")
            self.retries += 1
            time.sleep(PAUSE_SECONDS)

    def check_stored(self, native: Native) -> None:
        """All that was acknowledged is there, whole, once, and nothing else is."""
        views = native.list(thread_id=self.thread_id, checkpoint_ns="")
        found = [view["checkpoint_id"] for view in views]
        assert found == [checkpoint_id(n) for n in reversed(range(self.acknowledged))]
        for number, view in zip(reversed(range(self.acknowledged)), views, strict=True):
            stored = {value["channel"]: bytes(value["data"]) for value in view["values"]}
            assert stored == content(self.thread_id, number)
            sent = [(f"w{i}", data) for i, data in enumerate(pending(self.thread_id, number))]
            assert [(w["channel"], bytes(w["data"])) for w in view["writes"]] == sent
            expected_parent = checkpoint_id(number - 1) if number else None
            assert view.get("parent_checkpoint_id") == expected_parent
        thread = native.thread(self.thread_id)
        assert thread is not None
        assert thread["checkpoint_count"] == self.acknowledged


class Patient(Native):
    """Asks again while the server says that it cannot answer now, or closes the connection."""

    def call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        deadline = time.monotonic() + settings.PATIENCE_SECONDS
        while True:
            try:
                return super().call(path, body)
            except Refused as refused:
                if refused.status != 503 or time.monotonic() > deadline:
                    raise
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
            time.sleep(PAUSE_SECONDS)


class Crowd:
    """Several committers at once, as a context: they run inside it and have finished after it."""

    def __init__(self, server: Server, key: str, size: int = settings.COMMITTERS):
        self.members = [Committer(server, key) for _ in range(size)]

    def __enter__(self) -> "Crowd":
        for member in self.members:
            member.start()
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.finish.set()
        for member in self.members:
            member.join()

    def also_through(self, server: Server) -> None:
        """From now on another server of the same database gets its share."""
        for member in self.members:
            member.natives.append(Native(server.url, member.key))

    def wait_for_more(self) -> None:
        """Waits until as many commits were acknowledged as lie between two faults."""
        goal = self.acknowledged + settings.COMMITS_BETWEEN_FAULTS
        wait_until(lambda: self.acknowledged >= goal, "more commits to be acknowledged")

    @property
    def acknowledged(self) -> int:
        self.raise_error()
        return sum(member.acknowledged for member in self.members)

    @property
    def retries(self) -> int:
        return sum(member.retries for member in self.members)

    def raise_error(self) -> None:
        for member in self.members:
            if member.error is not None:
                raise member.error

    def check_stored(self, native: Native) -> None:
        self.raise_error()
        for member in self.members:
            assert member.acknowledged > 0
            member.check_stored(native)
