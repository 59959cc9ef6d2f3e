"""The calls of operators in `Client` and `AsyncClient`, in pairs: `client.operator.tenants()`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any

from threadkeep import calls
from threadkeep.accounts import Quota, Usage, usage
from threadkeep.errors import ProtocolError
from threadkeep.http.transport import Request
from threadkeep.key_calls import create_body, key_page, revoked_key_id
from threadkeep.keys import CreatedKey, KeyPage
from threadkeep.records import listed, record

_TENANTS = "/v1/operator/tenants"
_QUOTAS = "/v1/operator/quotas"
_PUT_QUOTA = "/v1/operator/quotas/put"
_ROTATE = "/v1/operator/rotate-secrets"
_KEYS = "/v1/operator/keys"
_REVOKE = "/v1/operator/keys/revoke"

Body = dict[str, Any]


@dataclass(frozen=True)
class Tenant:
    """A tenant with what it has stored. Bytes count as threads do."""

    tenant: str
    bytes: int
    threads: int
    items: int
    last_write: str | None = None
    """When a thread, an item or a session was last written; None where it has none of them."""


@dataclass(frozen=True)
class TenantPage:
    """A page of tenants in the order of their names. `next_cursor` is None on the last."""

    tenants: list[Tenant]
    next_cursor: str | None


class OperatorCalls:
    """Part of `Client`: for keys of operators, who read the contents of no tenant.

    The calls on keys take `tenant`, or without it are about the keys of operators.
    """

    def __init__(self, write: Callable[[str, Body], Body], read: Callable[[Request], Body]) -> None:
        self._write = write
        self._read = read

    def tenants(self, *, limit: int | None = None, cursor: str | None = None) -> TenantPage:
        """One page of the tenants in the order of their names, with what each has stored."""
        return _tenants(self._read(calls.get(_TENANTS, {"limit": limit, "cursor": cursor})))

    def quota(self, tenant: str) -> Usage:
        """What a tenant has and may have. Raises NotFoundError for one that has nothing here."""
        return usage(self._read(calls.get(_QUOTAS, {"tenant": tenant})))

    def set_quota(self, tenant: str, quota: Quota) -> Usage:
        """Replace a tenant's quota: what is None is unlimited."""
        return usage(self._write(_PUT_QUOTA, {"tenant": tenant, **asdict(quota)}))

    def rotate_secrets(self, tenant: str) -> int:
        """End all tokens of a tenant. Answers how many signing secrets were removed."""
        return _removed(self._write(_ROTATE, {"tenant": tenant}))

    def list_keys(
        self, tenant: str | None = None, *, limit: int | None = None, cursor: str | None = None
    ) -> KeyPage:
        """One page of the keys in the order in which they were made, revoked ones too."""
        return key_page(self._read(calls.get(_KEYS, _listing(tenant, limit, cursor))))

    def create_key(
        self,
        tenant: str | None = None,
        *,
        name: str | None = None,
        subject: str | None = None,
        read_only: bool = False,
        ttl_seconds: int | None = None,
    ) -> CreatedKey:
        """Make a key. The first one of a tenant makes the tenant. Its text is answered once."""
        body = create_body(name, subject, read_only=read_only, ttl_seconds=ttl_seconds)
        return record(CreatedKey, self._write(_KEYS, _whose(tenant) | body))

    def revoke_key(self, key_id: str, tenant: str | None = None, *, own: bool = False) -> str:
        """Revoke a key, and with it all tokens that were made with it. Answers its id.

        The key of this client is refused unless `own` is true. Can be repeated. Raises
        NotFoundError for a key that never was.
        """
        return revoked_key_id(self._write(_REVOKE, _revoked(tenant, key_id, own=own)))


class AsyncOperatorCalls:
    """Part of `AsyncClient`."""

    def __init__(
        self,
        write: Callable[[str, Body], Awaitable[Body]],
        read: Callable[[Request], Awaitable[Body]],
    ) -> None:
        self._write = write
        self._read = read

    async def tenants(self, *, limit: int | None = None, cursor: str | None = None) -> TenantPage:
        """See `OperatorCalls.tenants`."""
        return _tenants(await self._read(calls.get(_TENANTS, {"limit": limit, "cursor": cursor})))

    async def quota(self, tenant: str) -> Usage:
        """See `OperatorCalls.quota`."""
        return usage(await self._read(calls.get(_QUOTAS, {"tenant": tenant})))

    async def set_quota(self, tenant: str, quota: Quota) -> Usage:
        """See `OperatorCalls.set_quota`."""
        return usage(await self._write(_PUT_QUOTA, {"tenant": tenant, **asdict(quota)}))

    async def rotate_secrets(self, tenant: str) -> int:
        """See `OperatorCalls.rotate_secrets`."""
        return _removed(await self._write(_ROTATE, {"tenant": tenant}))

    async def list_keys(
        self, tenant: str | None = None, *, limit: int | None = None, cursor: str | None = None
    ) -> KeyPage:
        """See `OperatorCalls.list_keys`."""
        return key_page(await self._read(calls.get(_KEYS, _listing(tenant, limit, cursor))))

    async def create_key(
        self,
        tenant: str | None = None,
        *,
        name: str | None = None,
        subject: str | None = None,
        read_only: bool = False,
        ttl_seconds: int | None = None,
    ) -> CreatedKey:
        """See `OperatorCalls.create_key`."""
        body = create_body(name, subject, read_only=read_only, ttl_seconds=ttl_seconds)
        return record(CreatedKey, await self._write(_KEYS, _whose(tenant) | body))

    async def revoke_key(self, key_id: str, tenant: str | None = None, *, own: bool = False) -> str:
        """See `OperatorCalls.revoke_key`."""
        return revoked_key_id(await self._write(_REVOKE, _revoked(tenant, key_id, own=own)))


def _whose(tenant: str | None) -> Body:
    return {"operators": True} if tenant is None else {"tenant": tenant}


def _listing(tenant: str | None, limit: int | None, cursor: str | None) -> Body:
    whose: Body = {"operators": "true"} if tenant is None else {"tenant": tenant}
    return {**whose, "limit": limit, "cursor": cursor}


def _revoked(tenant: str | None, key_id: str, *, own: bool) -> Body:
    return {**_whose(tenant), "key_id": key_id, "own": own or None}


def _tenants(answer: Body) -> TenantPage:
    return TenantPage(listed(Tenant, answer, "tenants"), answer.get("next_cursor"))


def _removed(answer: Body) -> int:
    removed = answer.get("removed")
    if not isinstance(removed, int):
        raise ProtocolError("the answer does not say how many secrets were removed")
    return removed
