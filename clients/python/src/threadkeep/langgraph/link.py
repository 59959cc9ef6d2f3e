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

from threadkeep.errors import PartsMissingError, ProtocolError, ResendWholeError
from threadkeep.http.connection import Connection
from threadkeep.http.settings import Settings
from threadkeep.http.transport import Request
from threadkeep.langgraph import parts, reads
from threadkeep.langgraph.commits import AsyncCommits, SyncCommits
from threadkeep.langgraph.decode import View, reading_answer
from threadkeep.langgraph.differences import DoesNotFitError
from threadkeep.langgraph.encode import Op, commit_body, packed
from threadkeep.langgraph.exchange import Exchange, Packed
from threadkeep.langgraph.history import Key
from threadkeep.langgraph.leases import SECONDS, Leases
from threadkeep.langgraph.memory import Memory
from threadkeep.langgraph.steps import Deadline, Step, Steps, afinish, finish


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
        """A read, with the values of its answer whole, whichever way they came.

        Of a list, the checkpoints become whole one by one, by `whole`.
        """
        return finish(self.connection, self._reading(path, body, self._deadline()))

    async def aread(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The same without blocking."""
        return await afinish(self.connection, self._reading(path, body, self._deadline()))

    def whole(self, view: View, held: parts.Held) -> View | None:
        """A checkpoint of a list with the values that came in parts; None if it is gone by now.

        `held` has the values in parts of the one before; afterwards it has those of this one.
        """
        entries = _in_parts(view)
        if not entries:
            return view
        return finish(self.connection, self._completing_one(view, entries, held))

    async def awhole(self, view: View, held: parts.Held) -> View | None:
        """The same without blocking."""
        entries = _in_parts(view)
        if not entries:
            return view
        return await afinish(self.connection, self._completing_one(view, entries, held))

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
            finish(self.connection, self._committing(thread_id, ops, Deadline(ends)))
        finally:
            self._touch(thread_id, ops)

    async def _acommit_leased(self, thread_id: str, ops: Sequence[Op], ends: float) -> None:
        self._touch(thread_id, ops)
        try:
            await afinish(self.connection, self._committing(thread_id, ops, Deadline(ends)))
        finally:
            self._touch(thread_id, ops)

    def _committing(self, thread_id: str, ops: Sequence[Op], deadline: Deadline) -> Steps[None]:
        """Large values first, then the commit; again what the server does not have."""
        sent = self.exchange.packed(thread_id, ops)
        named: list[bytes] | None = None
        puts, is_whole = 0, False
        while True:
            terms = self._terms(thread_id, ops)
            try:
                if named is None:
                    puts += 1
                    named = yield from parts.put_all(thread_id, terms, sent.in_parts, deadline)
                body = commit_body(thread_id, self.writer, terms, sent.joined(named))
                (answer,) = yield [_write("/v1/checkpoints/commit", body, deadline)]
            except PartsMissingError:
                if puts > parts.PUT_AGAIN_MAX:
                    raise
                named = None
            except ResendWholeError:
                if is_whole:
                    raise
                self.exchange.refused(thread_id)
                before = sent.in_parts
                sent, is_whole = self.exchange.packed(thread_id, ops, whole=True), True
                if sent.in_parts != before:
                    named = None
            else:
                self._learn(thread_id, answer, sent)
                return

    def _reading(
        self, path: str, body: Mapping[str, Any], deadline: Deadline
    ) -> Steps[dict[str, Any]]:
        answer = yield from self._answered(path, body, deadline)
        try:
            yield from self._completing(path, body, answer, deadline)
        except PartsMissingError:
            # Something was removed between the two requests.
            answer = yield from self._answered(path, body, deadline)
            yield from self._completing(path, body, answer, deadline)
        return answer

    def _answered(
        self, path: str, body: Mapping[str, Any], deadline: Deadline
    ) -> Steps[dict[str, Any]]:
        """An answer without short forms; large values still have the names of their parts."""
        whole = {**body, "value_parts": True}
        thread_id = body.get("thread_id")
        offer = self.exchange.offer(thread_id) if thread_id is not None else None
        if thread_id is None or offer is None:
            (answer,) = yield [_read(path, whole, deadline)]
            return answer
        asked = {**whole, "have_values": offer.have_values}
        (answer,) = yield [_read(path, asked, deadline)]
        try:
            self.exchange.learned(thread_id, offer.resolved(answer))
        except DoesNotFitError:
            self.exchange.values.forget(thread_id)
            (answer,) = yield [_read(path, whole, deadline)]
        return answer

    def _completing(
        self, path: str, body: Mapping[str, Any], answer: dict[str, Any], deadline: Deadline
    ) -> Steps[None]:
        """Fetch the values of an answer that came in parts, but for the checkpoints of a list."""
        with reading_answer():
            entries = parts.of_histories(answer)
            room = 0 if path == reads.List.path else self.memory.chain_bytes_max
            if path != reads.History.path and parts.length_of(entries) > room:
                # They would not be remembered; whoever needs them asks for them.
                reads.drop_histories(answer)
                entries = []
            if path == reads.Get.path and answer.get("checkpoint") is not None:
                entries += parts.of_view(answer["checkpoint"])
        if entries:
            yield from parts.fetch_all(body["thread_id"], entries, deadline, {})

    def _completing_one(
        self, view: View, entries: list[dict[str, Any]], held: parts.Held
    ) -> Steps[View | None]:
        deadline = self._deadline()
        try:
            found = yield from parts.fetch_all(view.thread_id, entries, deadline, held)
        except PartsMissingError:
            body = {
                "thread_id": view.thread_id,
                "checkpoint_ns": view.checkpoint_ns,
                "checkpoint_id": view.checkpoint_id,
            }
            answer = yield from self._answered(reads.Get.path, body, deadline)
            if (raw := answer.get("checkpoint")) is None:
                return None
            with reading_answer():
                view = View(raw)
                entries = parts.of_view(raw)
            found = yield from parts.fetch_all(view.thread_id, entries, deadline, held)
        held.clear()
        held.update(found)
        return view

    def _terms(self, thread_id: str, ops: Sequence[Op]) -> dict[str, Any]:
        """The conditions of a write on its thread."""
        terms = {
            "generation": self.memory.generation_for(thread_id, map(_keys_of, ops)),
            "fence": self.leases.fence(thread_id),
        }
        return {name: value for name, value in terms.items() if value is not None}

    def _deadline(self) -> Deadline:
        return Deadline(self._ends())

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


def _keys_of(op: Op) -> tuple[Key | None, Key]:
    """The checkpoint that it goes on from, and its own."""
    based_on = None if op.based_on is None else (op.checkpoint_ns, op.based_on)
    return based_on, (op.checkpoint_ns, op.checkpoint_id)


def _in_parts(view: View) -> list[dict[str, Any]]:
    with reading_answer():
        return parts.of_view(view.raw)


def _read(path: str, body: Mapping[str, Any], deadline: Deadline) -> Step:
    return Step(Request("POST", path, packed(body)), False, deadline.ends)


def _write(path: str, body: bytes, deadline: Deadline) -> Step:
    return Step(Request("POST", path, body), True, deadline.ends)


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
