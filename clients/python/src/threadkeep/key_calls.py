"""The key calls of `Client` and `AsyncClient`, in pairs: `client.keys.create(…)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from threadkeep import calls
from threadkeep.errors import ProtocolError
from threadkeep.http.transport import Request
from threadkeep.keys import CreatedKey, Key, KeyPage
from threadkeep.records import listed, record

_KEYS = "/v1/keys"
_REVOKE = "/v1/keys/revoke"

Body = dict[str, Any]


class KeyCalls:
    """Part of `Client`: for keys of the whole tenant."""

    def __init__(self, write: Callable[[str, Body], Body], read: Callable[[Request], Body]) -> None:
        self._write = write
        self._read = read

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> KeyPage:
        """One page of the keys in the order in which they were made, revoked ones too."""
        return key_page(self._read(calls.get(_KEYS, {"limit": limit, "cursor": cursor})))

    def create(
        self,
        name: str | None = None,
        *,
        subject: str | None = None,
        read_only: bool = False,
        ttl_seconds: int | None = None,
    ) -> CreatedKey:
        """Make a key, of the whole tenant or of a subject. Its text is answered once.

        With `read_only` it reads what it would otherwise change. With `ttl_seconds` it ends by
        itself, and with it all tokens that were made with it.
        """
        body = create_body(name, subject, read_only=read_only, ttl_seconds=ttl_seconds)
        return record(CreatedKey, self._write(_KEYS, body))

    def revoke(self, key_id: str, *, own: bool = False) -> str:
        """Revoke a key, and with it all tokens that were made with it. Answers its id.

        The key of this client is refused unless `own` is true. Can be repeated. Raises
        NotFoundError for a key that the tenant never had.
        """
        return revoked_key_id(self._write(_REVOKE, {"key_id": key_id, "own": own or None}))


class AsyncKeyCalls:
    """Part of `AsyncClient`."""

    def __init__(
        self,
        write: Callable[[str, Body], Awaitable[Body]],
        read: Callable[[Request], Awaitable[Body]],
    ) -> None:
        self._write = write
        self._read = read

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> KeyPage:
        """See `KeyCalls.list`."""
        return key_page(await self._read(calls.get(_KEYS, {"limit": limit, "cursor": cursor})))

    async def create(
        self,
        name: str | None = None,
        *,
        subject: str | None = None,
        read_only: bool = False,
        ttl_seconds: int | None = None,
    ) -> CreatedKey:
        """See `KeyCalls.create`."""
        body = create_body(name, subject, read_only=read_only, ttl_seconds=ttl_seconds)
        return record(CreatedKey, await self._write(_KEYS, body))

    async def revoke(self, key_id: str, *, own: bool = False) -> str:
        """See `KeyCalls.revoke`."""
        return revoked_key_id(await self._write(_REVOKE, {"key_id": key_id, "own": own or None}))


def create_body(
    name: str | None, subject: str | None, *, read_only: bool, ttl_seconds: int | None
) -> Body:
    """The body that asks for a key."""
    return {
        "name": name,
        "subject": subject,
        "read_only": read_only or None,
        "ttl_seconds": ttl_seconds,
    }


def key_page(answer: Body) -> KeyPage:
    """A page of keys from its answer."""
    return KeyPage(listed(Key, answer, "keys"), answer.get("next_cursor"))


def revoked_key_id(answer: Body) -> str:
    """The id of a key from the answer to its revocation."""
    revoked = answer.get("key_id")
    if not isinstance(revoked, str):
        raise ProtocolError("the answer does not name the revoked key")
    return revoked
