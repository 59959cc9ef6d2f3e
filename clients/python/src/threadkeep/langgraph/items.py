"""Operations of the store as they travel, and their results as LangGraph's items.

Values are JSON and bytes: what is neither is refused here, before anything is sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from threadkeep.errors import (
    InvalidError,
    ProtocolError,
    ThreadkeepError,
    UnserializableError,
    error_of_problem,
)
from threadkeep.langgraph.documents import document_of, document_text, filter_text

Wire = dict[str, Any]


class StoreItem(Item):
    """An item with its version, for `if_version`, and with what the server knows of its life."""

    __slots__ = ("expires_at", "version")

    def __init__(self, *, version: int, expires_at: datetime | None, **fields: Any) -> None:
        super().__init__(**fields)
        self.version = version
        self.expires_at = expires_at


class StoreSearchItem(SearchItem):
    """The same, found by a search."""

    __slots__ = ("expires_at", "version")

    def __init__(self, *, version: int, expires_at: datetime | None, **fields: Any) -> None:
        super().__init__(**fields)
        self.version = version
        self.expires_at = expires_at


class ConditionalPutOp(PutOp):
    """A put, or a deletion, of an item that must have a version; 0: there must be none."""

    if_version: int

    @staticmethod
    def of(op: PutOp, if_version: int) -> ConditionalPutOp:
        conditional = ConditionalPutOp(*op)
        conditional.if_version = if_version
        return conditional


class FinderOp(SearchOp):
    """A search with more than the base class can say."""

    more: Mapping[str, Any]
    wants_page: bool

    @staticmethod
    def of(op: SearchOp, more: Mapping[str, Any], *, wants_page: bool = False) -> FinderOp:
        finder = FinderOp(*op)
        finder.more = {name: value for name, value in more.items() if value is not None}
        finder.wants_page = wants_page
        return finder


class Page(list[SearchItem]):
    """A page of a search. `next_cursor` is None on the last one."""

    next_cursor: str | None = None


def is_change(op: Op) -> bool:
    """Whether the operation writes."""
    return isinstance(op, PutOp)


def address_of(op: PutOp) -> tuple[tuple[str, ...], str]:
    """What the operation changes."""
    return tuple(op.namespace), str(op.key)


def wire_of(op: Op) -> Wire:
    """The operation as the server takes it. Raises InvalidNamespaceError and InvalidError."""
    validate_op_namespace(op)
    if isinstance(op, GetOp):
        return {"get": _place(op) | {"refresh_ttl": bool(op.refresh_ttl)}}
    if isinstance(op, PutOp):
        return _change(op)
    if isinstance(op, SearchOp):
        return {"search": _search(op)}
    if isinstance(op, ListNamespacesOp):
        return {"list_namespaces": _list(op)}
    raise InvalidError(f"not an operation of a store: {type(op).__name__}", field="ops")


def result_of(op: Op, answer: object) -> Result:
    """The result of an operation. Raises what the server says went wrong with it."""
    if not isinstance(answer, dict):
        raise ProtocolError("a result of the store is no map")
    if (problem := answer.get("error")) is not None:
        raise error_of_result(problem)
    try:
        if isinstance(op, GetOp):
            found = answer.get("item")
            return None if found is None else _item(found)
        if isinstance(op, PutOp):
            return answer.get("version") if isinstance(op, ConditionalPutOp) else None
        if isinstance(op, SearchOp):
            page = Page(_search_item(item) for item in answer["items"])
            page.next_cursor = answer.get("next_cursor")
            return page
        return [tuple(namespace) for namespace in answer["namespaces"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"a result of the store cannot be read: {error}") from error


def error_of_result(problem: object) -> ThreadkeepError:
    """The typed error of one operation."""
    if not isinstance(problem, dict) or not isinstance(problem.get("status"), int):
        return ProtocolError("an error of the store cannot be read")
    return error_of_problem(problem["status"], problem)


def key_on_wire(key: str) -> str | bytes:
    """A key; with lone surrogates as the JSON text of the string."""
    try:
        key.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(key).encode("ascii")
    return key


def labels(namespace: Iterable[str]) -> list[str]:
    """A namespace for the wire."""
    return [str(label) for label in namespace]


def whole_number(value: object, field: str) -> int:
    """Limits and offsets: 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidError(f"{field} must be a whole number, 0 or more", field=field)
    return value


def _place(op: GetOp | PutOp) -> Wire:
    return {"namespace": labels(op.namespace), "key": key_on_wire(str(op.key))}


def _change(op: PutOp) -> Wire:
    body = _place(op)
    if isinstance(op, ConditionalPutOp):
        body["if_version"] = whole_number(op.if_version, "if_version")
    if op.value is None:
        return {"delete": body}
    if not isinstance(op.value, Mapping):
        raise UnserializableError("value must be a mapping", field="value")
    body["value"] = document_text(op.value, "value")
    if op.ttl is not None:
        body["ttl_minutes"] = float(op.ttl)
    return {"put": body}


def _search(op: SearchOp) -> Wire:
    body: Wire = {
        "prefix": labels(op.namespace_prefix),
        "limit": whole_number(op.limit, "limit"),
        "offset": whole_number(op.offset, "offset"),
        "refresh_ttl": bool(op.refresh_ttl),
    }
    if (text := filter_text(op.filter)) is not None:
        body["filter"] = text
    if not isinstance(op, FinderOp):
        return body
    if op.more.get("mode") in ("text", "hybrid"):
        body["query"] = str(op.query or "")
    return body | dict(op.more)


def _list(op: ListNamespacesOp) -> Wire:
    body: Wire = {
        "limit": whole_number(op.limit, "limit"),
        "offset": whole_number(op.offset, "offset"),
    }
    if op.max_depth is not None:
        body["max_depth"] = whole_number(op.max_depth, "max_depth")
    if op.match_conditions:
        body["conditions"] = [_condition(it.match_type, it.path) for it in op.match_conditions]
    return body


def _condition(match_type: str, path: Sequence[str]) -> Wire:
    if match_type not in ("prefix", "suffix"):
        raise InvalidError(f"Unsupported match type: {match_type}", field="match_conditions")
    return {"match": match_type, "path": labels(path)}


def _item(item: Mapping[str, Any]) -> StoreItem:
    return StoreItem(**_fields(item))


def _search_item(item: Mapping[str, Any]) -> StoreSearchItem:
    return StoreSearchItem(score=item.get("score"), **_fields(item))


def _fields(item: Mapping[str, Any]) -> dict[str, Any]:
    key, text, expires_at = item["key"], item.get("value"), item.get("expires_at")
    return {
        "namespace": tuple(item["namespace"]),
        "key": json.loads(key) if isinstance(key, bytes) else key,
        "value": {} if text is None else document_of(text),
        "created_at": time_of(item["created_at"]),
        "updated_at": time_of(item["updated_at"]),
        "version": item["version"],
        "expires_at": None if expires_at is None else time_of(expires_at),
    }


def time_of(text: str) -> datetime:
    """A time as it travels."""
    # Before 3.11 the letter is not known.
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
