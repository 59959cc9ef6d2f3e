"""Measures the memory that one request of each operation of the API document takes: at most eight times the bytes that were sent and
answered, and 16 MiB. Requests are made by rule from the document, so that a new operation is measured too.
"""

import json
from collections.abc import Iterator

import pytest

from support import settings
from support.http import JSON
from support.large_requests import OF_NO_RUNS, OF_NOTHING_LARGE, REQUESTS, Ask
from support.large_things import Stored
from support.measured import Measured, Taken, copy_of
from support.server import Place, Server
from support.worst_requests import (
    BYTES,
    FORM,
    Operation,
    Request,
    in_form,
    operations,
    worst_requests,
)

MIB = 1 << 20
# Of what is sent, once it is unpacked, and answered; and beside it.
TIMES, BESIDE_BYTES = 8, 16 * MIB
# Servers that were just started, of which one has to hold it: what an allocator keeps differs by some percent.
FRESH_TRIES = 3
# What a request on something stored takes at the most: it opens a value or two that it does not answer, to look into them.
READ_BYTES = 112 * MIB
# The file that bodies before have made is read again: one of them, or all that were appended. NUL takes six bytes of JSON.
GROWN = {
    "write_file": 6 * settings.MEMORY_BODY_BYTES,
    "append_file": 3 * 6 * 2 * settings.MEMORY_BODY_BYTES,
}
# What a server may keep before another one is started for the next request.
KEPT_BYTES_MAX = 4 * MIB
OPERATIONS = operations()
# Their subject is such that they are refused, once they have read it: no state of a thread is changed without its graph.
REFUSED = {"agent_server_update_state": "bad_request"}


def has_room(it: Measured) -> None:
    """Starts another server where this one has kept what requests before took."""
    if not it.server.running() or it.kept_bytes() > KEPT_BYTES_MAX:
        it.start()


@pytest.fixture(scope="module")
def empty() -> Iterator[Place]:
    place = Place()
    try:
        yield place
    finally:
        place.remove()


@pytest.fixture(scope="module")
def key(empty: Place) -> str:
    server = Server(empty).start()
    try:
        return server.new_key()
    finally:
        server.stop()


@pytest.fixture
def measured(empty: Place, key: str) -> Iterator[Measured]:
    """A server without any data."""
    it = Measured(copy_of(empty.folder), key)
    try:
        it.start()
        yield it
    finally:
        it.end()


@pytest.fixture(scope="module")
def asked_only(empty: Place, key: str) -> Iterator[Measured]:
    """Shared by operations without bodies."""
    it = Measured(copy_of(empty.folder), key)
    try:
        yield it
    finally:
        it.end()


@pytest.fixture(scope="module")
def reading(stored: Stored) -> Iterator[Measured]:
    """Shared by operations that change nothing."""
    it = Measured(copy_of(stored.place.folder), stored.large)
    try:
        yield it
    finally:
        it.end()


@pytest.fixture
def changing(stored: Stored) -> Iterator[Measured]:
    it = Measured(copy_of(stored.place.folder), stored.large)
    try:
        it.start()
        yield it
    finally:
        it.end()


def test_every_operation_has_a_request_on_the_largest_thing_that_it_is_about() -> None:
    without_runs = {
        it.name for it in OPERATIONS.values() if any(part in it.path for part in OF_NO_RUNS)
    }
    assert len(OPERATIONS) > 170
    known = {*REQUESTS, *OF_NOTHING_LARGE, *without_runs}
    assert OPERATIONS.keys() - known == set(), "their subjects are not known"
    assert known - OPERATIONS.keys() == set(), "there are no such operations"


def test_every_operation_is_measured_whose_document_is_served(measured: Measured) -> None:
    answer = measured.server.get("/openapi.json").json()

    served = {said["operationId"] for it in answer["paths"].values() for said in it.values()}
    assert served == OPERATIONS.keys()


def take(it: Measured, operation: Operation, request: Request) -> Taken:
    taken = it.measure(operation.method, request.path, request.body, request.headers)
    return taken._replace(sent_bytes=taken.sent_bytes + request.packed_bytes)


@pytest.mark.parametrize("name", [name for name, it in OPERATIONS.items() if it.media])
def test_the_worst_bodies_take_little_more_than_themselves(measured: Measured, name: str) -> None:
    measure_worst(measured, OPERATIONS[name])


@pytest.mark.parametrize("name", [name for name, it in OPERATIONS.items() if not it.media])
def test_the_worst_parameters_take_little_memory(asked_only: Measured, name: str) -> None:
    has_room(asked_only)
    measure_worst(asked_only, OPERATIONS[name])


def measure_worst(it: Measured, operation: Operation) -> None:
    too_much = []
    beside = BESIDE_BYTES + GROWN.get(operation.name, 0)
    for request in worst_requests(operation):
        taken = take(it, operation, request)
        for _ in range(FRESH_TRIES):
            if taken.bytes <= taken.bound(TIMES, beside):
                break
            # With what the requests before it left behind, or the allocator on a busy machine. It alone is what counts.
            it.start()
            taken = take(it, operation, request)
        assert taken.answer.status < 500, (request.name, taken.answer)
        if taken.bytes > taken.bound(TIMES, beside):
            too_much.append(f"{request.name}: {taken.told(TIMES, beside)}")
    assert too_much == []


def asked(operation: Operation, ask: Ask) -> Request:
    path = operation.at(**ask.path)
    path = f"{path}?{ask.query}" if ask.query else path
    if ask.body is None:
        return Request(operation.name, path, None, operation.headers)
    if not isinstance(ask.body, bytes):
        body, media = json.dumps(ask.body).encode(), JSON
    elif BYTES in operation.media:
        body, media = ask.body, BYTES
    else:
        body, media = in_form(ask.body), FORM
    return Request(operation.name, path, body, operation.headers | {"Content-Type": media})


@pytest.mark.parametrize("name", [name for name in REQUESTS if OPERATIONS[name].only_reads])
def test_a_read_of_something_large_takes_little_more_than_it(
    reading: Measured, stored: Stored, name: str
) -> None:
    reading.key = stored.many if REQUESTS[name].of_many else stored.large
    has_room(reading)
    measure_large(reading, name)


@pytest.mark.parametrize("name", [name for name in REQUESTS if not OPERATIONS[name].only_reads])
def test_a_change_of_something_large_takes_little_more_than_it(
    changing: Measured, name: str
) -> None:
    measure_large(changing, name)


def measure_large(it: Measured, name: str) -> None:
    operation, ask = OPERATIONS[name], REQUESTS[name].filled(it)
    if REQUESTS[name].before is not None:
        has_room(it)
    taken = take(it, operation, asked(operation, ask))

    wanted = REFUSED.get(name)
    assert taken.answer.code == wanted, taken.answer.body[:500]
    assert wanted or taken.answer.status in (200, 201, 204), taken.answer
    bound = max(taken.bound(TIMES, BESIDE_BYTES), READ_BYTES)
    assert taken.bytes <= bound, taken.told(TIMES, BESIDE_BYTES)
