"""Large values in parts: sent ahead of the commit that names them, fetched one after the other.

Plans only, no I/O. A value is cut by views, so that nothing but the parts under way is copied; one
that is read is put together in one buffer, which then is the value.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from threadkeep.errors import ProtocolError
from threadkeep.http.transport import Request
from threadkeep.langgraph.decode import reading_answer
from threadkeep.langgraph.encode import VALUE_BYTES_MAX, packed
from threadkeep.langgraph.steps import Deadline, Step, Steps

# As the server has them, in GET /v1/limits.
PART_BYTES = 2 * 1024 * 1024
"""`value_part_bytes`: each part of a value but the last one."""
IN_PARTS_BYTES_MIN = 8 * 1024 * 1024
"""`value_in_parts_bytes_min`: larger values travel in parts."""
BODY_BYTES_MAX = 72 * 1024 * 1024
"""`body_bytes_max` of a commit."""

IN_FLIGHT_MAX = 2
"""Parts of one call that are under way together."""
PUT_AGAIN_MAX = 2
"""How often one commit puts all its parts again."""

PUT = "/v1/checkpoints/parts/put"
GET = "/v1/checkpoints/parts/get"

Held = dict[tuple[bytes, ...], bytes]
"""Values that were fetched, by the names of their parts."""


def is_large(data: bytes) -> bool:
    """Whether a value travels in parts, whatever else its commit holds."""
    return len(data) > IN_PARTS_BYTES_MIN


# Out


def put_all(
    thread_id: str, terms: Mapping[str, Any], values: Sequence[bytes], deadline: Deadline
) -> Steps[list[bytes]]:
    """Put the parts of some values. Returns what stands in the place of each, as MessagePack.

    `terms` are the conditions on the thread.
    """
    named: list[list[bytes]] = [[] for _ in values]
    pieces = [
        (at, index)
        for at, data in enumerate(values)
        for index in range(-(-len(data) // PART_BYTES))
    ]
    for first in range(0, len(pieces), IN_FLIGHT_MAX):
        together = pieces[first : first + IN_FLIGHT_MAX]
        steps = []
        for at, index in together:
            part = memoryview(values[at])[index * PART_BYTES : (index + 1) * PART_BYTES]
            body = packed({"thread_id": thread_id, **terms, "index": index, "data": part})
            steps.append(Step(Request("POST", PUT, body), True, deadline.ends))
            deadline.moved(len(part))
        answers = yield steps
        with reading_answer():
            for (at, _), answer in zip(together, answers, strict=True):
                named[at].append(_name(answer["name"]))
    return [
        packed({"parts": names, "length": len(data)})
        for names, data in zip(named, values, strict=True)
    ]


# In


def of_view(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of a checkpoint whose data came in parts."""
    entries = (*raw["values"], *raw["writes"], *(raw.get("pending_sends") or ()))
    return [entry for entry in entries if _is_in_parts(entry)]


def of_histories(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same of the histories that an answer brings along."""
    return [entry for entry in _entries_of_histories(answer) if _is_in_parts(entry)]


def length_of(entries: Iterable[Mapping[str, Any]]) -> int:
    """Of all these values together."""
    return sum(_length(entry["data"]) for entry in entries)


def fetch_all(
    thread_id: str, entries: Sequence[dict[str, Any]], deadline: Deadline, held: Held
) -> Steps[Held]:
    """Put the bytes of values in the place of the names of their parts.

    What is held already is not fetched again. Returns the values of these entries.
    """
    found: Held = {}
    for entry in entries:
        with reading_answer():
            names = tuple(map(_name, entry["data"]["parts"]))
            length = _length(entry["data"])
        value = found.get(names) or held.get(names)
        if value is None:
            value = yield from _fetch(thread_id, names, length, deadline)
        entry["data"] = found[names] = value
    return found


def _fetch(
    thread_id: str, names: tuple[bytes, ...], length: int, deadline: Deadline
) -> Steps[bytes]:
    # Its value is the buffer itself: bytes, so that every serializer takes it, without a copy.
    buffer = io.BytesIO()
    buffer.seek(length - 1)
    buffer.write(b"\0")
    buffer.seek(0)
    for first in range(0, len(names), IN_FLIGHT_MAX):
        bodies = [
            packed({"thread_id": thread_id, "name": name})
            for name in names[first : first + IN_FLIGHT_MAX]
        ]
        answers = yield [Step(Request("POST", GET, body), False, deadline.ends) for body in bodies]
        with reading_answer():
            for answer in answers:
                part = _name(answer["data"])
                if buffer.tell() + len(part) > length:
                    raise ProtocolError("the parts of a value have more bytes than it")
                buffer.write(part)
                deadline.moved(len(part))
    if buffer.tell() != length:
        raise ProtocolError("the parts of a value have less bytes than it")
    return buffer.getvalue()


def _entries_of_histories(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    single = answer.get("checkpoint")
    for view in [single] if single else answer.get("checkpoints") or ():
        yield from _entries_of_bases(view.get("bases") or ())
    yield from _entries_of_bases(answer.get("bases") or ())
    for node in answer.get("chain") or ():
        yield from node["seeds"]
        yield from node["writes"]
        yield from _entries_of_bases(node.get("bases") or ())


def _entries_of_bases(bases: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for base in bases:
        if base.get("seed") is not None:
            yield base["seed"]
        yield from base["writes"]


def _is_in_parts(entry: Mapping[str, Any]) -> bool:
    data = entry.get("data")
    return isinstance(data, dict) and "parts" in data


def _length(data: Mapping[str, Any]) -> int:
    length = data["length"]
    if not isinstance(length, int) or not 0 < length <= VALUE_BYTES_MAX:
        raise ProtocolError("the answer holds a value in parts of an impossible length")
    return length


def _name(found: object) -> bytes:
    """A name, or the bytes of a part."""
    if not isinstance(found, bytes):
        raise TypeError("not bytes")
    return found
