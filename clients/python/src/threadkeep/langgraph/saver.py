"""`ThreadkeepSaver`: the checkpointer of LangGraph on a threadkeep server.

The methods are those of the base saver, blocking and asynchronous in pairs; what a pair has in
common is in `reads`, `encode` and `link`.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from threadkeep.errors import ThreadkeepError
from threadkeep.http.settings import TIMEOUT_SECONDS, TransportName, settings_of
from threadkeep.langgraph import reads
from threadkeep.langgraph.decode import View, tuple_of
from threadkeep.langgraph.encode import checkpoint_op, config_of, target_of, thread_id_of, writes_op
from threadkeep.langgraph.history import ChannelHistory
from threadkeep.langgraph.leases import CLOSING_SECONDS_MAX, RELEASE, SECONDS, LeaseBlock
from threadkeep.langgraph.link import Link, copy_request
from threadkeep.langgraph.parts import Held
from threadkeep.langgraph.ready import Ready, acheck, check
from threadkeep.langgraph.serializer import ThreadkeepSerializer
from threadkeep.retention import PRUNE, Age, PruneReport, nothing_pruned, prune_report


class ThreadkeepSaver(BaseCheckpointSaver[str]):
    """Checkpoints on a threadkeep server, for sync and async graphs alike.

    `url` and `api_key` default to the variables THREADKEEP_URL and THREADKEEP_API_KEY, and `url`
    then to http://127.0.0.1:7070. Constructing does no I/O and needs no event loop. One object
    serves any number of threads and event loops, and works on in a forked child.

    Without `serde`, values are read by a `ThreadkeepSerializer`: constructors run for the types
    that LangGraph knows as safe, those in `allowed_types` (classes, or pairs of module and name) or
    in the graph's schema, and those that this process put; other classes of modules that are
    imported already get their fields and run none of their code; the rest stays plain data. A
    `serde` that is given is used as it is.

    Times are in seconds. `timeout` is how long a call may take before it raises TransportError or
    UnavailableError (None: as long as it takes); lost connections and a server that restarts are
    ridden out in it. `history_bytes_max` bounds what is remembered of delta histories,
    `difference_bytes_max` what is remembered of values, so that only what changed of them travels;
    0 turns that off.

    With `exclusive`, the first write to a thread takes its lease, and later ones keep it until 60
    seconds after the last: two savers cannot write turns of one thread into each other. The other
    one's write raises LeaseHeldError; a saver whose lease went to another after it had expired
    (`lease_seconds` without a heartbeat) raises LeaseLostError. `lease` is the exact form.
    Failures raise the types of `threadkeep.errors`; None means that a checkpoint does not exist
    and nothing else.

    A copy, also a deep one, shares everything but the `serde` attribute.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        serde: SerializerProtocol | None = None,
        allowed_types: Iterable[type | tuple[str, ...]] = (),
        timeout: float | None = TIMEOUT_SECONDS,
        history_bytes_max: int = 32 * 1024 * 1024,
        difference_bytes_max: int = 32 * 1024 * 1024,
        transport: TransportName = "auto",
        exclusive: bool = False,
        lease_seconds: int = SECONDS,
    ) -> None:
        super().__init__(serde=serde or ThreadkeepSerializer(allowed_types=allowed_types))
        settings = settings_of(url, api_key, timeout, transport)
        self._link = Link(
            settings,
            history_bytes_max,
            difference_bytes_max,
            is_exclusive=exclusive,
            lease_seconds=lease_seconds,
        )

    @classmethod
    def from_conn_string(cls, url: str, **options: Any) -> ThreadkeepSaver:
        """A saver for `with` and for `async with`; `options` are those of the constructor."""
        return cls(url, **options)

    def setup(self) -> Ready:
        """Check that the server can be used: there are no tables to make. Blocks.

        Raises the types of `threadkeep.errors`. May be awaited, as AsyncPostgresSaver's.
        """
        return check(self._link.connection)

    async def asetup(self) -> None:
        """The same without blocking."""
        await acheck(self._link.connection)

    def with_options(self, *, timeout: float | None) -> ThreadkeepSaver:
        """This saver, whose calls may take so many seconds. Connections and memory are shared."""
        clone = self.__copy__()
        clone._link = self._link.with_timeout(timeout)
        return clone

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        read = reads.Get(self._link.memory, target_of(config))
        self._link.leases.read(read.target.thread_id)
        view = read.view(self._link.read(read.path, read.body))
        return None if view is None else self._tuple(view)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        read = reads.Get(self._link.memory, target_of(config))
        self._link.leases.read(read.target.thread_id)
        view = read.view(await self._link.aread(read.path, read.body))
        return None if view is None else self._tuple(view)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        return self._pages(reads.List(self._link.memory, config, filter, before, limit))

    def _pages(self, read: reads.List) -> Iterator[CheckpointTuple]:
        held: Held = {}
        while (body := read.next_body()) is not None:
            for view in read.views(self._link.read(read.path, body)):
                if (whole := self._link.whole(view, held)) is not None:
                    yield self._tuple(whole)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        read = reads.List(self._link.memory, config, filter, before, limit)
        held: Held = {}
        while (body := read.next_body()) is not None:
            for view in read.views(await self._link.aread(read.path, body)):
                if (whole := await self._link.awhole(view, held)) is not None:
                    yield self._tuple(whole)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        read = reads.History(self._link.memory, target_of(config), channels)
        if (known := read.remembered()) is None:
            known = read.histories(self._link.read(read.path, read.body()))
        return self._histories(known)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        read = reads.History(self._link.memory, target_of(config), channels)
        if (known := read.remembered()) is None:
            known = read.histories(await self._link.aread(read.path, read.body()))
        return self._histories(known)

    # Writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        target = target_of(config)
        op = checkpoint_op(self.serde, config, target, checkpoint, metadata, new_versions)
        self._link.commit(target.thread_id, op)
        return config_of(target.thread_id, target.checkpoint_ns, checkpoint["id"])

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        target = target_of(config)
        op = checkpoint_op(self.serde, config, target, checkpoint, metadata, new_versions)
        await self._link.acommit(target.thread_id, op)
        return config_of(target.thread_id, target.checkpoint_ns, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        target, seq = target_of(config), self._link.next_seq()
        op = writes_op(self.serde, target, writes, task_id, task_path, seq)
        if writes:
            self._link.commit(target.thread_id, op)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        target, seq = target_of(config), self._link.next_seq()
        op = writes_op(self.serde, target, writes, task_id, task_path, seq)
        if writes:
            await self._link.acommit(target.thread_id, op)

    # Removing and copying

    def delete_thread(self, thread_id: str) -> None:
        thread_id = thread_id_of(thread_id)
        with reads.forgetting(self._link, [thread_id]), self._link.leases.written(thread_id):
            body = reads.delete_body(thread_id, self._link.leases.fence(thread_id))
            self._link.call("/v1/threads/delete", body, is_write=True)
        self._link.leases.deleted(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        thread_id = thread_id_of(thread_id)
        with reads.forgetting(self._link, [thread_id]), self._link.leases.written(thread_id):
            body = reads.delete_body(thread_id, self._link.leases.fence(thread_id))
            await self._link.acall("/v1/threads/delete", body, is_write=True)
        self._link.leases.deleted(thread_id)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        if body := reads.delete_for_runs_body(run_ids):
            with reads.deleting_somewhere(self._link.memory):
                self._link.call("/v1/checkpoints/delete-for-runs", body, is_write=True)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        if body := reads.delete_for_runs_body(run_ids):
            with reads.deleting_somewhere(self._link.memory):
                await self._link.acall("/v1/checkpoints/delete-for-runs", body, is_write=True)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        source, target = thread_id_of(source_thread_id), thread_id_of(target_thread_id)
        with reads.forgetting(self._link, [target]):
            self._link.connection.call(copy_request(source, target), is_write=True)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        source, target = thread_id_of(source_thread_id), thread_id_of(target_thread_id)
        with reads.forgetting(self._link, [target]):
            await self._link.connection.acall(copy_request(source, target), is_write=True)

    def prune(  # type: ignore[override]  # LangGraph's own calls look at no result
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: Age | None = None,
        keep_interrupted: bool = False,
        dry_run: bool = False,
    ) -> PruneReport:
        """Remove checkpoints, but for the `keep_last` newest of each namespace (1 by default).

        With `older_than`, only those that the server first stored before: a number of seconds, a
        timedelta, a time with its zone, or RFC 3339 text. `strategy="delete"` removes the threads.
        With `keep_interrupted`, threads that wait for an answer keep what a resume needs. With
        `dry_run`, the report says what would go, and nothing does.
        """
        body = reads.prune_body(
            thread_ids,
            strategy,
            keep_last=keep_last,
            older_than=older_than,
            keep_interrupted=keep_interrupted,
            dry_run=dry_run,
        )
        if not body["thread_ids"]:
            return nothing_pruned(dry_run=dry_run)
        with reads.forgetting(self._link, body["thread_ids"]):
            answer = self._link.call(PRUNE, body, is_write=True)
        return prune_report(answer)

    async def aprune(  # type: ignore[override]  # LangGraph's own calls look at no result
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: Age | None = None,
        keep_interrupted: bool = False,
        dry_run: bool = False,
    ) -> PruneReport:
        """See `prune`."""
        body = reads.prune_body(
            thread_ids,
            strategy,
            keep_last=keep_last,
            older_than=older_than,
            keep_interrupted=keep_interrupted,
            dry_run=dry_run,
        )
        if not body["thread_ids"]:
            return nothing_pruned(dry_run=dry_run)
        with reads.forgetting(self._link, body["thread_ids"]):
            answer = await self._link.acall(PRUNE, body, is_write=True)
        return prune_report(answer)

    # Leases, versions, copies, closing

    def lease(self, thread_id: str, *, wait_seconds: float = 0.0) -> LeaseBlock:
        """Hold a thread for a block: `with saver.lease("t"):`, or `async with`.

        The lease is acquired before the block, kept by heartbeats from a thread of its own, and
        given back at the end; every write in between carries its fence. Blocks of one saver share
        it. Raises LeaseHeldError while another has it, after trying for `wait_seconds`; a write
        after another took it over (this process stood still for `lease_seconds`) raises
        LeaseLostError.
        """
        return LeaseBlock(self._link, thread_id_of(thread_id), wait_seconds)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Text that sorts like its number; the random tail tells versions of two branches apart."""
        text = "0" if current is None else str(current)
        return f"{int(text.split('.', 1)[0]) + 1:032}.{random.random():016}"

    @property
    def transport(self) -> str:
        """The HTTP core in use: "asyncio", "pyreqwest" or "stdlib"."""
        return self._link.connection.transport_name

    def close(self) -> None:
        """Give leases back and close idle connections; copies of this saver share both.

        Optional and repeatable. A lease that cannot be given back expires.
        """
        ends = time.monotonic() + CLOSING_SECONDS_MAX
        for body in self._link.leases.release_all():
            with suppress(ThreadkeepError):
                self._link.call(RELEASE, body, is_write=True, ends=ends)
        self._link.connection.close()

    async def aclose(self) -> None:
        """The same without blocking."""
        ends = time.monotonic() + CLOSING_SECONDS_MAX
        for body in self._link.leases.release_all():
            with suppress(ThreadkeepError):
                await self._link.acall(RELEASE, body, is_write=True, ends=ends)
        self._link.connection.close()

    def __enter__(self) -> ThreadkeepSaver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> ThreadkeepSaver:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __copy__(self) -> ThreadkeepSaver:
        """A saver with its own `serde` attribute and everything else shared."""
        clone = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__)
        return clone

    def __deepcopy__(self, memo: dict[int, Any]) -> ThreadkeepSaver:
        return self.__copy__()

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            "a ThreadkeepSaver cannot be pickled, because LangGraph's serializer cannot; "
            "construct one in each process"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._link.connection.described})"

    def _tuple(self, view: View) -> CheckpointTuple:
        return tuple_of(view, self.serde, self.get_next_version)

    def _histories(self, known: Mapping[str, ChannelHistory]) -> Mapping[str, DeltaChannelHistory]:
        return {
            channel: reads.loaded_history(self.serde, channel, history)
            for channel, history in known.items()
        }
