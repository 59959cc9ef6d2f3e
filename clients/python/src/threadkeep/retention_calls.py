"""The retention calls of `Client` and `AsyncClient`, in pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from threadkeep import calls, retention
from threadkeep.http.transport import Request
from threadkeep.retention import (
    Age,
    PruneReport,
    RetentionPolicy,
    RetentionPolicyPage,
    RetentionReportPage,
    Strategy,
)

_POLICIES = "/v1/retention/policies"
_PUT = "/v1/retention/policies/put"
_GET = "/v1/retention/policies/get"
_DELETE = "/v1/retention/policies/delete"
_RUN = "/v1/retention/run"


class RetentionCalls(ABC):
    """Part of `Client`."""

    @abstractmethod
    def _read(self, request: Request) -> dict[str, Any]: ...

    @abstractmethod
    def _write(self, path: str, body: dict[str, Any]) -> dict[str, Any]: ...

    def prune_threads(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: Strategy | None = None,
        keep_last: int | None = None,
        older_than: Age | None = None,
        keep_interrupted: bool = False,
        dry_run: bool = False,
    ) -> PruneReport:
        """Remove checkpoints, but for the `keep_last` newest of each namespace.

        With `older_than`, only those that were first stored before. `strategy="delete"` removes the
        threads. With `dry_run`, only say what would go.
        """
        body = retention.prune_body(
            thread_ids,
            strategy=strategy,
            keep_last=keep_last,
            older_than=older_than,
            keep_interrupted=keep_interrupted,
            dry_run=dry_run,
        )
        return retention.prune_report(self._write(retention.PRUNE, body))

    def put_retention_policy(
        self,
        thread_id: str | None = None,
        *,
        expire_after_seconds: int | None = None,
        keep_last: int | None = None,
        older_than_seconds: int | None = None,
        keep_interrupted: bool = True,
        dry_run: bool = False,
    ) -> RetentionPolicy:
        """Let the server remove by itself: of a thread, or of all without a policy of their own.

        A thread's policy without any limit exempts the thread. Begin with `dry_run=True`.
        """
        body = retention.policy_body(
            thread_id,
            expire_after_seconds=expire_after_seconds,
            keep_last=keep_last,
            older_than_seconds=older_than_seconds,
            keep_interrupted=keep_interrupted,
            dry_run=dry_run,
        )
        return retention.policy(self._write(_PUT, body))

    def get_retention_policy(self, thread_id: str | None = None) -> RetentionPolicy | None:
        """A thread's own policy, or the tenant's. None when there is none."""
        request = calls.post(_GET, {"thread_id": thread_id})
        return retention.policy_or_none(self._read(request))

    def list_retention_policies(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> RetentionPolicyPage:
        """One page of all policies: the tenant's own, then those of threads by their ids.

        Pass `next_cursor` on as `cursor`.
        """
        request = calls.get(_POLICIES, {"limit": limit, "cursor": cursor})
        return retention.policy_page(self._read(request))

    def delete_retention_policy(self, thread_id: str | None = None) -> None:
        """Remove a policy. No error when there is none."""
        self._write(_DELETE, {"thread_id": thread_id})

    def run_retention(self, thread_id: str | None = None) -> int:
        """Make a thread's policy due now, or all of the tenant. Their reports follow."""
        return retention.due(self._write(_RUN, {"thread_id": thread_id}))

    def list_retention_reports(
        self,
        *,
        thread_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> RetentionReportPage:
        """One page of reports; pass `next_cursor` on as `cursor` with the same arguments."""
        request = retention.reports_request(thread_id, limit, cursor)
        return retention.report_page(self._read(request))


class AsyncRetentionCalls(ABC):
    """Part of `AsyncClient`."""

    @abstractmethod
    async def _read(self, request: Request) -> dict[str, Any]: ...

    @abstractmethod
    async def _write(self, path: str, body: dict[str, Any]) -> dict[str, Any]: ...

    async def prune_threads(
        self,
        thread_ids: Sequence[str],
        *,
        strategy: Strategy | None = None,
        keep_last: int | None = None,
        older_than: Age | None = None,
        keep_interrupted: bool = False,
        dry_run: bool = False,
    ) -> PruneReport:
        """See `Client.prune_threads`."""
        body = retention.prune_body(
            thread_ids,
            strategy=strategy,
            keep_last=keep_last,
            older_than=older_than,
            keep_interrupted=keep_interrupted,
            dry_run=dry_run,
        )
        return retention.prune_report(await self._write(retention.PRUNE, body))

    async def put_retention_policy(
        self,
        thread_id: str | None = None,
        *,
        expire_after_seconds: int | None = None,
        keep_last: int | None = None,
        older_than_seconds: int | None = None,
        keep_interrupted: bool = True,
        dry_run: bool = False,
    ) -> RetentionPolicy:
        """See `Client.put_retention_policy`."""
        body = retention.policy_body(
            thread_id,
            expire_after_seconds=expire_after_seconds,
            keep_last=keep_last,
            older_than_seconds=older_than_seconds,
            keep_interrupted=keep_interrupted,
            dry_run=dry_run,
        )
        return retention.policy(await self._write(_PUT, body))

    async def get_retention_policy(self, thread_id: str | None = None) -> RetentionPolicy | None:
        """See `Client.get_retention_policy`."""
        request = calls.post(_GET, {"thread_id": thread_id})
        return retention.policy_or_none(await self._read(request))

    async def list_retention_policies(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> RetentionPolicyPage:
        """See `Client.list_retention_policies`."""
        request = calls.get(_POLICIES, {"limit": limit, "cursor": cursor})
        return retention.policy_page(await self._read(request))

    async def delete_retention_policy(self, thread_id: str | None = None) -> None:
        """See `Client.delete_retention_policy`."""
        await self._write(_DELETE, {"thread_id": thread_id})

    async def run_retention(self, thread_id: str | None = None) -> int:
        """See `Client.run_retention`."""
        return retention.due(await self._write(_RUN, {"thread_id": thread_id}))

    async def list_retention_reports(
        self,
        *,
        thread_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> RetentionReportPage:
        """See `Client.list_retention_reports`."""
        request = retention.reports_request(thread_id, limit, cursor)
        return retention.report_page(await self._read(request))
