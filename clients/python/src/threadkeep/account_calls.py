"""The calls of `Client` and `AsyncClient` about usage and the audit log, in pairs.

For keys of the whole tenant; others are refused with NotGrantedError.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from threadkeep import accounts, calls
from threadkeep.accounts import AuditPage, Time, Usage
from threadkeep.http.transport import Request


class AccountCalls(ABC):
    """Part of `Client`."""

    @abstractmethod
    def _read(self, request: Request) -> dict[str, Any]: ...

    def usage(self) -> Usage:
        """What the tenant has, at most 10 seconds ago, and what it may have."""
        return accounts.usage(self._read(calls.get("/v1/usage")))

    def audit(
        self,
        *,
        since: Time | None = None,
        until: Time | None = None,
        act: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AuditPage:
        """One page of the audit log, newest first; pass `next_cursor` on as `cursor`."""
        request = accounts.audit_request(since, until, act, limit, cursor)
        return accounts.audit_page(self._read(request))


class AsyncAccountCalls(ABC):
    """Part of `AsyncClient`."""

    @abstractmethod
    async def _read(self, request: Request) -> dict[str, Any]: ...

    async def usage(self) -> Usage:
        """See `Client.usage`."""
        return accounts.usage(await self._read(calls.get("/v1/usage")))

    async def audit(
        self,
        *,
        since: Time | None = None,
        until: Time | None = None,
        act: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AuditPage:
        """See `Client.audit`."""
        request = accounts.audit_request(since, until, act, limit, cursor)
        return accounts.audit_page(await self._read(request))
