"""What all copies of a saver share: the connection, the memory, the commits under way.

Every operation on the server that a saver makes is here once as a plan (request, and what to do
with the answer), so that the blocking and the asynchronous method differ in the send alone.
"""

from __future__ import annotations

import copy
import itertools
import os
import secrets
import time
import uuid
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.errors import ProtocolError, ResendWholeError
from threadkeep.http.connection import Connection
from threadkeep.http.settings import Settings
from threadkeep.http.transport import Request
from threadkeep.langgraph.commits import AsyncCommits, SyncCommits
from threadkeep.langgraph.differences import DoesNotFitError
from threadkeep.langgraph.encode import Op, commit_body, packed
from threadkeep.langgraph.exchange import Exchange, Packed
from threadkeep.langgraph.leases import SECONDS, Leases
from threadkeep.langgraph.memory import Memory


class Link:
    """See the module. Constructing opens nothing."""

    def __init__(
        self,
        settings: Settings,
        chain_bytes_max: int,
        difference_bytes_max: int,
        *,
        is_exclusive: bool = False,
        lease_seconds: int = SECONDS,
    ) -> None:
        self.connection = Connection(settings)
        self.memory = Memory(chain_bytes_max)
        self.exchange = Exchange(difference_bytes_max)
        self.writing = _Writing()
        self.leases = Leases(self, is_exclusive=is_exclusive, seconds=lease_seconds)
        self.commits = SyncCommits(self._commit)
        self.acommits = AsyncCommits(self._acommit)
        _links.add(self)

    def with_timeout(self, timeout: float | None) -> Link:
        """The same link for calls that may take so many seconds; everything else is shared."""
        other = copy.copy(self)
        other.connection = self.connection.with_timeout(timeout)
        return other

    def __copy__(self) -> Link:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def forget_parent(self) -> None:
        """In a forked child: no socket, lock, queue or writer of the parent may be used."""
        self.connection.forget_parent()
        self.memory.forget_everything()
        self.exchange.forget_everything()
        self.leases.forget_parent()
        self.writing.begin()
        self.commits.forget_parent()
        self.acommits.forget_parent()

    @property
    def writer(self) -> str:
        """The name of this process's savers on one link."""
        return self.writing.writer

    def next_seq(self) -> int:
        """Grows with each call: tells the server which of two replacing writes is older."""
        return next(self.writing.seq)

    def commit(self, thread_id: str, op: Op) -> None:
        """Returns when the operation is durable."""
        self.commits.commit(thread_id, op, self._ends())

    async def acommit(self, thread_id: str, op: Op) -> None:
        """The same without blocking."""
        await self.acommits.commit(thread_id, op, self._ends())

    def _ends(self) -> float:
        return time.monotonic() + self.connection.settings.seconds

    def call(
        self, path: str, body: Mapping[str, Any], *, is_write: bool, ends: float | None = None
    ) -> dict[str, Any]:
        """One request that is its own call. `ends` is its deadline where it is another one."""
        request = Request("POST", path, packed(body))
        return self.connection.call(request, is_write=is_write, ends=ends)

    async def acall(
        self, path: str, body: Mapping[str, Any], *, is_write: bool, ends: float | None = None
    ) -> dict[str, Any]:
        """The same without blocking."""
        request = Request("POST", path, packed(body))
        return await self.connection.acall(request, is_write=is_write, ends=ends)

    def read(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A read, with the values of its answer whole, whichever way they came."""
        thread_id = body.get("thread_id")
        offer = self.exchange.offer(thread_id) if thread_id is not None else None
        if thread_id is None or offer is None:
            return self.call(path, body, is_write=False)
        asked = {**body, "have_values": offer.have_values}
        answer = self.call(path, asked, is_write=False)
        try:
            self.exchange.learned(thread_id, offer.resolved(answer))
        except DoesNotFitError:
            self.exchange.values.forget(thread_id)
            return self.call(path, body, is_write=False)
        return answer

    async def aread(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The same without blocking."""
        thread_id = body.get("thread_id")
        offer = self.exchange.offer(thread_id) if thread_id is not None else None
        if thread_id is None or offer is None:
            return await self.acall(path, body, is_write=False)
        asked = {**body, "have_values": offer.have_values}
        answer = await self.acall(path, asked, is_write=False)
        try:
            self.exchange.learned(thread_id, offer.resolved(answer))
        except DoesNotFitError:
            self.exchange.values.forget(thread_id)
            return await self.acall(path, body, is_write=False)
        return answer

    def forget(self, thread_id: str) -> None:
        """The thread is about to be replaced or removed, or has been. Call before and after."""
        self.memory.forget(thread_id)
        self.exchange.values.forget(thread_id)

    def _commit(self, thread_id: str, ops: Sequence[Op], ends: float) -> None:
        if self.leases.wants(thread_id):
            self.leases.take(thread_id, ends)
        with self.leases.written(thread_id):
            self._commit_leased(thread_id, ops, ends)

    async def _acommit(self, thread_id: str, ops: Sequence[Op], ends: float) -> None:
        if self.leases.wants(thread_id):
            await self.leases.atake(thread_id, ends)
        with self.leases.written(thread_id):
            await self._acommit_leased(thread_id, ops, ends)

    def _commit_leased(self, thread_id: str, ops: Sequence[Op], ends: float) -> None:
        self._touch(thread_id, ops)
        try:
            sent = self.exchange.packed(thread_id, ops)
            try:
                answer = self._sent(thread_id, sent, ends)
            except ResendWholeError:
                self.exchange.refused(thread_id)
                sent = self.exchange.packed(thread_id, ops, whole=True)
                answer = self._sent(thread_id, sent, ends)
        finally:
            self._touch(thread_id, ops)
        self._learn(thread_id, answer, sent)

    async def _acommit_leased(self, thread_id: str, ops: Sequence[Op], ends: float) -> None:
        self._touch(thread_id, ops)
        try:
            sent = self.exchange.packed(thread_id, ops)
            try:
                answer = await self._asent(thread_id, sent, ends)
            except ResendWholeError:
                self.exchange.refused(thread_id)
                sent = self.exchange.packed(thread_id, ops, whole=True)
                answer = await self._asent(thread_id, sent, ends)
        finally:
            self._touch(thread_id, ops)
        self._learn(thread_id, answer, sent)

    def _sent(self, thread_id: str, sent: Packed, ends: float) -> dict[str, Any]:
        return self.connection.call(self._request(thread_id, sent), is_write=True, ends=ends)

    async def _asent(self, thread_id: str, sent: Packed, ends: float) -> dict[str, Any]:
        request = self._request(thread_id, sent)
        return await self.connection.acall(request, is_write=True, ends=ends)

    def _request(self, thread_id: str, sent: Packed) -> Request:
        terms = {
            "generation": self.memory.generation(thread_id),
            "fence": self.leases.fence(thread_id),
        }
        body = commit_body(thread_id, self.writer, terms, sent.ops)
        return Request("POST", "/v1/checkpoints/commit", body)

    def _touch(self, thread_id: str, ops: Sequence[Op]) -> None:
        self.memory.touch(
            thread_id, [((op.checkpoint_ns, op.checkpoint_id), op.is_put) for op in ops]
        )

    def _learn(self, thread_id: str, answer: dict[str, Any], sent: Packed) -> None:
        generation = answer.get("generation")
        if not isinstance(generation, str):
            raise ProtocolError("the answer to a commit has no generation")
        self.memory.learn(thread_id, generation)
        self.exchange.acknowledged(thread_id, sent)


class _Writing:
    """How the server tells writers, and their calls, apart."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Also in a forked child, which is another writer."""
        self.writer = secrets.token_hex(8)
        self.seq = itertools.count(1)


def copy_request(source_thread_id: str, target_thread_id: str) -> Request:
    """A copy, with a key of its own so that a repetition is not a second copy."""
    body = {"source_thread_id": source_thread_id, "target_thread_id": target_thread_id}
    return Request("POST", "/v1/threads/copy", packed(body), uuid.uuid4().hex)


_links: weakref.WeakSet[Link] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for link in list(_links):
        link.forget_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
