"""The operations behind the methods of the store, checked as the base class checks its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langgraph.store.base import (
    BaseStore,
    GetOp,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchOp,
)
from langgraph.store.base import _ensure_refresh as refresh_of
from langgraph.store.base import _ensure_ttl as ttl_of
from langgraph.store.base import _validate_namespace as check_put_namespace
from langgraph.store.base import _validate_namespace_labels as check_labels

from threadkeep.calls import post
from threadkeep.errors import InvalidError, ProtocolError
from threadkeep.http.transport import Request
from threadkeep.langgraph.documents import filter_text
from threadkeep.langgraph.items import (
    ConditionalPutOp,
    FinderOp,
    Page,
    StoreItem,
    labels,
    whole_number,
)

Change = Callable[[dict[str, Any] | None], dict[str, Any] | None]
Index = Literal[False] | list[str] | None
Sort = Literal["created", "updated", "key"]
Mode = Literal["vector", "text", "hybrid"]
ROWS_MAX = 1_000


def put_op(
    store: BaseStore,
    namespace: tuple[str, ...],
    key: str,
    value: dict[str, Any],
    index: Index,
    ttl: float | NotProvided | None,
    if_version: int | None,
) -> PutOp:
    """Of `put`."""
    check_put_namespace(namespace)
    op = PutOp(namespace, str(key), value, index, ttl_of(store.ttl_config, ttl))
    return op if if_version is None else ConditionalPutOp.of(op, if_version)


def delete_op(namespace: tuple[str, ...], key: str, if_version: int | None) -> PutOp:
    """Of `delete`."""
    check_labels(namespace)
    op = PutOp(namespace, str(key), None)
    return op if if_version is None else ConditionalPutOp.of(op, if_version)


def search_op(plain: SearchOp, more: Mapping[str, Any], *, wants_page: bool = False) -> SearchOp:
    """Of `search`: a plain operation where nothing more is asked for."""
    check_labels(plain.namespace_prefix)
    if not wants_page and all(value is None for value in more.values()):
        return plain
    return FinderOp.of(plain, more, wants_page=wants_page)


def checked_mode(index: object, mode: Mode | None, query: str | None) -> Mode | None:
    """The mode of a search, if it can be."""
    if mode not in (None, "vector", "text", "hybrid"):
        raise InvalidError('mode must be "vector", "text" or "hybrid"', field="mode")
    if mode in ("text", "hybrid") and query is None:
        raise InvalidError(f'mode "{mode}" needs a query', field="query")
    if mode in ("vector", "hybrid") and (index is None or not query):
        raise InvalidError(
            f'mode "{mode}" needs a query, and a store with an index setting', field="mode"
        )
    return mode


def page_op(
    store: BaseStore,
    namespace_prefix: tuple[str, ...],
    conditions: dict[str, Any] | None,
    page_items: int,
    refresh_ttl: bool | None,
    more: Mapping[str, Any],
) -> SearchOp:
    """Of one page of a scan."""
    if not 1 <= whole_number(page_items, "page_items") <= ROWS_MAX:
        raise InvalidError(
            f"page_items must be from 1 to {ROWS_MAX}", field="page_items", limit=ROWS_MAX
        )
    refresh = refresh_of(store.ttl_config, refresh_ttl)
    plain = SearchOp(namespace_prefix, conditions, page_items, 0, None, refresh)
    return search_op(plain, more, wants_page=True)


def get_op(store: BaseStore, namespace: tuple[str, ...], key: str) -> GetOp:
    """Of the read in an edit."""
    check_put_namespace(namespace)
    return GetOp(namespace, str(key), refresh_of(store.ttl_config))


def edit_op(
    store: BaseStore,
    read: Op,
    found: Result,
    change: Change,
    index: Index,
    ttl: float | NotProvided | None,
) -> tuple[PutOp | None, dict[str, Any] | None]:
    """What an edit does with what it read, and the new value. No operation: nothing changes."""
    if not isinstance(read, GetOp) or not (found is None or isinstance(found, StoreItem)):
        raise ProtocolError("an item without a version cannot be edited")
    old = None if found is None else found.value
    new = change(copy.deepcopy(old))
    version = 0 if found is None else found.version
    if new is None:
        if found is None:
            return None, None
        return delete_op(read.namespace, read.key, version), None
    return put_op(store, read.namespace, read.key, new, index, ttl, version), new


def count_request(
    namespace_prefix: tuple[str, ...], conditions: dict[str, Any] | None, exact: bool | None
) -> Request:
    """Of `count`."""
    check_labels(namespace_prefix)
    body = {"prefix": labels(namespace_prefix), "filter": filter_text(conditions), "exact": exact}
    return post("/v1/store/count", body)


def count_of(answer: Mapping[str, Any]) -> int:
    """The answer to it."""
    count = answer.get("count")
    if not isinstance(count, int):
        raise ProtocolError("the answer holds no count")
    return count


def page_of(result: Result) -> Page:
    """The result of a page's search."""
    if not isinstance(result, Page):
        raise ProtocolError("a search of the store answered no page")
    return result


def version_of(result: Result) -> int | None:
    """The result of a put: the version, where a condition was sent."""
    return result if isinstance(result, int) else None


def fields_of(select: Sequence[str] | None) -> list[str] | None:
    """Names of fields for the wire."""
    if isinstance(select, str):
        raise InvalidError("select must be a list of field names", field="select")
    return None if select is None else [str(name) for name in select]
