"""Earlier versions of items, and what namespaces declare: more that a ThreadkeepStore can do."""

from __future__ import annotations

import json
import uuid
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from langgraph.store.base import BaseStore
from langgraph.store.base import _validate_namespace as check_put_namespace
from langgraph.store.base import _validate_namespace_labels as check_labels

from threadkeep.calls import post
from threadkeep.errors import InvalidError, ProtocolError
from threadkeep.http.connection import Connection
from threadkeep.http.transport import Request
from threadkeep.langgraph.items import key_on_wire, labels, time_of, whole_number

T = TypeVar("T")
Asked = Generator[tuple[Request, bool], Mapping[str, Any], T]
"""Yields requests, and whether they write; is sent their answers; returns a result."""


@dataclass(frozen=True)
class ItemVersion:
    """A version of an item: the present one (`current`), or an earlier one."""

    version: int
    current: bool
    updated_at: datetime
    """When it was put."""
    ttl_minutes: float | None
    size_bytes: int
    value: dict[str, Any] | None
    """None where values were not asked for."""


@dataclass(frozen=True)
class NamespaceSetting:
    """What a namespace declares for itself and all below it; None: a shorter prefix says it."""

    history: int | None = None
    """Earlier versions that an item keeps."""
    text_fields: list[str] | None = None
    """Paths of the fields whose words are indexed; [] none, ["$"] all."""
    namespace: tuple[str, ...] = ()
    indexing: bool = False
    """Words of items that were there before are still being indexed."""


class StoreHistory(BaseStore):
    """See the module. Everything here goes to the server at once, not through `batch`."""

    # Python 3.10 refuses to combine two bases that both add a __dict__ to the base store.
    __slots__ = ()
    _connection: Connection

    def history(
        self,
        namespace: tuple[str, ...],
        key: str,
        *,
        values: bool = False,
        limit: int | None = None,
    ) -> list[ItemVersion]:
        """The versions of an item that are kept, the present one first; [] where there is no item.

        Items that look like files keep 10 earlier versions, others none, unless their namespace
        declares another number (`put_setting`).
        """
        return self._run(versions(namespace, key, values=values, limit=limit))

    async def ahistory(
        self,
        namespace: tuple[str, ...],
        key: str,
        *,
        values: bool = False,
        limit: int | None = None,
    ) -> list[ItemVersion]:
        """See `history`."""
        return await self._arun(versions(namespace, key, values=values, limit=limit))

    def get_version(self, namespace: tuple[str, ...], key: str, version: int) -> ItemVersion | None:
        """A version with its value; None where it is not kept."""
        return self._run(one_version(namespace, key, version))

    async def aget_version(
        self, namespace: tuple[str, ...], key: str, version: int
    ) -> ItemVersion | None:
        """See `get_version`."""
        return await self._arun(one_version(namespace, key, version))

    def restore(
        self,
        namespace: tuple[str, ...],
        key: str,
        version: int,
        *,
        if_version: int | None = None,
    ) -> int:
        """Put the value of an earlier version as a new one; returns its number.

        Raises NotFoundError where that version is not kept, and VersionConflictError where the
        item does not have `if_version` now.
        """
        return self._run(restoration(namespace, key, version, if_version))

    async def arestore(
        self,
        namespace: tuple[str, ...],
        key: str,
        version: int,
        *,
        if_version: int | None = None,
    ) -> int:
        """See `restore`."""
        return await self._arun(restoration(namespace, key, version, if_version))

    def put_setting(
        self,
        namespace: tuple[str, ...],
        *,
        history: int | None = None,
        text_fields: Sequence[str] | None = None,
    ) -> NamespaceSetting:
        """Declare something for a namespace and all below it; () stands for the whole tenant.

        `history` is how many earlier versions items keep. `text_fields` are paths of fields whose
        words `search(query=…, mode="text")` finds: ["$"] for all texts, [] for none. Replaces what
        this namespace declared before; of several prefixes the longest that says something counts.
        """
        return self._run(setting_put(namespace, history, text_fields))

    async def aput_setting(
        self,
        namespace: tuple[str, ...],
        *,
        history: int | None = None,
        text_fields: Sequence[str] | None = None,
    ) -> NamespaceSetting:
        """See `put_setting`."""
        return await self._arun(setting_put(namespace, history, text_fields))

    def get_setting(
        self, namespace: tuple[str, ...]
    ) -> tuple[NamespaceSetting | None, NamespaceSetting]:
        """The namespace's own setting, and what holds for its items."""
        return self._run(setting_got(namespace))

    async def aget_setting(
        self, namespace: tuple[str, ...]
    ) -> tuple[NamespaceSetting | None, NamespaceSetting]:
        """See `get_setting`."""
        return await self._arun(setting_got(namespace))

    def delete_setting(self, namespace: tuple[str, ...]) -> None:
        """What shorter prefixes declare holds again. No error when there is none."""
        self._run(setting_deleted(namespace))

    async def adelete_setting(self, namespace: tuple[str, ...]) -> None:
        """See `delete_setting`."""
        await self._arun(setting_deleted(namespace))

    def list_settings(self, prefix: tuple[str, ...] = ()) -> list[NamespaceSetting]:
        """Settings of namespaces below a prefix."""
        return self._run(settings_listed(prefix))

    async def alist_settings(self, prefix: tuple[str, ...] = ()) -> list[NamespaceSetting]:
        """See `list_settings`."""
        return await self._arun(settings_listed(prefix))

    def _run(self, asked: Asked[T]) -> T:
        try:
            request, is_write = next(asked)
            while True:
                answer = self._connection.call(request, is_write=is_write)
                request, is_write = asked.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result

    async def _arun(self, asked: Asked[T]) -> T:
        try:
            request, is_write = next(asked)
            while True:
                answer = await self._connection.acall(request, is_write=is_write)
                request, is_write = asked.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result


def versions(
    namespace: tuple[str, ...], key: str, *, values: bool, limit: int | None
) -> Asked[list[ItemVersion]]:
    """Of `history`: as many pages as it takes."""
    if limit is not None and whole_number(limit, "limit") == 0:
        return []
    found: list[ItemVersion] = []
    cursor: str | None = None
    while True:
        body = place(namespace, key) | {"values": bool(values), "cursor": cursor}
        if limit is not None:
            body["limit"] = limit - len(found)
        answer = yield post("/v1/store/history", body), False
        try:
            found += [version_of(it) for it in answer["versions"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ProtocolError(f"the versions of an item cannot be read: {error}") from error
        cursor = answer.get("next_cursor")
        if cursor is None or (limit is not None and len(found) >= limit):
            return found


def one_version(namespace: tuple[str, ...], key: str, version: int) -> Asked[ItemVersion | None]:
    """Of `get_version`."""
    body = place(namespace, key) | {"version": whole_number(version, "version")}
    answer = yield post("/v1/store/history/get", body), False
    found = answer.get("version")
    return None if found is None else version_of(found)


def restoration(
    namespace: tuple[str, ...], key: str, version: int, if_version: int | None
) -> Asked[int]:
    """Of `restore`: sent again after a lost reply it is answered like the first time."""
    body = place(namespace, key) | {"version": whole_number(version, "version")}
    if if_version is not None:
        body["if_version"] = whole_number(if_version, "if_version")
    request = post("/v1/store/history/restore", body)
    answer = yield request._replace(idempotency_key=uuid.uuid4().hex), True
    restored = answer.get("version")
    if not isinstance(restored, int):
        raise ProtocolError("the answer to a restoration holds no version")
    return restored


def setting_put(
    namespace: tuple[str, ...], history: int | None, text_fields: Sequence[str] | None
) -> Asked[NamespaceSetting]:
    """Of `put_setting`."""
    body = of_namespace(namespace)
    if history is not None:
        body["history"] = whole_number(history, "history")
    if text_fields is not None:
        if isinstance(text_fields, str):
            raise InvalidError("text_fields must be a list of paths", field="text_fields")
        body["text_fields"] = [str(path) for path in text_fields]
    answer = yield post("/v1/store/settings/put", body), True
    return setting_of(answer.get("setting"))


def setting_got(
    namespace: tuple[str, ...],
) -> Asked[tuple[NamespaceSetting | None, NamespaceSetting]]:
    """Of `get_setting`."""
    answer = yield post("/v1/store/settings/get", of_namespace(namespace)), False
    own = answer.get("setting")
    effective = dict(answer.get("effective") or {}) | {"namespace": list(namespace)}
    return None if own is None else setting_of(own), setting_of(effective)


def setting_deleted(namespace: tuple[str, ...]) -> Asked[None]:
    """Of `delete_setting`."""
    yield post("/v1/store/settings/delete", of_namespace(namespace)), True


def settings_listed(prefix: tuple[str, ...]) -> Asked[list[NamespaceSetting]]:
    """Of `list_settings`."""
    check_labels(prefix)
    answer = yield post("/v1/store/settings/list", {"prefix": labels(prefix)}), False
    found = answer.get("settings")
    if not isinstance(found, list):
        raise ProtocolError("the answer holds no settings")
    return [setting_of(it) for it in found]


def place(namespace: tuple[str, ...], key: str) -> dict[str, Any]:
    """Where an item is, for the wire."""
    check_put_namespace(namespace)
    return {"namespace": labels(namespace), "key": key_on_wire(str(key))}


def of_namespace(namespace: tuple[str, ...]) -> dict[str, Any]:
    """A namespace, which may be the whole tenant."""
    check_labels(namespace)
    return {"namespace": labels(namespace)}


def version_of(answer: Mapping[str, Any]) -> ItemVersion:
    """A version as it travels."""
    text = answer.get("value")
    return ItemVersion(
        version=answer["version"],
        current=answer["current"],
        updated_at=time_of(answer["updated_at"]),
        ttl_minutes=answer.get("ttl_minutes"),
        size_bytes=answer["size_bytes"],
        value=None if text is None else json.loads(text),
    )


def setting_of(answer: object) -> NamespaceSetting:
    """A setting as it travels."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("namespace"), list):
        raise ProtocolError("a setting of a namespace cannot be read")
    return NamespaceSetting(
        history=answer.get("history"),
        text_fields=answer.get("text_fields"),
        namespace=tuple(answer["namespace"]),
        indexing=bool(answer.get("indexing", False)),
    )
