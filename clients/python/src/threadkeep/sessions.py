"""Sessions of agents: append-only streams, documents and counters under a key, and their plans.

A session is a `kind` and a `key` of free texts; its streams and documents have free names. The
calls themselves are `client.sessions`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from threadkeep import calls
from threadkeep.errors import (
    InvalidError,
    NotFoundError,
    ProtocolError,
    UnserializableError,
)
from threadkeep.plans import Plan, Step
from threadkeep.records import listed, record
from threadkeep.wide_text import wire_text

Key = Sequence[str]

_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class NewEntry(NamedTuple):
    """What to append. An entry whose `id` the stream has already is left out."""

    data: Any
    id: str | None = None


class DocumentChange(TypedDict, total=False):
    """A document that is put with an append, both or none. `if_version` 0: there must be none."""

    name: str
    content: str
    if_version: int


class SessionOrigin(TypedDict, total=False):
    """Who a session belongs to; only the first ones that are named count."""

    user: str
    agent: str
    title: str


@dataclass(frozen=True)
class Entry:
    """One entry of a stream. `seq` counts from 1 in the order of the commits."""

    seq: int
    data: Any
    at_ms: int
    id: str | None = None


@dataclass(frozen=True)
class Log:
    """Entries of a stream. `head` is the last `seq` of the stream; `more`: there are later ones."""

    entries: list[Entry]
    head: int
    more: bool


@dataclass(frozen=True)
class Appended:
    """What an append did. `appended` leaves out entries that were there already."""

    head: int
    appended: int
    first_seq: int | None = None
    last_seq: int | None = None
    document_version: int | None = None


@dataclass(frozen=True)
class Session:
    """A session in a listing. With a stream asked for, the times are that stream's."""

    key: list[str]
    updated_at_ms: int
    created_at_ms: int | None = None
    user: str | None = None
    agent: str | None = None
    title: str | None = None


@dataclass(frozen=True)
class SessionPage:
    """A page of sessions, newest first. `next_cursor` is None on the last one."""

    sessions: list[Session]
    next_cursor: str | None


@dataclass(frozen=True)
class SessionKind:
    """A kind, and how many of its sessions may be read.

    The count ends at 10,000; then `partial` is true. `updated_at_ms` is the newest change of one.
    """

    kind: str
    sessions: int
    partial: bool
    updated_at_ms: int


@dataclass(frozen=True)
class SessionKindPage:
    """A page of kinds, by name. `next_cursor` is None on the last one."""

    kinds: list[SessionKind]
    next_cursor: str | None


@dataclass(frozen=True)
class Stream:
    """A stream of a session."""

    stream: str
    head: int
    updated_at_ms: int


@dataclass(frozen=True)
class StoredDocument:
    """What a listing says of a document, and what putting one answers. `size` is in bytes."""

    version: int
    updated_at_ms: int
    size: int = 0
    name: str | None = None


@dataclass(frozen=True)
class Document:
    """A document. `key` is the session's, where documents of many were asked for."""

    content: str
    version: int
    updated_at_ms: int
    size: int | None = None
    key: list[str] | None = None


def json_of(data: Any) -> bytes:
    """The exact JSON text of an entry. Raises UnserializableError."""
    try:
        return _encode(data).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise UnserializableError(f"an entry is not JSON: {error}", field="entries") from error


def wire_entries(entries: Sequence[NewEntry]) -> list[dict[str, Any]]:
    """Entries as they travel."""
    return [
        {"data": json_of(one.data)} | ({} if one.id is None else {"id": one.id}) for one in entries
    ]


def read_step(call: str, kind: str, key: Key | None, body: Mapping[str, Any]) -> Step:
    """A call that changes nothing."""
    return Step(calls.post(f"/v1/sessions/{call}", _addressed(kind, key, body)), False)


def write_step(call: str, kind: str, key: Key | None, body: Mapping[str, Any]) -> Step:
    """A call that changes something, once."""
    return Step(calls.once(f"/v1/sessions/{call}", _addressed(kind, key, body)), True)


def create(kind: str, key: Key, origin: SessionOrigin) -> Plan[bool]:
    """Make a session unless it exists; whether it was made."""
    answer = yield write_step("create", kind, key, origin)
    return answer.get("created") is True


def append(
    kind: str,
    key: Key,
    entries: Sequence[dict[str, Any]],
    *,
    stream: str,
    if_head: int | None = None,
    document: DocumentChange | None = None,
    origin: SessionOrigin | None = None,
) -> Plan[Appended]:
    """Add entries to a stream, as `wire_entries` makes them, all or none."""
    body = {
        "stream": stream,
        "entries": entries,
        "if_head": if_head,
        "document": document and {**document, "content": wire_text(document["content"])},
        "create": origin,
    }
    return record(Appended, (yield write_step("append", kind, key, body)))


def load(
    kind: str,
    key: Key,
    *,
    stream: str,
    after_seq: int | None = None,
    limit: int | None = None,
    tail: int | None = None,
    bytes_max: int | None = None,
    token_budget: int | None = None,
) -> Plan[Log | None]:
    """One page of a stream; None when nothing was ever written to it."""
    body = {
        "stream": stream,
        "after_seq": after_seq,
        "limit": limit,
        "tail": tail,
        "bytes_max": bytes_max,
        "token_budget": token_budget,
    }
    try:
        answer = yield read_step("load", kind, key, body)
    except NotFoundError as error:
        if error.code != "session_not_found":
            raise
        return None
    return _log(answer)


def load_all(kind: str, key: Key, *, stream: str) -> Plan[list[Entry] | None]:
    """A whole stream, page by page; None when nothing was ever written to it."""
    entries: list[Entry] = []
    after: int | None = None
    while True:
        page = yield from load(kind, key, stream=stream, after_seq=after)
        if page is None:
            # Deleted while it was read: as if it had never been.
            return None
        entries += page.entries
        if not page.more or not page.entries:
            return entries
        after = page.entries[-1].seq


def streams(kind: str, key: Key) -> Plan[list[Stream]]:
    """The streams of a session; none when there is no such session."""
    try:
        answer = yield read_step("streams", kind, key, {})
    except NotFoundError as error:
        if error.code != "session_not_found":
            raise
        return []
    return listed(Stream, answer, "streams")


def page(
    kind: str,
    *,
    key_prefix: Key | None,
    user: str | None,
    stream: str | None,
    limit: int | None,
    cursor: str | None,
) -> Plan[SessionPage]:
    """One page of sessions, newest first."""
    body = {
        "key_prefix": None if key_prefix is None else parts_of(key_prefix),
        "user": user,
        "stream": stream,
        "limit": limit,
        "cursor": cursor,
    }
    answer = yield read_step("list", kind, None, body)
    return SessionPage(listed(Session, answer, "sessions"), answer.get("next_cursor"))


def page_all(
    kind: str, *, key_prefix: Key | None = None, user: str | None = None, stream: str | None = None
) -> Plan[list[Session]]:
    """All sessions, page by page."""
    found: list[Session] = []
    cursor: str | None = None
    while True:
        one = yield from page(
            kind, key_prefix=key_prefix, user=user, stream=stream, limit=None, cursor=cursor
        )
        found += one.sessions
        cursor = one.next_cursor
        if cursor is None:
            return found


def kinds(limit: int | None, cursor: str | None) -> Plan[SessionKindPage]:
    """One page of kinds of sessions, by name."""
    answer = yield Step(calls.post("/v1/sessions/kinds", {"limit": limit, "cursor": cursor}), False)
    return SessionKindPage(listed(SessionKind, answer, "kinds"), answer.get("next_cursor"))


def delete(kind: str, key: Key, stream: str | None) -> Plan[None]:
    """Remove a stream, or without one the whole session."""
    yield write_step("delete", kind, key, {"stream": stream})


def parts_of(key: Key) -> list[str]:
    """A key as it travels. One text is most likely a mistake, and refused."""
    if isinstance(key, str) or not all(isinstance(part, str) for part in key):
        raise InvalidError("key must be a sequence of texts", field="key")
    return list(key)


def _addressed(kind: str, key: Key | None, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "key": None if key is None else parts_of(key), **body}


def _log(answer: Mapping[str, Any]) -> Log:
    found, head = answer.get("entries"), answer.get("head")
    if not isinstance(found, list) or not isinstance(head, int):
        raise ProtocolError("the answer holds no entries of a stream")
    return Log([_entry(one) for one in found], head, answer.get("more") is True)


def _entry(found: object) -> Entry:
    data = found.get("data") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(data, bytes):
        raise ProtocolError("the answer holds half an entry")
    try:
        return Entry(found["seq"], json.loads(data), found["at_ms"], found.get("id"))
    except (KeyError, ValueError) as error:
        raise ProtocolError(f"an entry of a stream cannot be read: {error}") from error
