"""Documents and counters of sessions, and compacting a stream: the plans of the calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from threadkeep.errors import NotFoundError, ProtocolError
from threadkeep.plans import Plan
from threadkeep.records import listed, record
from threadkeep.sessions import (
    Document,
    Key,
    NewEntry,
    StoredDocument,
    parts_of,
    read_step,
    wire_entries,
    write_step,
)
from threadkeep.wide_text import text_of, wire_text


def put(
    kind: str, key: Key, name: str, content: str, if_version: int | None
) -> Plan[StoredDocument]:
    """Create or replace a document."""
    body = {"name": name, "content": wire_text(content), "if_version": if_version}
    return record(StoredDocument, (yield write_step("documents/put", kind, key, body)))


def get(kind: str, key: Key, name: str) -> Plan[Document | None]:
    """A document; None when there is none."""
    try:
        answer = yield read_step("documents/get", kind, key, {"name": name})
    except NotFoundError as error:
        if error.code not in ("document_not_found", "session_not_found"):
            raise
        return None
    return _document(answer)


def append(kind: str, key: Key, name: str, content: str) -> Plan[StoredDocument]:
    """Add to the end of a document, or create it."""
    body = {"name": name, "content": wire_text(content)}
    return record(StoredDocument, (yield write_step("documents/append", kind, key, body)))


def list_all(kind: str, key: Key, name_prefix: str | None) -> Plan[list[StoredDocument]]:
    """The documents of a session, without their contents."""
    answer = yield read_step("documents/list", kind, key, {"name_prefix": name_prefix})
    return listed(StoredDocument, answer, "documents")


def find(kind: str, name: str, key_prefix: Key | None) -> Plan[list[Document]]:
    """The document of that name of every session."""
    prefix = None if key_prefix is None else parts_of(key_prefix)
    found: list[Document] = []
    cursor: str | None = None
    while True:
        body = {"name": name, "key_prefix": prefix, "cursor": cursor}
        answer = yield read_step("documents/find", kind, None, body)
        documents = answer.get("documents")
        if not isinstance(documents, list):
            raise ProtocolError("the answer holds no documents")
        found += [_document(one) for one in documents]
        cursor = answer.get("next_cursor")
        if cursor is None:
            return found


def delete(kind: str, key: Key, name: str) -> Plan[None]:
    """Remove a document."""
    yield write_step("documents/delete", kind, key, {"name": name})


def add(kind: str, key: Key, counter: str, by: int) -> Plan[int]:
    """Add to a counter; its value now."""
    answer = yield write_step("counters/add", kind, key, {"counter": counter, "by": by})
    value = answer.get("value")
    if not isinstance(value, int):
        raise ProtocolError("the answer holds no value of a counter")
    return value


def compact(
    kind: str,
    key: Key,
    *,
    stream: str,
    through_seq: int,
    expected_head: int,
    archive_stream_prefix: str,
    replacement: Sequence[NewEntry],
    document: tuple[str, str] | None,
    count: int | None,
) -> Plan[tuple[str, int]]:
    """Move the beginning of a stream to an archive; the archive's id, and the head."""
    body: dict[str, Any] = {
        "stream": stream,
        "through_seq": through_seq,
        "expected_head": expected_head,
        "archive_stream_prefix": archive_stream_prefix,
        "replacement": wire_entries(replacement),
        "document": document and {"name": document[0], "append": wire_text(document[1])},
        "count": count,
    }
    answer = yield write_step("compact", kind, key, body)
    archive, head = answer.get("archive_id"), answer.get("head")
    if not isinstance(archive, str) or not isinstance(head, int):
        raise ProtocolError("the answer does not name the archive")
    return archive, head


def _document(answer: object) -> Document:
    if not isinstance(answer, dict):
        raise ProtocolError("the answer holds no document")
    return record(Document, {**answer, "content": text_of(answer.get("content"))})
