"""`Client` and `AsyncClient`: threads, files, sessions, snapshots, exports, tokens, natively.

Constructing does no I/O; objects work across threads, event loops and a fork. Failures raise the
types of `threadkeep.errors`.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from threadkeep import calls
from threadkeep.account_calls import AccountCalls, AsyncAccountCalls
from threadkeep.calls import (
    Identity,
    Lease,
    Order,
    RewoundThread,
    ServerInfo,
    Sort,
    Thread,
    ThreadPage,
    ThreadStorage,
)
from threadkeep.file_calls import AsyncFiles, Files
from threadkeep.http.connection import Connection
from threadkeep.http.settings import TIMEOUT_SECONDS, TransportName, settings_of
from threadkeep.http.transport import Request
from threadkeep.key_calls import AsyncKeyCalls, KeyCalls
from threadkeep.operator_calls import AsyncOperatorCalls, OperatorCalls
from threadkeep.records import record
from threadkeep.retention_calls import AsyncRetentionCalls, RetentionCalls
from threadkeep.session_calls import AsyncSessions, Sessions
from threadkeep.snapshot_calls import AsyncSnapshots, Snapshots
from threadkeep.subjects import AsyncSubjects, Subjects
from threadkeep.thread_calls import AsyncThreads, Threads
from threadkeep.token_calls import AsyncTokenCalls, TokenCalls
from threadkeep.transfer_calls import AsyncTransferCalls, TransferCalls

Made = TypeVar("Made", bound="_Base")


class _Base:
    """What both clients are constructed from.

    `timeout` is how many seconds a call may take before it raises TransportError or
    UnavailableError (None: as long as it takes); lost connections and a server that restarts are
    ridden out in it. A copy shares connections. A pickle holds the settings: the key only where it
    was given.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float | None = TIMEOUT_SECONDS,
        transport: TransportName = "auto",
    ) -> None:
        settings = settings_of(url, api_key, timeout, transport)
        self._connection = Connection(settings)

    def with_options(self: Made, *, timeout: float | None) -> Made:
        """This client, whose calls may take so many seconds. Connections are shared."""
        clone = copy.copy(self)
        clone._connection = self._connection.with_timeout(timeout)
        return clone

    @property
    def transport(self) -> str:
        """The HTTP core in use: "asyncio", "pyreqwest" or "stdlib"."""
        return self._connection.transport_name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.described})"


class Client(_Base, RetentionCalls, AccountCalls, TransferCalls):
    """For threads (of the operating system). See `AsyncClient` for coroutines."""

    @property
    def threads(self) -> Threads:
        """Titles and metadata of threads: create, update, search, count."""
        return Threads(self._connection)

    @property
    def files(self) -> Files:
        """Files of agents: list, read, write, edit, search, upload, download."""
        return Files(self._connection)

    @property
    def sessions(self) -> Sessions:
        """Logs and documents of agents that are not LangGraph."""
        return Sessions(self._connection)

    @property
    def snapshots(self) -> Snapshots:
        """Frozen copies of threads, namespaces and sessions, and their return."""
        return Snapshots(self._connection)

    @property
    def tokens(self) -> TokenCalls:
        """List, make, narrow and revoke tokens."""
        return TokenCalls(self._write, self._read)

    @property
    def keys(self) -> KeyCalls:
        """List, make and revoke the keys of the own tenant."""
        return KeyCalls(self._write, self._read)

    @property
    def operator(self) -> OperatorCalls:
        """Tenants with their keys, quotas and signing secrets. For keys of operators."""
        return OperatorCalls(self._write, self._read)

    @property
    def subjects(self) -> Subjects:
        """Lists of subjects, and their erasure."""
        return Subjects(lambda request: self._connection.call(request, is_write=True))

    def get_thread(self, thread_id: str) -> Thread | None:
        """One thread, None when it does not exist or is not the caller's."""
        return calls.thread_or_none(
            self._read(calls.post("/v1/threads/get", {"thread_id": thread_id}))
        )

    def get_thread_storage(self, thread_id: str) -> ThreadStorage | None:
        """What a thread takes, by channel; None when it does not exist or is not the caller's."""
        request = calls.get("/v1/threads/storage", {"thread_id": thread_id})
        return calls.storage_or_none(self._read(request))

    def list_threads(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Sort | None = None,
        order: Order | None = None,
        graph_id: str | None = None,
        assistant_id: str | None = None,
        user_id: str | None = None,
        prefix: str | None = None,
    ) -> ThreadPage:
        """One page of threads; pass `next_cursor` on as `cursor` with the same arguments."""
        query = {name: value for name, value in locals().items() if name != "self"}
        return calls.thread_page(self._read(calls.get("/v1/threads", query)))

    def fork_thread(
        self, source: str, target: str, checkpoint_id: str, *, checkpoint_ns: str | None = None
    ) -> int:
        """Make a thread of another one's state at a checkpoint, with what led to it.

        Returns how many checkpoints it has. Raises ThreadExistsError where the target is there,
        NotFoundError where the source or the checkpoint is not.
        """
        body = calls.fork_body(source, target, checkpoint_id, checkpoint_ns)
        request = calls.once("/v1/threads/fork", body)
        return calls.checkpoints_of(self._connection.call(request, is_write=True))

    def rewind_thread(
        self,
        thread_id: str,
        checkpoint_id: str,
        *,
        checkpoint_ns: str | None = None,
        dry_run: bool = False,
        safety: bool = True,
        fence: int | None = None,
    ) -> RewoundThread:
        """Put a thread back to one of its checkpoints: what a fork from there would have stays.

        The thread as it was is a snapshot, unless `safety` is False; restoring it undoes the
        rewind. `dry_run` says what would go. Raises NotFoundError without such a checkpoint,
        LeaseHeldError while another holds the lease, FenceStaleError for another fence.
        """
        options = {"dry_run": dry_run, "safety": safety, "fence": fence}
        body = calls.rewind_body(thread_id, checkpoint_id, checkpoint_ns, options)
        request = calls.once("/v1/threads/rewind", body)
        return record(RewoundThread, self._connection.call(request, is_write=True))

    def acquire_lease(self, thread_id: str, holder: str, *, ttl_seconds: float) -> Lease:
        """Take the lease of a thread. Raises LeaseHeldError while another holder has it."""
        body = calls.lease_body(thread_id, holder, ttl_seconds=ttl_seconds)
        return record(Lease, self._write("/v1/threads/lease/acquire", body))

    def renew_lease(self, thread_id: str, holder: str, *, fence: int, ttl_seconds: float) -> Lease:
        """Keep a lease. Raises FenceStaleError when it was lost."""
        body = calls.lease_body(thread_id, holder, fence=fence, ttl_seconds=ttl_seconds)
        return record(Lease, self._write("/v1/threads/lease/renew", body))

    def release_lease(self, thread_id: str, holder: str, *, fence: int) -> None:
        """Give a lease back."""
        body = calls.lease_body(thread_id, holder, fence=fence)
        self._write("/v1/threads/lease/release", body)

    def break_lease(self, thread_id: str) -> None:
        """Take a lease from whoever has it; their next write is refused. For keys of the tenant."""
        self._write("/v1/threads/lease/break", {"thread_id": thread_id})

    def limits(self) -> dict[str, Any]:
        """Every declared limit of the server by name."""
        return self._read(calls.get("/v1/limits"))

    def whoami(self) -> Identity:
        """Who the server takes this client for."""
        return record(Identity, self._read(calls.get("/v1/whoami")))

    def info(self) -> ServerInfo:
        """What the server is, and what it has been set up with."""
        return record(ServerInfo, self._read(calls.get("/v1/info")))

    def healthz(self) -> None:
        """Returns when the server answers that it lives, else raises."""
        self._connection.probe(calls.get("/healthz"))

    def close(self) -> None:
        """Close idle connections. Optional and repeatable."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, request: Request) -> dict[str, Any]:
        return self._connection.call(request, is_write=False)

    def _write(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._connection.call(calls.post(path, body), is_write=True)


class AsyncClient(_Base, AsyncRetentionCalls, AsyncAccountCalls, AsyncTransferCalls):
    """For coroutines, on any number of event loops. The methods are those of `Client`."""

    @property
    def threads(self) -> AsyncThreads:
        """See `Client.threads`."""
        return AsyncThreads(self._connection)

    @property
    def files(self) -> AsyncFiles:
        """See `Client.files`."""
        return AsyncFiles(self._connection)

    @property
    def sessions(self) -> AsyncSessions:
        """See `Client.sessions`."""
        return AsyncSessions(self._connection)

    @property
    def snapshots(self) -> AsyncSnapshots:
        """See `Client.snapshots`."""
        return AsyncSnapshots(self._connection)

    @property
    def tokens(self) -> AsyncTokenCalls:
        """See `Client.tokens`."""
        return AsyncTokenCalls(self._write, self._read)

    @property
    def keys(self) -> AsyncKeyCalls:
        """See `Client.keys`."""
        return AsyncKeyCalls(self._write, self._read)

    @property
    def operator(self) -> AsyncOperatorCalls:
        """See `Client.operator`."""
        return AsyncOperatorCalls(self._write, self._read)

    @property
    def subjects(self) -> AsyncSubjects:
        """See `Client.subjects`."""
        return AsyncSubjects(lambda request: self._connection.acall(request, is_write=True))

    async def get_thread(self, thread_id: str) -> Thread | None:
        """See `Client.get_thread`."""
        request = calls.post("/v1/threads/get", {"thread_id": thread_id})
        return calls.thread_or_none(await self._read(request))

    async def get_thread_storage(self, thread_id: str) -> ThreadStorage | None:
        """See `Client.get_thread_storage`."""
        request = calls.get("/v1/threads/storage", {"thread_id": thread_id})
        return calls.storage_or_none(await self._read(request))

    async def list_threads(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Sort | None = None,
        order: Order | None = None,
        graph_id: str | None = None,
        assistant_id: str | None = None,
        user_id: str | None = None,
        prefix: str | None = None,
    ) -> ThreadPage:
        """See `Client.list_threads`."""
        query = {name: value for name, value in locals().items() if name != "self"}
        return calls.thread_page(await self._read(calls.get("/v1/threads", query)))

    async def fork_thread(
        self, source: str, target: str, checkpoint_id: str, *, checkpoint_ns: str | None = None
    ) -> int:
        """See `Client.fork_thread`."""
        body = calls.fork_body(source, target, checkpoint_id, checkpoint_ns)
        request = calls.once("/v1/threads/fork", body)
        return calls.checkpoints_of(await self._connection.acall(request, is_write=True))

    async def rewind_thread(
        self,
        thread_id: str,
        checkpoint_id: str,
        *,
        checkpoint_ns: str | None = None,
        dry_run: bool = False,
        safety: bool = True,
        fence: int | None = None,
    ) -> RewoundThread:
        """See `Client.rewind_thread`."""
        options = {"dry_run": dry_run, "safety": safety, "fence": fence}
        body = calls.rewind_body(thread_id, checkpoint_id, checkpoint_ns, options)
        request = calls.once("/v1/threads/rewind", body)
        return record(RewoundThread, await self._connection.acall(request, is_write=True))

    async def acquire_lease(self, thread_id: str, holder: str, *, ttl_seconds: float) -> Lease:
        """See `Client.acquire_lease`."""
        body = calls.lease_body(thread_id, holder, ttl_seconds=ttl_seconds)
        return record(Lease, await self._write("/v1/threads/lease/acquire", body))

    async def renew_lease(
        self, thread_id: str, holder: str, *, fence: int, ttl_seconds: float
    ) -> Lease:
        """See `Client.renew_lease`."""
        body = calls.lease_body(thread_id, holder, fence=fence, ttl_seconds=ttl_seconds)
        return record(Lease, await self._write("/v1/threads/lease/renew", body))

    async def release_lease(self, thread_id: str, holder: str, *, fence: int) -> None:
        """See `Client.release_lease`."""
        body = calls.lease_body(thread_id, holder, fence=fence)
        await self._write("/v1/threads/lease/release", body)

    async def break_lease(self, thread_id: str) -> None:
        """See `Client.break_lease`."""
        await self._write("/v1/threads/lease/break", {"thread_id": thread_id})

    async def limits(self) -> dict[str, Any]:
        """See `Client.limits`."""
        return await self._read(calls.get("/v1/limits"))

    async def whoami(self) -> Identity:
        """See `Client.whoami`."""
        return record(Identity, await self._read(calls.get("/v1/whoami")))

    async def info(self) -> ServerInfo:
        """See `Client.info`."""
        return record(ServerInfo, await self._read(calls.get("/v1/info")))

    async def healthz(self) -> None:
        """See `Client.healthz`."""
        await self._connection.aprobe(calls.get("/healthz"))

    async def aclose(self) -> None:
        """Close idle connections. Optional and repeatable."""
        self._connection.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _read(self, request: Request) -> dict[str, Any]:
        return await self._connection.acall(request, is_write=False)

    async def _write(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self._connection.acall(calls.post(path, body), is_write=True)
