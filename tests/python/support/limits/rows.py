"""Defines the rows of the table of limits: a request whose size is a number, and the refusal of one that is one too large."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import msgpack  # type: ignore[import-untyped]

from support.http import JSON, MSGPACK, Answer, request
from support.server import Server

# The file with the tests of limits that refuse nothing: they end an answer, or fill in what a request left out.
ANSWERS = "tests/python/hostile/test_limits_of_answers.py"
# And with those of limits that many requests reach together.
SERVERS = "tests/python/hostile/test_limits_of_servers.py"
# Of how many rows a request looks at.
ROWS_OF_ONE = "tests/python/hostile/test_limits_of_rows.py"
STATUS = {
    "invalid": 422,
    "invalid_glob": 422,
    "too_large": 413,
    "head_too_large": 431,
    "too_many_requests": 429,
    "parts_missing": 409,
    "resend_whole": 409,
}


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: bytes | None = None
    content_type: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    # Of a token that asks instead of the key of the tenant.
    token: str | None = None


# The day of a key's last use is written some seconds later.
USED = re.compile(rb',"last_used_on":"[^"]*"')
# Of everything that a tenant can have.
LISTINGS: list["Asked"] = []


@dataclass
class World:
    """A tenant that nothing has used, on a server."""

    server: Server
    key: str

    def ask(self, asked: Asked) -> Answer:
        return request(
            self.server.url,
            asked.method,
            asked.path,
            asked.body,
            key=asked.token or self.key,
            content_type=asked.content_type,
            headers=asked.headers,
        )

    def has(self) -> list[bytes]:
        """What the tenant has, by its listings, and what was done in it."""
        answers = [self.ask(it) for it in LISTINGS]
        assert {it.status for it in answers} == {200}, answers
        return [USED.sub(b"", it.body) for it in answers]

    def must(self, asked: Asked) -> Any:
        answer = self.ask(asked)
        assert answer.status in (200, 201), (asked.path, answer.status, answer.body[:500])
        is_packed = answer.headers["content-type"] == MSGPACK
        return msgpack.unpackb(answer.body) if is_packed else answer.json()


@dataclass(frozen=True)
class Over:
    """`make` asks for exactly so much. One more than the limit is refused with `code`, and the answer names `field` and the limit."""

    make: Callable[[World, int], Asked]
    field: str
    code: str = "invalid"
    # What is answered at the limit, where that is not a success: the request is read, and refused for another reason.
    at_limit: str | None = None
    # Whether the request at the limit changes what the tenant has.
    stores: bool = True
    # A request at the limit takes long.
    is_slow: bool = False


@dataclass(frozen=True)
class Elsewhere:
    """The tests that show a limit which no single cheap request breaks."""

    tests: tuple[str, ...]


@dataclass(frozen=True)
class Unshown:
    """A limit that no test shows, and why."""

    reason: str


def shown_by(*tests: str) -> Elsewhere:
    return Elsewhere(tests)


Row = Over | Elsewhere | Unshown
Rows = dict[str, Row]


def text(size: int) -> str:
    """So many bytes of UTF-8 in about half as many characters, so that whoever counts characters takes more."""
    return "ü" * (size // 2) + "x" * (size % 2)


def post(path: str, /, **fields: Any) -> Asked:
    """In JSON, with every character beyond ASCII escaped: the body is longer than what it says."""
    return Asked("POST", path, json.dumps(fields).encode(), JSON)


def packed(path: str, /, **fields: Any) -> Asked:
    return Asked("POST", path, msgpack.packb(fields), MSGPACK)


def get(path: str, /, **query: Any) -> Asked:
    return Asked("GET", f"{path}?{urlencode(query, doseq=True)}")


def nested(depth: int) -> dict[str, Any]:
    """An object in an object, so many."""
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def document(size: int) -> bytes:
    """An object whose JSON text has so many bytes."""
    empty = b'{"a":""}'
    return empty[:-2] + text(size - len(empty)).encode() + empty[-2:]


LISTINGS += [
    get("/v1/threads"),
    post("/v1/checkpoints/list", limit=10, values=False),
    post("/v1/store/search", limit=10),
    post("/v1/store/settings/list"),
    post("/v1/sessions/kinds"),
    post("/v1/snapshots/list"),
    get("/v1/keys"),
    get("/v1/tokens"),
    get("/v1/retention/policies"),
    get("/v1/audit"),
]
