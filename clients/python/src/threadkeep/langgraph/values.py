"""The values that a saver sent or read lately, by thread and SHA-256: bases of differences.

Bounded: the thread that was not used for longest loses its oldest value first. The lock is held
for dictionary operations only. A value in here is never handed to a caller by itself: the server
names it in the answer that it belongs to.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from threadkeep.langgraph.differences import BYTES_MIN

ENTRY_BYTES = 250
"""What an entry costs in memory beside its data, roughly."""
OFFERED_MAX = 64
"""Names sent along with a read, 18 bytes each."""


class Named(NamedTuple):
    """A value, its name, and the place it stands at: kind, namespace and channel."""

    place: str
    name: bytes
    data: bytes


class _Thread:
    __slots__ = ("bytes", "places", "values")

    def __init__(self) -> None:
        self.values: OrderedDict[bytes, bytes] = OrderedDict()
        self.places: dict[str, bytes] = {}
        self.bytes = 0


class Values:
    """See the module. `bytes_max` bounds all threads together; 0 keeps nothing."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.forget_everything()

    def forget_everything(self) -> None:
        """Start anew, with a new lock: also for a forked child, where the old one may be held."""
        self._lock = threading.Lock()
        self._threads: OrderedDict[str, _Thread] = OrderedDict()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """What is kept now."""
        return self._bytes

    def keep(self, thread_id: str, values: Iterable[Named]) -> None:
        """Values that the server has stored: acknowledged, or read. The last one is the newest."""
        with self._lock:
            for place, name, data in values:
                cost = len(data) + ENTRY_BYTES
                if len(data) < BYTES_MIN or cost > self.bytes_max:
                    continue
                thread = self._threads.setdefault(thread_id, _Thread())
                self._threads.move_to_end(thread_id)
                thread.places[place] = name
                if name not in thread.values:
                    thread.values[name] = data
                    thread.bytes += cost
                    self._bytes += cost
                thread.values.move_to_end(name)
            while self._bytes > self.bytes_max:
                self._drop_oldest()

    def get(self, thread_id: str, name: bytes) -> bytes | None:
        """The value of this name."""
        with self._lock:
            thread = self._threads.get(thread_id)
            return thread.values.get(name) if thread is not None else None

    def at(self, thread_id: str, place: str) -> Named | None:
        """The latest value of this place."""
        with self._lock:
            thread = self._threads.get(thread_id)
            name = thread.places.get(place) if thread is not None else None
            if thread is None or name is None:
                return None
            return Named(place, name, thread.values[name])

    def latest(self, thread_id: str, count: int = OFFERED_MAX) -> list[tuple[bytes, bytes]]:
        """Names and data of the values used last, newest first."""
        with self._lock:
            thread = self._threads.get(thread_id)
            if thread is None:
                return []
            items = reversed(thread.values.items())
            return [item for _, item in zip(range(count), items, strict=False)]

    def latest_of_places(self, thread_id: str, count: int) -> list[Named]:
        """The same, of each place only the value it has now."""
        with self._lock:
            thread = self._threads.get(thread_id)
            if thread is None:
                return []
            current = {name: place for place, name in thread.places.items()}
            items = (item for item in reversed(thread.values.items()) if item[0] in current)
            latest = zip(range(count), items, strict=False)
            return [Named(current[name], name, data) for _, (name, data) in latest]

    def forget(self, thread_id: str) -> None:
        """The thread was removed or replaced, or the server does not know its values."""
        with self._lock:
            thread = self._threads.pop(thread_id, None)
            if thread is not None:
                self._bytes -= thread.bytes

    def _drop_oldest(self) -> None:
        thread_id, thread = next(iter(self._threads.items()))
        name, data = thread.values.popitem(last=False)
        cost = len(data) + ENTRY_BYTES
        thread.bytes -= cost
        self._bytes -= cost
        for place in [place for place, held in thread.places.items() if held == name]:
            del thread.places[place]
        if not thread.values:
            del self._threads[thread_id]
