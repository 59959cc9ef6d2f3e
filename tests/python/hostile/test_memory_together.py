"""Measures the memory that many requests take at one time, each the worst of its operation: at most twice the memory for bodies, and
256 MiB. Others are answered meanwhile.
"""

import gzip
import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import settings
from support.bad_bodies import COMMIT, good_commit
from support.http import JSON, MSGPACK, connect, send
from support.large_requests import REQUESTS
from support.large_things import Stored
from support.measured import copy_of
from support.native import Native
from support.server import Server
from support.worst_bodies import in_json
from support.worst_requests import DOCUMENT, operations

MIB = 1 << 20
# Of one body.
BODY_BYTES = 24 * MIB
CLIENTS = 24
TENANTS = 4
OTHERS_ANSWERED_MIN = 10
OPERATIONS = operations()
# The part of the body that is the worst. Packed it is sent as a few kilobytes.
BODIES = {
    "commit_checkpoints": "ops: one with checkpoint: values: one with data: much data",
    "put_item": "value: a text in JSON",
    "run_store_batch": "ops: many with put: value: a text in JSON",
    "append_entries": "entries: many with data: a text in JSON",
    "put_document": "content: a long text",
    "search_items": "filter: endless JSON",
    "take_snapshot": "document: a text in JSON",
    "prune_threads": "thread_ids: as many as a body has",
    "mint_token": "subject: a long text",
    "agent_server_update_state": "values: lists in JSON",
}
# Of the tenant that has large things.
READS = ["get_checkpoint", "list_checkpoints", "search_items", "download_files", "load_entries"]


class Sent:
    """One request that is sent again and again."""

    def __init__(self, name: str, body: bytes, headers: dict[str, str]):
        self.operation, self.body, self.headers = OPERATIONS[name], body, headers

    def send(self, url: str, key: str) -> str:
        connection = connect(url)
        try:
            headers = self.headers | {"X-Api-Key": key}
            path = self.operation.at(thread_id="t")
            answer = send(connection, self.operation.method, path, self.body, headers)
        except OSError:
            # The body was refused before it was sent.
            return "closed"
        finally:
            connection.close()
        return f"{answer.status} {answer.code or ''}".strip()


def worst_body(name: str, part: str) -> Sent:
    said = OPERATIONS[name].media[JSON]
    base = DOCUMENT.typed(said["schema"], said["example"])
    bodies = DOCUMENT.worst(said["schema"], base, BODY_BYTES)
    body = in_json(next(value for what, value in bodies if what == part))
    headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}
    return Sent(name, gzip.compress(body, 1), headers)


def large_read(name: str) -> Sent:
    media = MSGPACK if OPERATIONS[name].has_msgpack else JSON
    return Sent(
        name, json.dumps(REQUESTS[name].body).encode(), {"Content-Type": JSON, "Accept": media}
    )


class Innocent:
    """Of a tenant that does nothing of the kind: each of its calls is answered."""

    def __init__(self, server: Server, key: str):
        self.native, self.answered, self.failures = Native(server.url, key), 0, list[str]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Innocent":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.native.close()

    def _run(self) -> None:
        while not self._over.wait(0.05):
            try:
                body = good_commit()
                self.native.call(COMMIT, body)
                assert self.native.get(body["thread_id"])["checkpoint"]
                self.answered += 1
            except Exception as error:
                self.failures.append(repr(error))


@pytest.fixture
def serving(stored: Stored) -> Iterator[Server]:
    """All settings are the defaults."""
    place = copy_of(stored.place.folder)
    server = Server(place)
    try:
        yield server.start()
    finally:
        server.stop()
        place.remove()


def test_the_worst_requests_at_one_time_stay_within_twice_the_memory_for_bodies(
    serving: Server, stored: Stored
) -> None:
    *enemies, innocent = serving.make_keys([f"enemy-{it}" for it in range(TENANTS)] + ["other"])
    limits = serving.get("/v1/limits", innocent).json()
    bodies = [worst_body(name, part) for name, part in BODIES.items()]
    sent = [(it, enemies[at % TENANTS]) for at, it in enumerate(bodies)]
    sent += [(large_read(name), stored.large) for name in READS]

    def attack(client: int) -> Counter[str]:
        told = Counter[str]()
        for turn in range(settings.MEMORY_TURNS):
            it, key = sent[(client * 7 + turn) % len(sent)]
            told[f"{it.operation.name}: {it.send(serving.url, key)}"] += 1
        return told

    with Innocent(serving, innocent) as other, ThreadPoolExecutor(CLIENTS) as clients:
        told = sum(clients.map(attack, range(CLIENTS)), Counter[str]())

    assert other.failures == [], told
    assert other.answered >= OTHERS_ANSWERED_MIN
    # Most of them are let in: they are what takes the memory.
    done = {it.partition(":")[0] for it in told if it.endswith((" 200", " 201"))}
    assert len(done) >= 8, told
    most = 2 * limits["bytes_in_flight_max"] + 256 * MIB
    resident = serving.resident_bytes_max()
    assert resident <= most, (f"{resident >> 20} MiB of {most >> 20}", told)
