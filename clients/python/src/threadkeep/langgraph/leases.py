"""Leases of threads that a saver holds: taken, kept by heartbeats, given back.

A lease is held by the saver object, so sub-graphs and copies of the saver share it. Heartbeats
come from a thread of their own: a tool that blocks the event loop for minutes loses no lease.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from threadkeep.errors import (
    FenceStaleError,
    InvalidError,
    LeaseHeldError,
    LeaseLostError,
    ProtocolError,
    ThreadkeepError,
)

if TYPE_CHECKING:
    from threadkeep.langgraph.link import Link

ACQUIRE = "/v1/threads/lease/acquire"
RENEW = "/v1/threads/lease/renew"
RELEASE = "/v1/threads/lease/release"
SECONDS = 30
"""After so long without a heartbeat another saver may have the lease."""
SECONDS_MAX = 3_600
BEATS = 3
"""Heartbeats in the time after which a lease expires."""
SECONDS_KEPT = 60.0
"""How long after the last write an exclusive saver goes on with heartbeats."""
SECONDS_BETWEEN_TRIES = 0.25
CLOSING_SECONDS_MAX = 5.0
"""How long a saver that is closed tries to give leases back; they expire by themselves."""


@dataclass
class _Held:
    """What is known of one thread's lease."""

    fence: int
    expires: float
    """The time.monotonic() until which the server surely keeps it for this saver."""
    used: float
    """The time.monotonic() of the last write."""
    blocks: int = 0
    """`with` blocks that are open."""
    is_beating: bool = True
    lost: LeaseLostError | None = None


class Leases:
    """The leases of one link. Constructing opens nothing and starts nothing."""

    def __init__(self, link: Link, *, is_exclusive: bool, seconds: int) -> None:
        if not 1 <= seconds <= SECONDS_MAX:
            raise InvalidError(
                f"lease_seconds must be from 1 to {SECONDS_MAX}",
                field="lease_seconds",
                limit=SECONDS_MAX,
            )
        self._link = link
        self.is_exclusive = is_exclusive
        self._seconds = seconds
        self.forget_parent()

    def forget_parent(self) -> None:
        """In a forked child: the leases are the parent's."""
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._heart: threading.Thread | None = None
        self._woken = threading.Event()

    # Writes and reads of the saver

    def fence(self, thread_id: str) -> int | None:
        """What the next write is sent with, without a request; None where no lease is held."""
        held = self._held.get(thread_id)
        return None if held is None else held.fence

    def wants(self, thread_id: str) -> bool:
        """Whether a lease has to be acquired before the next write. Raises LeaseLostError."""
        now = time.monotonic()
        with self._lock:
            held = self._held.get(thread_id)
            if held is None:
                return self.is_exclusive
            if held.lost is not None:
                raise held.lost
            held.used = now
            if held.is_beating or now < held.expires:
                return False
            return self.is_exclusive or held.blocks > 0

    def take(self, thread_id: str, ends: float | None = None) -> None:
        """Acquire the lease for a write. Raises LeaseHeldError, LeaseLostError."""
        body = self._body(thread_id)
        with self._taking(thread_id) as answer:
            answer(self._link.call(ACQUIRE, body, is_write=True, ends=ends))

    async def atake(self, thread_id: str, ends: float | None = None) -> None:
        """The same without blocking."""
        body = self._body(thread_id)
        with self._taking(thread_id) as answer:
            answer(await self._link.acall(ACQUIRE, body, is_write=True, ends=ends))

    @contextmanager
    def written(self, thread_id: str) -> Iterator[None]:
        """Around a write: a refusal for the sake of a lease that was held means that it is lost."""
        try:
            yield
        except (FenceStaleError, LeaseHeldError) as error:
            with self._lock:
                held = self._held.get(thread_id)
                if held is None:
                    raise
                held.lost = held.lost or _lost(thread_id)
                raise held.lost from error

    def read(self, thread_id: str) -> None:
        """The state was read anew: what was lost before is known now."""
        held = self._held.get(thread_id)
        if held is not None and held.lost is not None and held.blocks == 0:
            with self._lock:
                self._held.pop(thread_id, None)

    def deleted(self, thread_id: str) -> None:
        """The thread is gone, and its lease with it."""
        with self._lock:
            held = self._held.get(thread_id)
            if held is not None and held.blocks == 0:
                del self._held[thread_id]
            elif held is not None:
                held.is_beating, held.expires = False, 0.0

    # Blocks

    def enter(self, thread_id: str) -> bool:
        """Whether a block has the lease already, which it then shares."""
        with self._lock:
            held = self._held.get(thread_id)
            if held is None or not held.is_beating or held.lost is not None:
                return False
            held.blocks += 1
            return True

    def leave(self, thread_id: str) -> dict[str, Any] | None:
        """What to send to give the lease back, when no other block has it."""
        with self._lock:
            held = self._held.get(thread_id)
            if held is None:
                return None
            held.blocks = max(held.blocks - 1, 0)
            held.used = time.monotonic()
            if held.blocks or self.is_exclusive:
                return None
            del self._held[thread_id]
            return None if held.lost is not None else self._release_body(thread_id, held)

    def release_all(self) -> list[dict[str, Any]]:
        """What to send to give back all, but for those of open blocks."""
        with self._lock:
            idle = {id_: held for id_, held in self._held.items() if not held.blocks}
            for thread_id in idle:
                del self._held[thread_id]
            if not self._held:
                self._heart = None
                self._woken.set()
        return [self._release_body(id_, held) for id_, held in idle.items() if held.lost is None]

    # Inside

    def _body(self, thread_id: str) -> dict[str, Any]:
        return {
            "thread_id": thread_id,
            "holder": self._link.writer,
            "ttl_seconds": self._seconds,
        }

    def _release_body(self, thread_id: str, held: _Held) -> dict[str, Any]:
        return {"thread_id": thread_id, "holder": self._link.writer, "fence": held.fence}

    @contextmanager
    def _taking(self, thread_id: str) -> Iterator[Callable[[dict[str, Any]], None]]:
        before = self._held.get(thread_id)
        sent = time.monotonic()
        try:
            yield lambda answer: self._taken(thread_id, before, sent, answer)
        except LeaseHeldError as error:
            if before is None or before.lost is not None:
                raise
            with self._lock:
                before.lost = _lost(thread_id)
            raise before.lost from error

    def _taken(
        self, thread_id: str, before: _Held | None, sent: float, answer: dict[str, Any]
    ) -> None:
        fence = answer.get("fence")
        if not isinstance(fence, int):
            raise ProtocolError("the answer to a lease has no fence")
        now = time.monotonic()
        with self._lock:
            held = self._held.get(thread_id)
            if held is None or held.lost is not None:
                held = self._held[thread_id] = _Held(fence, sent + self._seconds, now)
            # One more is the own one, after the lease had expired; every other holder adds one.
            elif before is held and fence > held.fence + 1:
                held.lost = _lost(thread_id)
                raise held.lost
            held.fence, held.expires, held.used = fence, sent + self._seconds, now
            held.is_beating = True
            if self._heart is None or not self._heart.is_alive():
                self._woken = threading.Event()
                self._heart = threading.Thread(
                    target=_beat,
                    args=(weakref.ref(self), self._woken, self._seconds / BEATS),
                    name="threadkeep-leases",
                    daemon=True,
                )
                self._heart.start()

    def _beat_all(self) -> bool:
        """Renew what is in use. False when there is nothing left to renew."""
        now = time.monotonic()
        with self._lock:
            for held in self._held.values():
                if not held.blocks and now - held.used > SECONDS_KEPT:
                    held.is_beating = False
            beating = {id_: it for id_, it in self._held.items() if it.is_beating and not it.lost}
            if not beating:
                self._heart = None
                return False
        for thread_id, held in beating.items():
            self._renew(thread_id, held)
        return True

    def _renew(self, thread_id: str, held: _Held) -> None:
        body = {**self._body(thread_id), "fence": held.fence}
        sent = time.monotonic()
        try:
            # Later than that the lease has expired.
            self._link.call(RENEW, body, is_write=True, ends=sent + self._seconds)
        except (FenceStaleError, LeaseHeldError):
            with self._lock:
                # Unless it was given back or taken anew in the meantime.
                if self._held.get(thread_id) is held and held.fence == body["fence"]:
                    held.lost = held.lost or _lost(thread_id)
        except ThreadkeepError:
            # The next beat tries again; until the lease expires nothing is lost.
            return
        else:
            held.expires = max(held.expires, sent + self._seconds)


class LeaseBlock:
    """`with saver.lease(thread_id)`, or `async with`: the thread is this saver's until the end."""

    def __init__(self, link: Link, thread_id: str, wait_seconds: float) -> None:
        self._link = link
        self._thread_id = thread_id
        self._wait_seconds = wait_seconds

    @property
    def fence(self) -> int | None:
        """The number that this holding of the lease has; it only grows. None outside the block."""
        return self._link.leases.fence(self._thread_id)

    def __enter__(self) -> LeaseBlock:
        deadline = time.monotonic() + self._wait_seconds
        while not self._link.leases.enter(self._thread_id):
            try:
                self._link.leases.take(self._thread_id)
            except LeaseHeldError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(SECONDS_BETWEEN_TRIES)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        body = self._link.leases.leave(self._thread_id)
        if body is not None:
            self._link.call(RELEASE, body, is_write=True)

    async def __aenter__(self) -> LeaseBlock:
        deadline = time.monotonic() + self._wait_seconds
        while not self._link.leases.enter(self._thread_id):
            try:
                await self._link.leases.atake(self._thread_id)
            except LeaseHeldError:
                if time.monotonic() >= deadline:
                    raise
                await asyncio.sleep(SECONDS_BETWEEN_TRIES)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        body = self._link.leases.leave(self._thread_id)
        if body is not None:
            await self._link.acall(RELEASE, body, is_write=True)


def _beat(leases: weakref.ref[Leases], woken: threading.Event, seconds: float) -> None:
    """The heartbeats of a saver, as long as it lives and holds something."""
    while not woken.wait(seconds):
        alive = leases()
        if alive is None or not alive._beat_all():
            return
        del alive


def _lost(thread_id: str) -> LeaseLostError:
    return LeaseLostError(
        f"the lease of thread {thread_id!r} went to another holder: read the thread again"
    )
