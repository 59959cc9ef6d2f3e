"""Threads of an earlier version, which kept no state of them, are found by it from the start.

Made only where `THREADKEEP_TEST_EARLIER_BIN` names a binary of the earlier version; `make soak` builds one.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from support import settings
from support.http import post_json
from support.native import CODEC, Native, checkpoint
from support.postgres import Databases
from support.server import Place, Server

FILLERS = 16
# One of so many asks something and waits.
ASKING_EVERY = 10
# Answers that have to be whole before the test is content.
WHOLE_ANSWERS = 20


@pytest.fixture(params=["postgresql", "sqlite"])
def place(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Place]:
    place = Place(databases if request.param == "postgresql" else None)
    yield place
    place.remove()


def commit(native: Native, thread_id: str, *, asks: bool) -> None:
    checkpoint_id = f"{1:032}"
    question = {"idx": -3, "channel": "__interrupt__", "tag": CODEC, "data": b"\xc0"}
    asked: dict[str, Any] = {"checkpoint_id": checkpoint_id, "task_id": "ask", "writes": [question]}
    ops = [checkpoint(checkpoint_id, {"text": b"\xa2hi"}), *([{"writes": asked}] if asks else [])]
    native.commit(thread_id, *ops)


def fill(server: Server, key: str) -> set[str]:
    """Threads, through the server; those that wait."""

    def some(first: int) -> set[str]:
        native = Native(server.url, key)
        waiting = set()
        for number in range(first, settings.UPGRADE_THREADS, FILLERS):
            thread_id, asks = f"before-{number}", number % ASKING_EVERY == 0
            commit(native, thread_id, asks=asks)
            waiting |= {thread_id} if asks else set()
        native.close()
        return waiting

    with ThreadPoolExecutor(FILLERS) as pool:
        return set().union(*pool.map(some, range(FILLERS)))


class Writer:
    """Makes threads that wait, through the earlier version, until it is told to end."""

    def __init__(self, server: Server, key: str) -> None:
        self.server, self.key = server, key
        self.done: list[str] = []
        self.stopped = Event()

    def run(self) -> None:
        native = Native(self.server.url, self.key)
        while not self.stopped.is_set():
            thread_id = f"meanwhile-{len(self.done)}"
            commit(native, thread_id, asks=True)
            self.done.append(thread_id)
        native.close()


def waiting_threads(server: Server, key: str) -> set[str]:
    """All pages of them."""
    body: dict[str, Any] = {"status": ["interrupted"], "sort": "thread_id", "limit": 1000}
    found: set[str] = set()
    while True:
        page = post_json(server.url, "/v1/threads/search", body, key=key).json()
        found |= {it["thread_id"] for it in page["threads"]}
        if "next_cursor" not in page:
            return found
        body["cursor"] = page["next_cursor"]


def check_counts(server: Server, key: str, waiting: set[str], writer: Writer) -> None:
    """Each count is whole, or says that it cannot be yet."""
    whole = 0
    while whole < WHOLE_ANSWERS:
        least = len(waiting) + len(writer.done)
        body = {"status": ["interrupted"]}
        answer = post_json(server.url, "/v1/threads/count", body, key=key)
        # One may be made already that its writer does not know of yet.
        most = len(waiting) + len(writer.done) + 1
        if answer.status == 200:
            assert least <= answer.json()["count"] <= most
            whole += 1
        else:
            assert (answer.status, answer.code) == (503, "threads_indexing"), answer.body
            assert int(answer.headers["retry-after"]) > 0


def test_a_search_by_status_is_whole_or_says_that_it_is_not_yet(place: Place) -> None:
    assert settings.EARLIER_BINARY
    old, new = Server(place, binary=settings.EARLIER_BINARY), Server(place)
    try:
        old.start()
        (key,) = old.make_keys(["acme"])
        waiting = fill(old, key)
        writer = Writer(old, key)
        # One server alone may have an embedded database.
        with_both = place.name is not None
        if not with_both:
            assert old.stop() == 0
        new.start()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(writer.run) if with_both else None
            try:
                check_counts(new, key, waiting, writer)
            finally:
                writer.stopped.set()
            if writing is not None:
                writing.result()
        assert waiting_threads(new, key) == waiting | set(writer.done)
        assert new.stop() == 0
        examined = new.command("doctor")
        assert examined.returncode == 0, (examined.stdout, examined.stderr)
    finally:
        old.kill()
        new.kill()
